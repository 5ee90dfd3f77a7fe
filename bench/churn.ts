import { loadavg } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { chunksOfBlock } from "../test/support/zipf-corpus.ts";
import { FILTERS } from "./filters.ts";
import { type CellFigures, type Matrix, type MatrixCorpus, measureCell, openMatrix } from "./recall.ts";
import { connectAsOwner } from "./server.ts";
import { median, timed } from "./statistics.ts";
import { syntheticVectors, type Vectors } from "./vectors.ts";

/**
 * What much writing leaves behind: every document of a tenant is replaced five times and nine tenths are deleted, over HTTP, with rounds of
 * `pgrcp maintain` beside it. Then the day is over after which `pgrcp collect` deletes what was closed. Each time the tenant is measured
 * beside one in a database of its own, whose same documents were written once.
 */

const TENANT = "acme";
const REPLACED = 5;
const WRITERS = 2;
const PER_CALL = 100;
/** The ten minutes that the README names, as a day's writes here take minutes. */
const MAINTAIN_EVERY_MS = 10_000;
const REVISION_STRIDE = 1_000_000;
const BLOCK = 4_096;

export interface ChurnStage {
  readonly stage: string;
  readonly chunks: number;
  /** Seconds until maintenance was done with it. */
  readonly seconds: number;
  readonly did: readonly object[];
  readonly recall: number;
  readonly short: number;
  readonly p50Ms: number;
  /** The same questions to the tenant that was written once. */
  readonly freshP50Ms: number;
  readonly postingsBytesPerChunk: number;
  readonly searches: CellFigures["searches"];
  readonly load: number;
}

export interface ChurnOptions {
  readonly chunks: number;
  readonly ownPartitionFrom: number;
  readonly questions: number;
  readonly report: (line: string) => void;
}

export async function measureChurn(options: ChurnOptions): Promise<ChurnStage[]> {
  const { chunks, report } = options;
  const vectors = syntheticVectors();
  const worn = await open(options, vectors);
  const fresh = await open(options, vectors);
  const stages: ChurnStage[] = [];
  const stage = async (name: string, live: number, work: () => Promise<readonly object[]>) => {
    const startedAt = performance.now();
    const did = await work();
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    const corpus = { tenant: TENANT, chunks: live, vectors: atRevision(vectors, REPLACED) };
    const figures = { ...(await compare(worn, fresh, corpus, options.questions)), load: loadavg()[0] ?? 0 };
    const one = { stage: name, chunks: live, seconds, did, ...figures };
    stages.push(one);
    report(JSON.stringify(one));
  };
  /** A day later: what is closed is old enough to be deleted for good. */
  const collect = async () => {
    await worn.owner.query("update pgrcp.corpus_versions set committed_at = committed_at - interval '2 days'");
    await worn.matrix.server.collect();
    return [];
  };
  const maintain = async () => await worn.matrix.server.maintain();
  try {
    const all = Array.from({ length: chunks }, (_, number) => number);
    report("writing documents once");
    await add(fresh, all, REPLACED, report);
    await fresh.matrix.server.maintain();
    await fresh.owner.query("vacuum analyze");
    await stage(`replaced ${REPLACED} times, maintained beside it`, chunks, () =>
      beside(maintain, async () => {
        for (let revision = 0; revision <= REPLACED; revision++) await add(worn, all, revision, report);
      }),
    );
    await stage("maintained once more", chunks, maintain);
    await stage("collected", chunks, collect);
    await stage("maintained after collecting", chunks, maintain);
    const gone = all.slice(chunks / 10);
    await remove(fresh, gone);
    await stage("nine tenths deleted, maintained beside it", chunks / 10, () =>
      beside(maintain, () => remove(worn, gone)),
    );
    await stage("maintained once more", chunks / 10, maintain);
    await stage("collected", chunks / 10, collect);
    await stage("maintained after collecting", chunks / 10, maintain);
    return stages;
  } finally {
    for (const { owner, matrix } of [worn, fresh]) {
      await owner.end();
      await matrix.close();
    }
  }
}

interface Side {
  readonly matrix: Matrix;
  readonly owner: pg.Client;
  readonly token: string;
}

async function open({ ownPartitionFrom }: ChurnOptions, vectors: Vectors): Promise<Side> {
  const vectorOf = (text: string): Float32Array => {
    const [, number, revision] = /^document (\d+) (\d+)/.exec(text) ?? [];
    return atRevision(vectors, Number(revision)).chunk(Number(number));
  };
  const matrix = await openMatrix({ vectorOf, ownPartitionFrom });
  const owner = await connectAsOwner(matrix.server);
  await owner.query("set jit = off; set max_parallel_workers_per_gather = 0");
  const credentials = ["read", "add", "delete"] as const;
  const token = await matrix.server.issuer.mint({ tenant: TENANT, credentials, expiresIn: 36_000 });
  return { matrix, owner, token };
}

/** A document's vector is another one in each revision. */
const atRevision = (vectors: Vectors, revision: number): Vectors => ({
  ...vectors,
  chunk: (number) => vectors.chunk(number + revision * REVISION_STRIDE),
});

async function add(side: Side, numbers: readonly number[], revision: number, report: ChurnOptions["report"]) {
  const words = new Map<number, string>();
  for (let first = 0; first < numbers.length; first += BLOCK)
    for (const { chunkNo, counts } of chunksOfBlock(first, Math.min(BLOCK, numbers.length - first)))
      words.set(chunkNo, [...counts].flatMap(([word, count]) => Array.from({ length: count }, () => word)).join(" "));
  const took = await timed(() =>
    inTurns(numbers, async (some) => {
      const documents = some.map((number) => ({
        id: `d${number}`,
        text: `document ${number} ${revision} ${words.get(number)}`,
      }));
      await side.matrix.server.call("index/add", { documents }, side.token);
    }),
  );
  report(`revision ${revision}: ${numbers.length} documents in ${(took / 1_000).toFixed(0)} s`);
}

const remove = (side: Side, numbers: readonly number[]): Promise<void> =>
  inTurns(numbers, async (some) => {
    await side.matrix.server.call("index/delete", { ids: some.map((number) => `d${number}`) }, side.token);
  });

async function inTurns(numbers: readonly number[], write: (some: readonly number[]) => Promise<void>): Promise<void> {
  let at = 0;
  const writer = async () => {
    while (at < numbers.length) {
      const some = numbers.slice(at, at + PER_CALL);
      at += PER_CALL;
      await write(some);
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, writer));
}

/** @returns all that maintenance did while the work was going on */
async function beside(
  maintain: () => Promise<readonly object[]>,
  work: () => Promise<void>,
): Promise<readonly object[]> {
  const done: object[] = [];
  let isOver = false;
  const working = work().finally(() => {
    isOver = true;
  });
  const maintaining = async () => {
    while (!isOver) {
      await sleep(MAINTAIN_EVERY_MS);
      done.push(...(await maintain()));
    }
  };
  await Promise.all([working, maintaining()]);
  return done;
}

/** Both sides in turn, several times over. */
async function compare(worn: Side, fresh: Side, corpus: MatrixCorpus, questions: number) {
  const [filter] = FILTERS;
  if (filter === undefined) throw new Error("the first filter is none");
  const cellOf = ({ matrix, owner, token }: Side) =>
    measureCell({ matrix, client: owner, token, corpus, topic: "on", filter, questions });
  const cells: CellFigures[] = [];
  const freshMs: number[] = [];
  for (let turn = 0; turn < 3; turn++) {
    cells.push(await cellOf(worn));
    freshMs.push((await cellOf(fresh)).p50Ms);
  }
  const { rows } = await worn.owner.query<{ bytes: string }>(
    "select pg_total_relation_size('pgrcp.postings') as bytes",
  );
  return {
    recall: Math.min(...cells.map(({ recall }) => recall)),
    short: cells.reduce((sum, { short }) => sum + short, 0),
    p50Ms: median(cells.map(({ p50Ms }) => p50Ms)),
    freshP50Ms: median(freshMs),
    postingsBytesPerChunk: Number(rows[0]?.bytes) / corpus.chunks,
    searches: cells[0]?.searches ?? {},
  };
}
