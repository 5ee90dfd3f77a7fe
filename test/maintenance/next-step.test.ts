import { expect, test } from "vitest";
import type { CorpusName, TenantId } from "../../src/catalog/corpus.ts";
import { nextStep } from "../../src/maintenance/next-step.ts";

const THRESHOLDS = { ownPartitionFrom: 20_000, rebuildShare: 0.2 };
const shared = {
  tenantId: "acme" as TenantId,
  corpus: "papers" as CorpusName,
  placement: "shared",
  movingFrom: undefined,
  dimension: 4_000,
  liveChunks: 20_001,
  nextChunk: 20_001,
  graph: undefined,
};
const own = { ...shared, placement: "p_1", liveChunks: 24_000, nextChunk: 130_000 };

test.each([
  ["one chunk above the threshold", "move-out", shared],
  ["at the threshold", undefined, { ...shared, liveChunks: 20_000 }],
  ["above it, with vectors that no graph can be built over", undefined, { ...shared, dimension: 4_001 }],
  ["half moved", "resume", { ...own, movingFrom: "shared" }],
  ["below half of the threshold", "move-back", { ...own, liveChunks: 9_999 }],
  ["without a graph", "build", own],
  // 30,000 entries, 6,000 of them closed.
  ["with a graph of which a fifth is closed", undefined, { ...own, graph: { chunks: 20_000, nextChunk: 120_000 } }],
  ["with a graph of which more is", "rebuild", { ...own, graph: { chunks: 20_001, nextChunk: 120_000 } }],
])("of a corpus %s the next step is %s", (_, step, corpus) => {
  expect(nextStep(corpus, THRESHOLDS)?.kind).toBe(step);
});
