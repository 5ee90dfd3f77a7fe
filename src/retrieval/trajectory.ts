import type { Corpus } from "../catalog/corpus.ts";
import type { TrajectoryName } from "../db/trajectory-store.ts";
import type { RetrievalPlan } from "../plan/retrieval-plan.ts";
import type { Unit } from "../protocol/wire.ts";
import type { HitRow } from "../sql/ranked-chunks.ts";
import type { Shown } from "../sql/trajectories.ts";
import type { Candidate } from "./candidate.ts";
import { type RetrievalContext, statementLimits } from "./context.ts";

/** What the hits of one trajectory were (RCP §7.7.3). Chunks of a document are numbered in a row, so its first chunk names it. */
export class Seen {
  readonly #chunks: ReadonlySet<number>;
  readonly #documents: ReadonlySet<number>;

  constructor({ chunkNos, documentNos }: Shown) {
    this.#chunks = new Set(chunkNos);
    this.#documents = new Set(documentNos);
  }

  /** Candidates of recall that may be dropped as seen. A document counts as one chunk, for recall cannot know better. */
  get size(): number {
    return this.#chunks.size + this.#documents.size;
  }

  /** A chunk was seen by itself or with its whole document; a document only as a whole. A document written anew is another one. */
  has(candidate: Pick<Candidate, "chunkNo" | "ordinal">, unit: Unit): boolean {
    if (this.#documents.has(firstChunkOf(candidate))) return true;
    return unit === "chunk" && this.#chunks.has(candidate.chunkNo);
  }
}

const firstChunkOf = ({ chunkNo, ordinal }: Pick<Candidate, "chunkNo" | "ordinal">): number => chunkNo - ordinal;

const NOTHING = new Seen({ chunkNos: [], documentNos: [] });

export async function loadSeen(plan: RetrievalPlan, corpus: Corpus, context: RetrievalContext): Promise<Seen> {
  const name = trajectoryOf(plan, corpus, context);
  if (name === undefined) return NOTHING;
  return new Seen(await context.trajectories.shown(name, context.access, statementLimits(context)));
}

/** Remembers what is about to be shown. */
export async function rememberHits(
  rows: readonly HitRow[],
  plan: RetrievalPlan,
  corpus: Corpus,
  context: RetrievalContext,
): Promise<void> {
  const name = trajectoryOf(plan, corpus, context);
  if (name === undefined || rows.length === 0) return;
  const isWhole = plan.unit === "document";
  const shown = {
    chunkNos: isWhole ? [] : rows.map(({ chunkNo }) => chunkNo),
    documentNos: isWhole ? rows.map(firstChunkOf) : [],
  };
  await context.trajectories.add(name, shown, context.access, statementLimits(context));
}

function trajectoryOf(
  { sessionId }: RetrievalPlan,
  corpus: Corpus,
  context: RetrievalContext,
): TrajectoryName | undefined {
  return sessionId === undefined ? undefined : { owner: context.owner, corpus: corpus.name, sessionId };
}
