import { loadavg } from "node:os";
import pg from "pg";
import type { Corpus, TenantId } from "../src/catalog/corpus.ts";
import { connectionOf } from "../src/db/pools.ts";
import { fingerprintOf } from "../src/indexing/fingerprint.ts";
import { rssMiB } from "../test/support/measures.ts";
import { SeededRandom } from "../test/support/seeded-random.ts";
import { corpusOf, denseSql } from "./dense-sql.ts";
import { loadCorpus } from "./load-corpus.ts";
import { IDENTITY, type Matrix, openMatrix } from "./recall.ts";
import { connectAsOwner } from "./server.ts";
import { median, quantile, timed } from "./statistics.ts";
import { placeOf, type ZipfTenant, type ZipfTenants, zipfTenants } from "./zipf-tenants.ts";

/**
 * Many tenants of Zipf sizes under a mixed load: several clients at a time, each call another tenant's, chosen by Zipf as well. One and the
 * same load without writes and with them in turn.
 */

const CLIENTS = 4;
const TURNS = 3;
const K = 10;
/** Of each tenant; each is asked once before anything is measured. */
const QUESTIONS = 3;

/** Of all reads. The last is the SQL of a dense retrieve, by the driver as the same login and among the same calls. */
export const READS = { hybrid: 0.4, dense: 0.2, sparse: 0.2, sql: 0.2 } as const;
export type Read = keyof typeof READS;
export const KINDS = Object.keys(READS) as Read[];
/** Of all calls beside writes: half of them add so many small documents, half delete those of an earlier call. */
export const WRITES = 0.1;
const PER_WRITE = 2;

const PHASES = ["alone", "besideWrites"] as const;
type Phase = (typeof PHASES)[number];

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

/** What asks one tenant's questions, with tokens of its own. */
interface Caller {
  readonly tenant: ZipfTenant;
  readonly questions: readonly {
    retrieve(mode: Exclude<Read, "sql">): Promise<Answer>;
    sql(driver: pg.Client): Promise<void>;
  }[];
  add(ids: readonly string[], texts: readonly string[]): Promise<unknown>;
  remove(ids: readonly string[]): Promise<unknown>;
}

interface Answer {
  readonly hits: readonly { readonly id: string; readonly text?: string }[];
}

async function callerOf(
  tenant: ZipfTenant,
  corpora: ReadonlyMap<ZipfTenant, Corpus>,
  { server, ask }: Matrix,
): Promise<Caller> {
  const tokenFor = (credentials: readonly ("read" | "add" | "delete")[]) =>
    server.issuer.mint({ tenant: tenant.name, credentials, expiresIn: 36_000 });
  const reader = await tokenFor(["read"]);
  const writer = await tokenFor(["add", "delete"]);
  const corpus = corpora.get(tenant);
  if (corpus === undefined) throw new Error("each tenant has a corpus");
  return {
    tenant,
    questions: Array.from({ length: QUESTIONS }, (_, number) => {
      const { text, vector } = tenant.question(number);
      const query = ask(text, vector);
      return {
        retrieve: async (mode) => (await server.call("retrieve", { query, mode, k: K }, reader)) as unknown as Answer,
        sql: denseSql(corpus, vector, { byGraph: corpus.graphChunks !== undefined }),
      };
    }),
    add: (ids, texts) =>
      server.call("index/add", { documents: ids.map((id, at) => ({ id, text: texts[at] })) }, writer),
    remove: (ids) => server.call("index/delete", { ids }, writer),
  };
}

interface Call {
  readonly tenant: ZipfTenant;
  readonly phase: Phase;
  readonly kind: Read | "write";
  readonly ms: number;
}

const OVER_HTTP: readonly Call["kind"][] = ["hybrid", "dense", "sparse", "write"];

/** Calls of all tenants, and what came of them. */
class Traffic {
  readonly calls: Call[] = [];
  answers = 0;
  hits = 0;
  foreign = 0;
  errors = 0;
  readonly #tenants: ZipfTenants;
  readonly #callers: ReadonlyMap<ZipfTenant, Caller>;
  readonly #drivers: readonly pg.Client[];
  readonly #report: (line: string) => void;
  readonly #random = new SeededRandom(1);
  /** What was added and not yet deleted, oldest first. */
  readonly #added: { readonly caller: Caller; readonly ids: readonly string[] }[] = [];
  #writes = 0;

  constructor(
    tenants: ZipfTenants,
    callers: ReadonlyMap<ZipfTenant, Caller>,
    drivers: readonly pg.Client[],
    report: (line: string) => void,
  ) {
    this.#tenants = tenants;
    this.#callers = callers;
    this.#drivers = drivers;
    this.#report = report;
  }

  /** Every question of every tenant once. */
  async askAll(): Promise<void> {
    const all = [...this.#callers.values()].flatMap(({ tenant, questions }) =>
      questions.map((question) => ({ tenant, question })),
    );
    const left = all[Symbol.iterator]();
    await this.#inLanes(async () => {
      for (const { tenant, question } of left)
        await this.#counted(async () => this.#look(tenant, await question.retrieve("hybrid")));
    });
  }

  async run(phase: Phase, seconds: number): Promise<void> {
    const endsAt = performance.now() + seconds * 1_000;
    await this.#inLanes(async (driver) => {
      while (performance.now() < endsAt) await this.#call(phase, driver);
    });
  }

  async #inLanes(lane: (driver: pg.Client) => Promise<void>): Promise<void> {
    await Promise.all(this.#drivers.map(lane));
  }

  async #call(phase: Phase, driver: pg.Client): Promise<void> {
    const isWrite = phase === "besideWrites" && this.#random.fraction() < WRITES;
    const tenant = this.#tenants.choose(this.#random);
    const caller = this.#callers.get(tenant);
    if (caller === undefined) throw new Error("each tenant has a caller");
    const kind = isWrite ? "write" : (KINDS[placeOf(this.#random.fraction(), Object.values(READS))] as Read);
    let answer: Answer | undefined;
    await this.#counted(async () => {
      const ms = await timed(async () => {
        const question = this.#random.pick(caller.questions);
        if (kind === "write") await this.#write(caller);
        else if (kind === "sql") await question.sql(driver);
        else answer = await question.retrieve(kind);
      });
      this.calls.push({ tenant, phase, kind, ms });
      if (answer !== undefined) this.#look(tenant, answer);
    });
  }

  /** Adds and deletes in turn, so that tenants stay as large as they are. */
  async #write(caller: Caller): Promise<void> {
    const nth = this.#writes++;
    const earlier = nth % 2 === 0 ? undefined : this.#added.shift();
    if (earlier !== undefined) {
      await earlier.caller.remove(earlier.ids);
      return;
    }
    const { tenant } = caller;
    const numbers = Array.from({ length: PER_WRITE }, (_, at) => tenant.chunks + nth * PER_WRITE + at);
    const ids = numbers.map(tenant.idOf);
    await caller.add(ids, numbers.map(tenant.vectors.text));
    this.#added.push({ caller, ids });
  }

  #look(tenant: ZipfTenant, { hits }: Answer): void {
    this.answers++;
    this.hits += hits.length;
    if (!hits.every(tenant.owns)) this.foreign++;
  }

  async #counted(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.errors++;
      this.#report(`error ${this.errors}: ${(error as Error).message}`);
    }
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
