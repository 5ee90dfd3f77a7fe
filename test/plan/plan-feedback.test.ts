import { describe, expect, test } from "vitest";
import { type FeedbackLimits, planFeedback } from "../../src/plan/plan-feedback.ts";
import type { Params } from "../../src/protocol/params.ts";

const LIMITS: FeedbackLimits = { maxSignalsPerFeedback: 2, maxDocIdBytes: 8, maxQueryBytes: 20, maxSessionIdBytes: 5 };
const NOTHING = {
  used: undefined,
  cited: undefined,
  helpful: undefined,
  reward: undefined,
  poisonSuspected: undefined,
  injectionSuspected: undefined,
};

const signal = (members: object): Params => ({ signals: [{ hitId: "a", ...members }] });

describe("RCP §7.16, feedback", () => {
  test("is read as it is sent, null as absent and what nobody knows as not there", () => {
    const full = {
      ...{ used: true, cited: false, helpful: true, reward: -1 },
      ...{ poisonSuspected: false, injectionSuspected: true },
    };
    const params = {
      sessionId: "s",
      query: "what?",
      signals: [
        { hitId: "12345678#1234567890", ...full, mood: "good" },
        { hitId: 7, used: null, reward: null },
      ],
    };

    expect(planFeedback(params, LIMITS)).toEqual({
      sessionId: "s",
      query: "what?",
      signals: [
        { hitId: "12345678#1234567890", ...full },
        { hitId: "7", ...NOTHING },
      ],
    });
    expect(planFeedback({ signals: [], sessionId: null }, LIMITS)).toEqual({
      sessionId: undefined,
      query: undefined,
      signals: [],
    });
  });

  test.each([
    ["signals", {}],
    ["signals", { signals: null }],
    ["signals", { signals: { hitId: "a" } }],
    ["signals[0]", { signals: ["a"] }],
    ["signals[0].hitId", { signals: [{}] }],
    ["signals[0].hitId", signal({ hitId: true })],
    ["signals[0].hitId", signal({ hitId: "" })],
    ["signals[0].hitId", signal({ hitId: "\ud800" })],
    ["signals[0].hitId", signal({ hitId: "nul\u0000" })],
    ["signals[0].hitId", signal({ hitId: "12345678#1234567890x" })],
    ["signals[1].hitId", { signals: [{ hitId: "a" }, {}] }],
    ["signals[0].used", signal({ used: 1 })],
    ["signals[0].cited", signal({ cited: "true" })],
    ["signals[0].helpful", signal({ helpful: [] })],
    ["signals[0].poisonSuspected", signal({ poisonSuspected: 0 })],
    ["signals[0].injectionSuspected", signal({ injectionSuspected: "no" })],
    ["signals[0].reward", signal({ reward: 1.000001 })],
    ["signals[0].reward", signal({ reward: -2 })],
    ["signals[0].reward", signal({ reward: "1" })],
    ["sessionId", { sessionId: "longer", signals: [] }],
    ["sessionId", { sessionId: 5, signals: [] }],
    ["query", { query: 5, signals: [] }],
    ["query", { query: "\ud800", signals: [] }],
  ])("names %s in what it refuses: %j", (field, params) => {
    expect(() => planFeedback(params, LIMITS)).toThrow(
      expect.objectContaining({ code: -32602, data: expect.objectContaining({ field }) }),
    );
  });

  test.each([
    ["limits.maxSignalsPerFeedback", { signals: [{ hitId: "a" }, { hitId: "a" }, "not looked at"] }],
    ["limits.maxQueryBytes", { query: "x".repeat(21), signals: [] }],
  ])("is too large over %s", (setting, params) => {
    expect(() => planFeedback(params, LIMITS)).toThrow(
      expect.objectContaining({
        code: -32013,
        data: expect.objectContaining({ detail: expect.stringContaining(setting) }),
      }),
    );
  });
});
