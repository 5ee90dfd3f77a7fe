import type { Corpus } from "../catalog/corpus.ts";
import type { CorpusStore } from "../db/corpus-store.ts";
import type { CursorKeys } from "../db/cursor-keys.ts";
import type { Access, Database, StatementLimits } from "../db/database.ts";
import type { RankedListStore } from "../db/ranked-list-store.ts";
import type { TrajectoryStore } from "../db/trajectory-store.ts";
import type { EmbeddingModel } from "../models/embedding.ts";
import type { Reranker } from "../models/reranker.ts";
import type { TextGenerator } from "../models/text-generator.ts";
import type { PathSettings } from "../plan/choose-path.ts";
import type { Progress } from "../protocol/wire.ts";
import { isSamePlace } from "../sql/place.ts";
import type { SessionOwner } from "../sql/sessions.ts";
import type { Statement } from "../sql/sql.ts";

/** What a retrieval runs with. */
export interface RetrievalContext {
  readonly database: Database;
  readonly corpora: CorpusStore;
  readonly access: Access;
  /** Whose trajectories and cursors are meant. */
  readonly owner: SessionOwner;
  readonly trajectories: TrajectoryStore;
  readonly rankedLists: RankedListStore;
  /** Undefined where pages are switched off. */
  readonly cursors: { readonly keys: CursorKeys; readonly ttlSeconds: number } | undefined;
  readonly embedding: EmbeddingModel;
  /** Both are there when a plan asks for them: what is not configured is not on offer. */
  readonly reranker: Reranker | undefined;
  readonly generator: TextGenerator | undefined;
  /** Where exact search ends and graphs begin. */
  readonly paths: PathSettings;
  /** Paths of meta that no hit shows to this caller. */
  readonly redactedMeta: readonly string[];
  /** The call: its signal and the time left. */
  readonly limits: { readonly signal: AbortSignal; remainingMs(): number };
  /** Undefined when nobody listens. */
  readonly report: ((progress: Progress) => void) | undefined;
}

export const statementLimits = ({ limits }: Pick<RetrievalContext, "limits">): StatementLimits => ({
  signal: limits.signal,
  timeoutMs: limits.remainingMs(),
});

/** One statement's rows of a corpus, as the reader. */
export async function readRows<Row>(
  { database, access, limits }: Pick<RetrievalContext, "database" | "access" | "limits">,
  corpus: Corpus,
  statement: Statement<Row>,
): Promise<readonly Row[]> {
  const [rows] = await database.readCorpus({ corpus }, access, [statement], statementLimits({ limits }));
  return rows;
}

/** The corpus as the database has it now: what was kept of it named a partition that its chunks are not all in any more. */
export async function lookUpAgain(
  corpus: Corpus,
  { corpora, access, limits }: Pick<RetrievalContext, "corpora" | "access" | "limits">,
): Promise<Corpus> {
  corpora.forget(corpus.tenantId);
  return (await corpora.find("reader", access, corpus.name, statementLimits({ limits }))) ?? corpus;
}

/**
 * Rows of some chunks, one each, as the reader. Fewer than there are numbers: some were erased, or all of them move, and then they are
 * read once more from where they are now.
 */
export async function readChunks<Row>(
  context: Pick<RetrievalContext, "database" | "corpora" | "access" | "limits">,
  corpus: Corpus,
  chunkNos: readonly number[],
  statementFor: (corpus: Corpus) => Statement<Row>,
): Promise<readonly Row[]> {
  const rows = await readRows(context, corpus, statementFor(corpus));
  if (rows.length >= chunkNos.length) return rows;
  const now = await lookUpAgain(corpus, context);
  return isSamePlace(now, corpus) ? rows : await readRows(context, now, statementFor(now));
}
