import { loadavg } from "node:os";
import pg from "pg";
import type { Corpus, CorpusName, TenantId } from "../src/catalog/corpus.ts";
import { connectionOf } from "../src/db/pools.ts";
import type { ResolvedFilter } from "../src/plan/filter.ts";
import { postingsOfTerms } from "../src/sql/recall-sparse.ts";
import { fillZipfCorpus, wordsIn } from "../test/support/zipf-corpus.ts";
import { corpusOf, denseSql } from "./dense-sql.ts";
import { FIELDS } from "./filters.ts";
import { readAs } from "./read-as.ts";
import { fillCorpus, type Matrix, openMatrix } from "./recall.ts";
import { connectAsOwner } from "./server.ts";
import { interleaved, median } from "./statistics.ts";
import { syntheticVectors } from "./vectors.ts";

/**
 * What Row Level Security costs: the statements of a retrieve sent by the reader's login as the server sends them, and the same ones by a
 * login with the same rights and settings that no policy holds for.
 */

const ROLE = "pgrcp_bench_bypass";

export interface RlsFigures {
  readonly statements: string;
  readonly chunks: number;
  /** Medians in milliseconds. */
  readonly withPoliciesMs: number;
  readonly withoutMs: number;
  /** The first once more in the same turns: how much of a difference is chance. */
  readonly withPoliciesAgainMs: number;
  readonly load: number;
}

export async function measureRls(
  sizes: readonly number[],
  { rounds, report }: { readonly rounds: number; readonly report: (line: string) => void },
): Promise<RlsFigures[]> {
  const matrix = await openMatrix();
  const { config } = matrix.server.database;
  const url = config.database.url ?? "";
  const owner = await connectAsOwner(matrix.server);
  const reader = new pg.Client(connectionOf(url, config.database.reader));
  const again = new pg.Client(connectionOf(url, config.database.reader));
  const bypass = new pg.Client(connectionOf(url, { user: ROLE, password: ROLE }));
  try {
    await makeBypass(owner);
    await Promise.all([reader, again, bypass].map((client) => client.connect()));
    const figures: RlsFigures[] = [];
    const measure = async (statements: string, chunks: number, send: (client: pg.Client) => Promise<unknown>) => {
      const took = await interleaved(
        { with: () => send(reader), without: () => send(bypass), again: () => send(again) },
        { rounds, perRound: 10 },
      );
      const one = {
        statements,
        chunks,
        withPoliciesMs: median(took.with),
        withoutMs: median(took.without),
        withPoliciesAgainMs: median(took.again),
        load: loadavg()[0] ?? 0,
      };
      figures.push(one);
      report(JSON.stringify(one));
    };
    for (const chunks of sizes) {
      const kinds = await denseKinds(matrix, owner, chunks);
      for (const [kind, send] of kinds) await measure(kind, chunks, send);
    }
    for (const chunks of sizes) {
      const tenantId = `words-${chunks}` as TenantId;
      await fillZipfCorpus(matrix.server.database.operator, tenantId, chunks);
      await owner.query("vacuum analyze");
      const corpus = { tenantId, name: "default" as CorpusName, placement: "shared" } as Corpus;
      const words = [0.3, 0.05, 0.02, 0.01].map((part) => wordsIn(part, 1)[0] ?? "");
      await measure("sparse, four words", chunks, async (client) => {
        await readAs(client, tenantId, [postingsOfTerms(corpus, { pin: undefined }, words, {})]);
      });
    }
    return figures;
  } finally {
    await Promise.all([reader, again, bypass].map((client) => client.end()));
    await owner.query(`drop owned by ${ROLE}; drop role ${ROLE}`).catch(() => {});
    await owner.end();
    await matrix.close();
  }
}

/** A login that may do what the reader may, with its settings, under no policy. */
async function makeBypass(owner: pg.Client): Promise<void> {
  await owner.query(`drop role if exists ${ROLE}`);
  await owner.query(`create role ${ROLE} login bypassrls inherit password '${ROLE}' in role pgrcp_reader`);
  const { rows } = await owner.query<{ setting: string }>(
    "select unnest(setconfig) as setting from pg_db_role_setting where setrole = 'pgrcp_reader'::regrole and setdatabase = 0",
  );
  for (const { setting } of rows) {
    const at = setting.indexOf("=");
    await owner.query(`alter role ${ROLE} set ${setting.slice(0, at)} = '${setting.slice(at + 1)}'`);
  }
}

/** A dense retrieve's statements, for each way in which chunks are found. */
async function denseKinds(matrix: Matrix, owner: pg.Client, chunks: number) {
  const vectors = syntheticVectors();
  const tenantId = `tenant-${chunks}` as TenantId;
  await fillCorpus(matrix, { tenant: tenantId, chunks, vectors });
  const corpus = await corpusOf(owner, tenantId, vectors.dimension);
  const vector = vectors.question("on", 0);
  const field = FIELDS.get("kind");
  if (field === undefined) throw new Error("chunks have a kind");
  const filter: ResolvedFilter = { kind: "compare", op: "eq", field, value: "half" };
  return new Map([
    ["dense, exact", denseSql(corpus, vector, { byGraph: false })],
    ["dense, exact, half pass a filter", denseSql(corpus, vector, { byGraph: false, filter })],
    ...(corpus.graphChunks === undefined
      ? []
      : ([["dense, by the graph", denseSql(corpus, vector, { byGraph: true })]] as const)),
  ]);
}
