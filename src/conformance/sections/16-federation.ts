import { clientRule, rule, section, untried } from "../rule.ts";

const SECOND = "needs a second server behind the first";

export const federation = section(
  "16",
  "Federation",
  [
    clientRule("ask-for-k", "SHOULD", "ask each engine for k hits or more (§16.2)"),
    untried("note-failures", "SHOULD", "note engines that failed in usage.notes (§16.2)", SECOND),
    untried("required", "MUST", "fail when a required engine fails (§16.2)", SECOND),
    untried("all-failed", "MUST", "answer -32010 when every engine failed (§16.2)", SECOND),
    clientRule("hop-budget", "MUST", "send a hop budget and a path (§16.2)"),
    untried("decrement", "MUST", "decrement depth, append itself to path, and stop at 0 (§16.2)", SECOND),
    untried("cycle", "MUST", "skip an engine whose path names itself (§16.2)", SECOND),
    clientRule("propagate-deadline", "SHOULD", "send what is left of its deadline as _meta.deadlineMs (§16.2)"),
    rule("16.2/deadline-ms", "SHOULD", "answer -32014 rather than exceed _meta.deadlineMs (§16.2)"),
    clientRule("normalise", "MUST", "normalise scores before a weighted fusion (§16.3)"),
    clientRule("convex", "SHOULD", "prefer convex where every engine has a scoreFloor, else RRF (§16.3)"),
    clientRule("alpha", "SHOULD", "treat alpha as tunable (§16.3)"),
    clientRule("ties", "MUST", "break ties by score, weight and id (§16.3)"),
    clientRule("richest", "SHOULD", "keep the richest body of hits that are one (§16.3)"),
    clientRule("origin", "SHOULD", "say the origin of a fused hit (§16.3)"),
  ],
  [],
);
