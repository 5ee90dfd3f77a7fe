import { type NewDocument, RcpCallError, type RcpClient } from "../client/index.ts";
import { ErrorCode } from "../protocol/errors.ts";
import { utf8Bytes } from "../protocol/text.ts";
import type { Source, SourceDocument, SourceItem } from "./import-source.ts";
import type { ImportState } from "./import-state.ts";

/** Sends a source's documents in batches, several at a time, and finds out which document a refusal is about. */

export interface ImportOptions {
  readonly batch: number;
  /** Of one request's documents as JSON; a larger document travels alone. */
  readonly maxBatchBytes: number;
  readonly concurrency: number;
  /** Stops after so many documents were left out. */
  readonly maxProblems: number;
}

export interface ImportCounts {
  /** Acknowledged by the server in this run. */
  added: number;
  chunks: number;
  /** Acknowledged by an earlier run and unchanged. */
  skipped: number;
  /** Bad lines, repeated ids and documents that the server refused. */
  problems: number;
}

export interface ImportEvents {
  problem(where: string, reason: string): void;
  progress(fraction: number, counts: Readonly<ImportCounts>): void;
}

/** Too many documents were left out: something is wrong with all of them. */
export class TooManyProblems extends Error {
  override readonly name = "TooManyProblems";
}

interface Item {
  readonly document: SourceDocument;
  readonly where: string;
  readonly size: number;
}

/**
 * Reads the source to its end, or until the signal aborts: then the requests under way are still finished.
 *
 * @returns what was done
 * @throws RcpCallError or RcpTransportError when the server cannot take more; TooManyProblems; whatever was acknowledged before
 *   is in the state
 */
export async function runImport(
  source: Source,
  client: Pick<RcpClient, "indexAdd">,
  state: ImportState,
  options: ImportOptions,
  events: ImportEvents,
  signal: AbortSignal,
): Promise<ImportCounts> {
  const counts: ImportCounts = { added: 0, chunks: 0, skipped: 0, problems: 0 };
  let settled = 0;
  const settle = (size: number) => {
    settled += size;
    events.progress(source.size === 0 ? 1 : settled / source.size, counts);
  };
  const leaveOut = (where: string, reason: string, size: number) => {
    counts.problems += 1;
    events.problem(where, reason);
    settle(size);
    if (counts.problems >= options.maxProblems) throw new TooManyProblems();
  };
  const sender = createSender(
    client,
    {
      async acknowledged(items, chunks) {
        await state.acknowledge(items.map((item) => item.document));
        counts.added += items.length;
        counts.chunks += chunks;
        settle(items.reduce((sum, item) => sum + item.size, 0));
      },
      refused: (item, reason) => leaveOut(item.where, `${item.document.id}: ${reason}`, item.size),
    },
    signal,
  );

  const seen = new Map<string, string>();
  const lanes = createLanes(options.concurrency);
  let batch: Item[] = [];
  let bytes = 0;
  const flush = async () => {
    const items = batch;
    batch = [];
    bytes = 0;
    if (items.length > 0) await lanes.run(() => sender(items));
  };
  const take = async (item: SourceItem): Promise<void> => {
    if (item.kind === "problem") return leaveOut(item.where, item.reason, item.size);
    const { document, where, size } = item;
    const first = seen.get(document.id);
    if (first !== undefined) return leaveOut(where, `the id repeats that of ${first}, which was kept`, size);
    seen.set(document.id, where);
    if (state.has(document)) {
      counts.skipped += 1;
      return settle(size);
    }
    const documentBytes = utf8Bytes(JSON.stringify(document)) + 1;
    if (bytes + documentBytes > options.maxBatchBytes) await flush();
    batch.push({ document, where, size });
    bytes += documentBytes;
    if (batch.length >= options.batch) await flush();
  };
  try {
    for await (const item of source.items()) {
      if (signal.aborted) break;
      await take(item);
    }
    if (!signal.aborted) await flush();
  } finally {
    await lanes.settle();
  }
  lanes.check();
  return counts;
}

interface Outcome {
  acknowledged(items: readonly Item[], chunks: number): Promise<void>;
  refused(item: Item, reason: string): void;
}

/** Codes that may be about one document of the batch, or about its size. */
const DIVISIBLE: ReadonlySet<number> = new Set([
  ErrorCode.InvalidParams,
  ErrorCode.PayloadTooLarge,
  ErrorCode.Timeout,
  ErrorCode.InternalError,
]);

/**
 * Sends a batch; a refused document is taken out by the path in the refusal, or found by halving, and the rest is sent again.
 * A server writes all of a batch or nothing of it.
 */
function createSender(
  client: Pick<RcpClient, "indexAdd">,
  outcome: Outcome,
  signal: AbortSignal,
): (items: readonly Item[]) => Promise<void> {
  return async function send(items) {
    if (signal.aborted) return; // what is not acknowledged is sent by the next run
    const documents: readonly NewDocument[] = items.map((item) => item.document);
    try {
      // What took too long takes as long again: a batch is halved, a single document left out.
      const { chunks } = await client.indexAdd(documents, { noRetry: [ErrorCode.Timeout] });
      await outcome.acknowledged(items, chunks ?? 0);
    } catch (error) {
      if (!(error instanceof RcpCallError) || !DIVISIBLE.has(error.code)) throw error;
      const at = refusedIndex(error);
      const named = at === undefined ? undefined : items[at];
      if (named !== undefined) {
        outcome.refused(named, reasonOf(error));
        if (items.length > 1) await send(items.filter((item) => item !== named));
      } else if (items.length > 1) {
        const middle = Math.ceil(items.length / 2);
        await send(items.slice(0, middle));
        await send(items.slice(middle));
      } else if (items[0] !== undefined) outcome.refused(items[0], reasonOf(error));
    }
  };
}

const DOCUMENT_PATH = /^documents\[(\d+)\]\.?/;

function refusedIndex({ data }: RcpCallError): number | undefined {
  const index = data.field === undefined ? undefined : DOCUMENT_PATH.exec(data.field)?.[1];
  return index === undefined ? undefined : Number(index);
}

function reasonOf({ code, message, data }: RcpCallError): string {
  const place = data.field?.replace(DOCUMENT_PATH, "") ?? "";
  return `${place === "" ? "" : `${place}: `}${data.detail ?? message} (${code})`;
}

interface Lanes {
  /** Waits for a free lane, then starts the work without waiting for its end. Throws what earlier work threw. */
  run(work: () => Promise<void>): Promise<void>;
  /** Waits for all work, however it ends. */
  settle(): Promise<void>;
  /** Throws what any work threw first. */
  check(): void;
}

function createLanes(count: number): Lanes {
  const running = new Set<Promise<void>>();
  let failure: { readonly error: unknown } | undefined;
  const check = () => {
    if (failure !== undefined) throw failure.error;
  };
  return {
    async run(work) {
      while (running.size >= count) await Promise.race(running);
      check();
      const task = work()
        .catch((error: unknown) => {
          failure ??= { error };
        })
        .finally(() => running.delete(task));
      running.add(task);
    },
    async settle() {
      await Promise.all(running);
    },
    check,
  };
}
