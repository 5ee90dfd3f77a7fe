import type { Access, Database, StatementLimits } from "../db/database.ts";
import type { RankedListStore } from "../db/ranked-list-store.ts";
import type { TrajectoryStore } from "../db/trajectory-store.ts";
import type { EmbeddingModel } from "../models/embedding.ts";
import type { Reranker } from "../models/reranker.ts";
import type { TextGenerator } from "../models/text-generator.ts";
import type { Progress } from "../protocol/wire.ts";
import type { SessionOwner } from "../sql/sessions.ts";
import type { Statement } from "../sql/sql.ts";

/** What a retrieval runs with. */
export interface RetrievalContext {
  readonly database: Database;
  readonly access: Access;
  /** Whose trajectories and cursors are meant. */
  readonly owner: SessionOwner;
  readonly trajectories: TrajectoryStore;
  /** Undefined where pages are switched off. */
  readonly rankedLists: RankedListStore | undefined;
  readonly embedding: EmbeddingModel;
  /** Both are there when a plan asks for them: what is not configured is not on offer. */
  readonly reranker: Reranker | undefined;
  readonly generator: TextGenerator | undefined;
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

/** One statement's rows, as the reader. */
export async function readRows<Row>(
  { database, access, limits }: Pick<RetrievalContext, "database" | "access" | "limits">,
  statement: Statement<Row>,
): Promise<readonly Row[]> {
  const [rows] = await database.read("reader", access, [statement], statementLimits({ limits }));
  return rows;
}
