import { expect, test } from "vitest";
import { corpusEndpoint, isPrivateChannel } from "../../src/client/endpoint.ts";
import { RcpCallError, RcpTransportError } from "../../src/client/errors.ts";
import { retryAfterHeaderMs } from "../../src/client/exchange.ts";
import { type RetryPolicy, retryDelayMs } from "../../src/client/retry.ts";

const policy: RetryPolicy = { retries: 4, baseMs: 100, maxMs: 500, maxRetryAfterMs: 60_000 };
const half = () => 0.5;
const callError = (code: number, retryAfterMs?: number) =>
  new RcpCallError({ code, message: "m", data: {}, httpStatus: 200, retryAfterMs });

test("waits are half of 100, 200, 400, 500 ms when chance says one half, then no more", () => {
  const waits = [0, 1, 2, 3, 4].map((retried) =>
    retryDelayMs(callError(-32010), { retried, idempotent: true }, policy, half),
  );

  expect(waits).toEqual([50, 100, 200, 250, undefined]);
});

test("a pause that the server asks for is lengthened by jitter and never shortened", () => {
  const attempt = { retried: 0, idempotent: true };

  expect(retryDelayMs(callError(-32011, 2_000), attempt, policy, () => 0)).toBe(2_000);
  expect(retryDelayMs(callError(-32011, 2_000), attempt, policy, half)).toBe(2_050);
});

test("what cannot be done twice is repeated only where the server did not begin", () => {
  const attempt = { retried: 0, idempotent: false };
  const lost = (fault: "unreachable" | "interrupted" | "timeout") => new RcpTransportError(fault, "d", true);

  expect(retryDelayMs(callError(-32011), attempt, policy, half)).toBe(50);
  expect(retryDelayMs(lost("unreachable"), attempt, policy, half)).toBe(50);
  expect(retryDelayMs(lost("interrupted"), attempt, policy, half)).toBeUndefined();
  expect(retryDelayMs(lost("timeout"), attempt, policy, half)).toBeUndefined();
  expect(retryDelayMs(callError(-32010), attempt, policy, half)).toBeUndefined();
});

test("Retry-After is read as seconds and as a date", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");

  expect(retryAfterHeaderMs("3", now)).toBe(3_000);
  expect(retryAfterHeaderMs("Thu, 01 Jan 2026 00:00:10 GMT", now)).toBe(10_000);
  expect(retryAfterHeaderMs("Wed, 31 Dec 2025 00:00:00 GMT", now)).toBe(0);
  expect(retryAfterHeaderMs("soon", now)).toBeUndefined();
  expect(retryAfterHeaderMs(null, now)).toBeUndefined();
});

test("a corpus replaces the last part of the base path", () => {
  expect(corpusEndpoint("https://h/rcp").href).toBe("https://h/rcp");
  expect(corpusEndpoint("https://h/rcp/", "default").href).toBe("https://h/rcp");
  expect(corpusEndpoint("https://h/a/b/rcp", "x").href).toBe("https://h/a/b/corpora/x/rcp");
  expect(corpusEndpoint("https://h/rcp", "a/b").href).toBe("https://h/corpora/a%2Fb/rcp");
});

test.each([
  "ftp://h/rcp",
  "h/rcp",
  "https://h/",
  "https://h/mcp",
  "https://u:p@h/rcp",
  "https://h/rcp?x=1",
  "https://h/rcp#x",
])("%s is no base URL", (url) => {
  expect(() => corpusEndpoint(url)).toThrow(TypeError);
});

test("only https and this machine are private", () => {
  const isPrivate = (url: string) => isPrivateChannel(new URL(url));

  expect(["https://h/rcp", "http://localhost/rcp", "http://127.0.0.1/rcp", "http://[::1]/rcp"].every(isPrivate)).toBe(
    true,
  );
  expect(
    ["http://h/rcp", "http://10.0.0.1/rcp", "http://localhost.example/rcp", "http://[::2]/rcp"].some(isPrivate),
  ).toBe(false);
});
