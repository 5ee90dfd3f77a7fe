import { describe, expect, test } from "vitest";
import { encodeAnswer, readOutcome } from "../../src/bridge/outcome.ts";
import { statusOutcome } from "../../src/bridge/status-outcome.ts";

const codeOf = (outcome: ReturnType<typeof readOutcome>) => ("error" in outcome ? outcome.error.code : 0);

describe("a JSON-RPC answer", () => {
  test("is the result, or the error in the server's own words", () => {
    expect(readOutcome({ jsonrpc: "2.0", id: 7, result: { hits: [] } }, 7)).toEqual({ result: { hits: [] } });
    const error = { code: -32099, message: "odd", data: ["x"] };
    expect(readOutcome({ jsonrpc: "2.0", id: 7, error }, 7)).toEqual({ error });
  });

  test("with id null is taken when it is an error, and only then", () => {
    expect(codeOf(readOutcome({ id: null, error: { code: -32600, message: "no" } }, 7))).toBe(-32600);
    expect(codeOf(readOutcome({ id: null, result: {} }, 7))).toBe(-32010);
  });

  test.each([
    ["of another request", { id: 8, result: {} }],
    ["of another type of id", { id: "7", result: {} }],
    ["with an error of another request", { id: 8, error: { code: -32602, message: "no" } }],
    ["with neither", { id: 7 }],
    ["with a result that is no object", { id: 7, result: [1] }],
    ["with an error without a code", { id: 7, error: { message: "no" } }],
    ["that is an array", [{ id: 7, result: {} }]],
    ["that is null", null],
  ])("%s is -32010 and may be retried", (_name, answer) => {
    expect(readOutcome(answer, 7)).toMatchObject({ error: { code: -32010, data: { retryable: true } } });
  });

  test("nested too deeply to be written again is -32010", () => {
    const deep: unknown = JSON.parse(`${"[".repeat(100_000)}${"]".repeat(100_000)}`);
    expect(encodeAnswer("a", { result: { deep } })).toContain('"id":"a","error":{"code":-32010');
  });
});

describe("an HTTP status", () => {
  test.each([
    [401, -32012, undefined],
    [403, -32012, undefined],
    [413, -32013, undefined],
    [429, -32011, true],
    [500, -32010, true],
    [502, -32010, true],
    [503, -32010, true],
    [504, -32010, true],
    [408, -32010, true],
    [204, -32010, true],
    [404, -32010, false],
    [302, -32010, false],
  ])("of %i is %i, retryable: %s", (status, code, retryable) => {
    const outcome = statusOutcome(status, undefined, undefined);
    expect(codeOf(outcome)).toBe(code);
    if (retryable !== undefined) expect(outcome).toMatchObject({ error: { data: { retryable } } });
  });

  test("of 429 says how long to wait: seconds, a date, or the longer of header and body", () => {
    const wait = (header: string | undefined, body?: unknown) => {
      const outcome = statusOutcome(429, header, body);
      return "error" in outcome && (outcome.error.data as { retryAfterMs: number }).retryAfterMs;
    };
    expect(wait("7")).toBe(7_000);
    expect(wait(undefined)).toBe(1_000);
    expect(wait("2", { error: { code: -32011, message: "", data: { retryAfterMs: 2_500 } } })).toBe(2_500);
    const inOneMinute = Number(wait(new Date(Date.now() + 60_000).toUTCString()));
    expect(inOneMinute).toBeGreaterThan(57_000);
    expect(inOneMinute).toBeLessThanOrEqual(60_000);
    expect(wait("Wed, 21 Oct 2015 07:28:00 GMT")).toBe(0);
  });

  test("decides over the body, whose detail is kept when the codes agree", () => {
    const body = (code: number) => ({ jsonrpc: "2.0", id: null, error: { code, message: "m", data: { detail: "d" } } });
    expect(statusOutcome(413, undefined, body(-32013))).toMatchObject({
      error: { code: -32013, data: { detail: "d" } },
    });
    expect(statusOutcome(500, undefined, body(-32603))).toMatchObject({
      error: { code: -32010, data: { retryable: true, detail: "the server answered with HTTP status 500" } },
    });
  });

  test("of 503 keeps the wait that the server asks for", () => {
    expect(statusOutcome(503, "3", undefined)).toMatchObject({
      error: { code: -32010, data: { retryable: true, retryAfterMs: 3_000 } },
    });
  });
});
