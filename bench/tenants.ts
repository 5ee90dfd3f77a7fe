import { loadavg } from "node:os";
import pg from "pg";
import type { Corpus, TenantId } from "../src/catalog/corpus.ts";
import { connectionOf } from "../src/db/pools.ts";
import { fingerprintOf } from "../src/indexing/fingerprint.ts";
import { rssMiB } from "../test/support/measures.ts";
import { corpusOf } from "./dense-sql.ts";
import { loadCorpus } from "./load-corpus.ts";
import { IDENTITY, type Matrix, openMatrix } from "./recall.ts";
import { connectAsOwner } from "./server.ts";
import { median, quantile, timed } from "./statistics.ts";
import { type Call, callerOf, PHASES, type Phase, type Read, Traffic } from "./traffic.ts";
import { type ZipfTenant, type ZipfTenants, zipfTenants } from "./zipf-tenants.ts";

/**
 * Many tenants of Zipf sizes under a mixed load: several clients at a time, each call another tenant's, chosen by Zipf as well. One and the
 * same load without writes and with them in turn.
 */

const CLIENTS = 4;
const TURNS = 3;
const OVER_HTTP: readonly Call["kind"][] = ["hybrid", "dense", "sparse", "write"];

export interface Latency {
  readonly calls: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
}

/** Tenants of about one size. */
export interface TenantClass {
  readonly name: string;
  readonly tenants: number;
  /** Of them all together. */
  readonly chunks: number;
  readonly alone: Readonly<Record<Read, Latency>>;
  readonly besideWrites: Readonly<Record<Read, Latency>>;
}

export interface TenantsFigures {
  readonly tenants: number;
  readonly chunks: number;
  readonly clients: number;
  readonly loadSeconds: number;
  readonly maintained: readonly object[];
  /** Smallest tenants first. */
  readonly classes: readonly TenantClass[];
  /** Retrieves and writes together. */
  readonly callsPerSecond: Readonly<Record<Phase, number>>;
  readonly writesPerSecond: number;
  /** Of adding and of deleting two documents. */
  readonly writes: Latency;
  readonly answers: number;
  readonly hits: number;
  /** Answers that held a chunk of another tenant. */
  readonly foreign: number;
  readonly errors: number;
  /** Of the server: before the first call, at the end and, of all moments, at most. */
  readonly rssMiB: { readonly before: number; readonly after: number; readonly peak: number };
  readonly load: number;
}

export interface TenantsOptions {
  readonly tenants: number;
  /** Of all tenants together. */
  readonly chunks: number;
  readonly ownPartitionFrom: number;
  /** Of each turn. */
  readonly seconds: number;
  readonly report: (line: string) => void;
}

export async function measureTenants(options: TenantsOptions): Promise<TenantsFigures> {
  const { ownPartitionFrom, seconds, report } = options;
  const tenants = zipfTenants(options);
  const matrix = await openMatrix({ vectorOf: tenants.vectorOf, ownPartitionFrom });
  const { server } = matrix;
  const { database } = server.database.config;
  const drivers = Array.from(
    { length: CLIENTS },
    () => new pg.Client(connectionOf(database.url ?? "", database.reader)),
  );
  try {
    const loaded = await load(matrix, tenants);
    report(`${tenants.all.length} tenants are loaded: ${JSON.stringify(loaded.maintained)}`);
    await Promise.all(drivers.map((driver) => driver.connect()));
    const callers = await Promise.all(tenants.all.map((tenant) => callerOf(tenant, loaded.corpora, matrix)));
    const traffic = new Traffic(tenants, new Map(callers.map((caller) => [caller.tenant, caller])), drivers, report);
    const before = rssMiB(server.pid);
    let peak = before;
    const watch = setInterval(() => {
      peak = Math.max(peak, rssMiB(server.pid));
    }, 200);
    try {
      await traffic.askAll();
      report("every question was asked once");
      // A server that has just started takes half as long again.
      await traffic.run("besideWrites", seconds);
      traffic.calls.length = 0;
      for (let turn = 0; turn < TURNS; turn++)
        for (const phase of PHASES) {
          await traffic.run(phase, seconds);
          report(`${phase}: ${traffic.calls.length} calls so far`);
        }
    } finally {
      clearInterval(watch);
    }
    const { calls, answers, hits, foreign, errors } = traffic;
    const rate = (phase: Phase, kinds: readonly Call["kind"][]) =>
      calls.filter((call) => call.phase === phase && kinds.includes(call.kind)).length / (TURNS * seconds);
    return {
      tenants: options.tenants,
      chunks: tenants.all.reduce((sum, tenant) => sum + tenant.chunks, 0),
      clients: CLIENTS,
      loadSeconds: loaded.seconds,
      maintained: loaded.maintained,
      classes: classesOf(tenants, ownPartitionFrom, calls),
      callsPerSecond: { alone: rate("alone", OVER_HTTP), besideWrites: rate("besideWrites", OVER_HTTP) },
      writesPerSecond: rate("besideWrites", ["write"]),
      writes: latencyOf(calls.filter(({ kind }) => kind === "write")),
      ...{ answers, hits, foreign, errors },
      rssMiB: { before, after: rssMiB(server.pid), peak },
      load: loadavg()[0] ?? 0,
    };
  } finally {
    await Promise.all(drivers.map((driver) => driver.end()));
    await matrix.close();
  }
}

async function load({ server }: Matrix, { all }: ZipfTenants) {
  const owner = await connectAsOwner(server);
  try {
    let maintained: readonly object[] = [];
    const ms = await timed(async () => {
      for (const { name, chunks, vectors, idOf } of all) {
        const fingerprint = (text: string) => fingerprintOf(text, "untrusted");
        await loadCorpus(owner, {
          ...{ tenant: name, chunks, vectors, identity: IDENTITY },
          ...{ fingerprint, idOf, hasPostings: true },
        });
      }
      await owner.query("vacuum analyze");
      maintained = await server.maintain();
      await owner.query("vacuum analyze");
    });
    const corpora = new Map<ZipfTenant, Corpus>();
    for (const tenant of all)
      corpora.set(tenant, await corpusOf(owner, tenant.name as TenantId, tenant.vectors.dimension));
    return { seconds: Math.round(ms / 1_000), maintained, corpora };
  } finally {
    await owner.end();
  }
}

function classesOf({ all }: ZipfTenants, ownPartitionFrom: number, calls: readonly Call[]): TenantClass[] {
  const limits = [100, 1_000, ownPartitionFrom, Number.POSITIVE_INFINITY];
  const classOf = (tenant: ZipfTenant) => limits.findIndex((limit) => tenant.chunks <= limit);
  const byClass = Map.groupBy(all, classOf);
  return limits.flatMap((limit, at) => {
    const tenants = byClass.get(at) ?? [];
    if (tenants.length === 0) return [];
    const own = calls.filter((call) => classOf(call.tenant) === at);
    const latencies = (phase: Phase) => {
      const of = (kind: Read) => latencyOf(own.filter((call) => call.phase === phase && call.kind === kind));
      return { hybrid: of("hybrid"), dense: of("dense"), sparse: of("sparse"), sql: of("sql") };
    };
    return [
      {
        name: Number.isFinite(limit) ? `up to ${limit.toLocaleString("en")} chunks` : "more, with a graph",
        tenants: tenants.length,
        chunks: tenants.reduce((sum, tenant) => sum + tenant.chunks, 0),
        alone: latencies("alone"),
        besideWrites: latencies("besideWrites"),
      },
    ];
  });
}

function latencyOf(calls: readonly Call[]): Latency {
  const took = calls.map(({ ms }) => ms);
  return { calls: took.length, p50Ms: median(took), p95Ms: quantile(took, 0.95) };
}
