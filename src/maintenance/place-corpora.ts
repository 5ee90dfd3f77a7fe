import { randomBytes } from "node:crypto";
import type { AdminConnection } from "../db/admin-connection.ts";
import { endsConnection } from "../db/pg-errors.ts";
import type { CorpusKey } from "../sql/documents.ts";
import { lockCorpus } from "../sql/documents.ts";
import * as partitions from "../sql/partitions.ts";
import { SHARED } from "../sql/place.ts";
import { nextStep, type Step, type Thresholds } from "./next-step.ts";
import { Refusal } from "./refusal.ts";

/** Chunks of one transaction, for which the corpus's writers wait: 1,000 took 30 ms. */
const MOVED_AT_A_TIME = 1_000;

export interface PlacingSettings extends Thresholds {
  readonly graph: partitions.GraphShape;
  readonly buildMemoryMb: number;
  readonly buildWorkers: number;
}

/** What was done to a corpus. */
export interface Placed {
  readonly tenant: string;
  readonly corpus: string;
  readonly did:
    | "moved to its own partition"
    | "moved to the shared partition"
    | "built its graph"
    | "rebuilt its graph";
  readonly chunks: number;
  readonly seconds: number;
  /** The longest that its writers waited for one transaction. */
  readonly lockedMs: number;
}

export type PlacingEvent =
  | { readonly kind: "cleaned"; readonly what: "index" | "partition" }
  | { readonly kind: "moving"; readonly corpus: CorpusKey; readonly done: number; readonly total: number }
  | { readonly kind: "building"; readonly corpus: CorpusKey; readonly chunks: number }
  | { readonly kind: "failed"; readonly corpus: CorpusKey };

export interface PlacingOptions {
  readonly settings: PlacingSettings;
  readonly report?: (event: PlacingEvent) => void;
  /** Ends it between two transactions; what is half done then, the next run goes on with. */
  readonly signal?: AbortSignal;
}

/**
 * Gives each large corpus a partition and a graph of its own, rebuilds graphs that lead to too many closed chunks, and takes both
 * from corpora that became small. Reads and writes go on. What an earlier run left half done is gone on with or cleaned up first.
 *
 * @param admin a direct connection with the operator's login, which becomes the owner: its session is the maintainer's lock
 * @throws Refusal when another maintainer is at work; when all others are done, what the first corpus failed with that could not be done
 */
export async function* placeCorpora(admin: AdminConnection, options: PlacingOptions): AsyncIterable<Placed> {
  const { settings, report } = options;
  for (const statement of partitions.sessionSettings(settings.buildMemoryMb, settings.buildWorkers))
    await admin.query(statement);
  const [isMine] = await admin.query(partitions.tryMaintainerLock);
  if (isMine !== true) throw new Refusal("another maintainer is at work in this database", "wait until it is done");
  await cleanUp(admin, options);
  const failures: unknown[] = [];
  for (const { tenantId, corpus } of await admin.query(partitions.selectPlacedCorpora(settings.ownPartitionFrom))) {
    try {
      yield* placeCorpus(admin, { tenantId, corpus }, options);
    } catch (error) {
      if (endsConnection(error)) throw error;
      failures.push(error);
      report?.({ kind: "failed", corpus: { tenantId, corpus } });
    }
  }
  await dropUnused(admin, options);
  if (failures.length > 0) throw failures[0];
}

/** Step after step, until the corpus is where it belongs. */
async function* placeCorpus(admin: AdminConnection, corpus: CorpusKey, options: PlacingOptions): AsyncIterable<Placed> {
  const { settings, signal } = options;
  const itself = partitions.selectPlacedCorpora(settings.ownPartitionFrom, corpus);
  for (let last: Step["kind"] | undefined; signal?.aborted !== true; ) {
    const [now] = await admin.query(itself);
    const step = now === undefined ? undefined : nextStep(now, settings);
    // A build that changes nothing would be a build without end.
    if (now === undefined || step === undefined || step.kind === last) return;
    last = step.kind;
    const done = await take(admin, step, now, options);
    if (done !== undefined) yield done;
  }
}

async function cleanUp(admin: AdminConnection, options: PlacingOptions): Promise<void> {
  for (const name of await admin.query(partitions.selectBrokenIndexes)) {
    await admin.query(partitions.dropIndex(name));
    options.report?.({ kind: "cleaned", what: "index" });
  }
  await dropUnused(admin, options);
}

async function dropUnused(admin: AdminConnection, { report }: PlacingOptions): Promise<void> {
  for (const unused of await admin.query(partitions.selectUnusedPartitions)) {
    for (const statement of partitions.dropPartition(unused)) await admin.query(statement);
    report?.({ kind: "cleaned", what: "partition" });
  }
}

async function take(
  admin: AdminConnection,
  { kind }: Step,
  corpus: partitions.PlacedCorpus,
  options: PlacingOptions,
): Promise<Placed | undefined> {
  switch (kind) {
    case "move-out":
      return await move(admin, await begin(admin, corpus, `p_${randomBytes(8).toString("hex")}`), options);
    case "move-back":
      return await move(admin, await begin(admin, corpus, SHARED), options);
    case "resume":
      return await move(admin, corpus, options);
    case "build":
    case "rebuild":
      return await buildGraph(admin, kind, corpus, options);
  }
}

/** In one transaction, so that no partition is there which no corpus names. From here on writers add to the new place. */
async function begin(
  admin: AdminConnection,
  corpus: partitions.PlacedCorpus,
  to: string,
): Promise<partitions.PlacedCorpus> {
  await admin.transaction(async (transaction) => {
    if (to !== SHARED) for (const statement of partitions.createPartition(to)) await transaction.query(statement);
    await transaction.query(lockCorpus(corpus));
    await transaction.query(partitions.startMove(corpus, corpus.placement, to));
  });
  return { ...corpus, placement: to, movingFrom: corpus.placement, graph: undefined };
}

/** @returns undefined when it was told to end before all were moved */
async function move(
  admin: AdminConnection,
  corpus: partitions.PlacedCorpus,
  { report, signal }: PlacingOptions,
): Promise<Placed | undefined> {
  const { placement: to, movingFrom: from } = corpus;
  if (from === undefined) throw new Error("a corpus that does not move was to be moved");
  const startedAt = performance.now();
  let lockedMs = 0;
  let chunks = 0;
  for (let after = -1, isDone = false; !isDone; ) {
    if (signal?.aborted === true) return undefined;
    let lockedAt = 0;
    const moved = await admin.transaction(async (transaction) => {
      await transaction.query(lockCorpus(corpus));
      lockedAt = performance.now();
      const numbers = await transaction.query(partitions.moveChunks(corpus, from, to, after, MOVED_AT_A_TIME));
      // Writers add to the new place alone, so where a look from the start finds nothing, there is nothing any more.
      isDone = numbers.length === 0 && after === -1;
      if (isDone) await transaction.query(partitions.endMove(corpus));
      return numbers;
    });
    lockedMs = Math.max(lockedMs, performance.now() - lockedAt);
    chunks += moved.length;
    after = moved.reduce((last, number) => Math.max(last, number), moved.length === 0 ? -1 : after);
    report?.({ kind: "moving", corpus, done: chunks, total: Math.max(chunks, corpus.liveChunks) });
  }
  if (to !== SHARED) await admin.query(partitions.analyzePartition(to));
  const did = to === SHARED ? "moved to the shared partition" : "moved to its own partition";
  return placed(corpus, did, chunks, startedAt, lockedMs);
}

async function buildGraph(
  admin: AdminConnection,
  kind: "build" | "rebuild",
  corpus: partitions.PlacedCorpus,
  { settings, report }: PlacingOptions,
): Promise<Placed> {
  const { placement, dimension, liveChunks, nextChunk } = corpus;
  const startedAt = performance.now();
  report?.({ kind: "building", corpus, chunks: liveChunks });
  // A run that was killed between building and saying so has left a whole one.
  const isThere = (await admin.query(partitions.selectGraph(placement))).length > 0;
  if (!isThere) await admin.query(partitions.createGraph(placement, dimension, settings.graph));
  else if (kind === "rebuild") await admin.query(partitions.rebuildGraph(placement));
  await admin.query(partitions.analyzePartition(placement));
  await admin.query(partitions.markGraph(corpus, liveChunks, nextChunk));
  return placed(corpus, kind === "build" ? "built its graph" : "rebuilt its graph", liveChunks, startedAt, 0);
}

const placed = (
  { tenantId, corpus }: CorpusKey,
  did: Placed["did"],
  chunks: number,
  startedAt: number,
  lockedMs: number,
): Placed => ({
  tenant: tenantId,
  corpus,
  did,
  chunks,
  seconds: Math.round((performance.now() - startedAt) / 100) / 10,
  lockedMs: Math.round(lockedMs),
});
