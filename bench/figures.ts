import type { ChurnStage } from "./churn.ts";
import type { CompactionFigures } from "./compaction.ts";
import { type Failure, isFailure } from "./failure.ts";
import type { GrowthFigures } from "./growth.ts";
import type { IngestFigures } from "./ingest.ts";
import type { MatrixFigures } from "./matrix.ts";
import type { Overhead } from "./overhead.ts";
import type { PeersFigures } from "./peers/measure.ts";
import type { RlsFigures } from "./rls.ts";
import type { Run } from "./run.ts";
import type { SparseFigures } from "./sparse.ts";
import type { TenantsFigures } from "./tenants.ts";

/** What each step measures. */
export interface StepFigures {
  readonly overhead: readonly Overhead[];
  readonly sparse: readonly SparseFigures[];
  readonly compaction: CompactionFigures;
  readonly recall: MatrixFigures;
  readonly rls: readonly RlsFigures[];
  readonly growth: readonly GrowthFigures[];
  readonly tenants: TenantsFigures;
  readonly churn: readonly ChurnStage[];
  readonly ingest: IngestFigures;
  readonly peers: PeersFigures;
}

/** As `--only` calls it. */
export type Step = keyof StepFigures;

/** Steps that were not asked for are absent. */
export type Measured = { readonly [Name in Step]?: StepFigures[Name] | Failure };

/** What a run of the bench measured. */
export type Figures = { readonly run: Run } & Measured;

/** @returns the figures of those steps that did not fail */
export const withoutFailures = (figures: Measured): Partial<StepFigures> =>
  Object.fromEntries(Object.entries(figures).filter(([, step]) => !isFailure(step)));
