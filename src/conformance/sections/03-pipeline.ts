import { rule, section } from "../rule.ts";

export const pipeline = section(
  "3.3",
  "The funnel",
  [rule("funnel", "MUST", "keep candidateK ≥ rerank.topN ≥ k; tried in §7.7")],
  [],
);
