import type { ChurnStage } from "./churn.ts";
import type { CompactionFigures } from "./compaction.ts";
import type { GrowthFigures } from "./growth.ts";
import type { IngestFigures } from "./ingest.ts";
import type { MatrixFigures } from "./matrix.ts";
import type { Overhead } from "./overhead.ts";
import type { PeersFigures } from "./peers/measure.ts";
import type { RlsFigures } from "./rls.ts";
import type { Run } from "./run.ts";
import type { SparseFigures } from "./sparse.ts";

/** What a run of the bench measured; steps that were not asked for are absent. */
export interface Figures {
  readonly run: Run;
  readonly overhead?: Overhead | undefined;
  readonly sparse?: readonly SparseFigures[] | undefined;
  readonly compaction?: CompactionFigures | undefined;
  readonly recall?: MatrixFigures | undefined;
  readonly rls?: readonly RlsFigures[] | undefined;
  readonly growth?: readonly GrowthFigures[] | undefined;
  readonly churn?: readonly ChurnStage[] | undefined;
  readonly ingest?: IngestFigures | undefined;
  readonly peers?: PeersFigures | undefined;
}

/** As `--only` calls it. */
export type Step = keyof Omit<Figures, "run">;
