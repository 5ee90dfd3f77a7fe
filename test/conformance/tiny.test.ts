import { afterEach, describe, expect, test } from "vitest";
import { type CheckResult, runChecks } from "../../src/conformance/run-checks.ts";
import { SECTIONS } from "../../src/conformance/sections.ts";
import { ServerUnderTest, type Target } from "../../src/conformance/server-under-test.ts";
import { type HttpFault, startTinyHttp, type TinyHttp, TOKEN } from "./tiny-http.ts";
import type { Fault } from "./tiny-server.ts";
import { type StdioFault, TINY_STDIO } from "./tiny-stdio.ts";

/** The suite against a server that keeps every rule, and against the same server with one fault. */

let http: TinyHttp | undefined;
afterEach(async () => {
  await http?.close();
  http = undefined;
});

async function run(target: Target, only?: readonly string[]): Promise<readonly CheckResult[]> {
  const server = new ServerUnderTest(target, { timeoutMs: 1_500 });
  try {
    return await runChecks(SECTIONS, server, only && { only });
  } finally {
    await server.close();
  }
}

async function runHttp(fault?: Fault | HttpFault, only?: readonly string[]) {
  http = await startTinyHttp(fault);
  return run({ kind: "http", url: http.url, tokens: { read: TOKEN, add: TOKEN, delete: TOKEN } }, only);
}

const runStdio = (fault?: Fault | StdioFault, only?: readonly string[]) =>
  run({ kind: "stdio", command: [process.execPath, TINY_STDIO, ...(fault === undefined ? [] : [fault])] }, only);

const unheld = (results: readonly CheckResult[]) =>
  results.filter(({ status }) => status === "failed" || status === "warned");
const lines = (results: readonly CheckResult[]) =>
  unheld(results).map(({ section, check, reason }) => `${section} ${check}: ${reason}`);

describe("a server that keeps every rule", () => {
  test("passes over HTTP", async () => {
    const results = await runHttp();
    expect(lines(results)).toEqual([]);
    expect(results.filter(({ status }) => status === "passed").length).toBeGreaterThan(170);
  });

  test("passes over stdio", { timeout: 120_000 }, async () => {
    const results = await runStdio();
    expect(lines(results)).toEqual([]);
    expect(results.filter(({ status }) => status === "passed").length).toBeGreaterThan(160);
  });
});

/** A fault, and the section whose checks must see it. */
const OF_ANY: readonly (readonly [Fault, string])[] = [
  ["answers notifications", "4.4"],
  ["turns ids into strings", "4.7"],
  ["rounds ids", "4.7"],
  ["takes a second initialize", "13"],
  ["calls unknown methods missing capabilities", "12"],
  ["returns more than k hits", "7.7"],
  ["refuses k above maxK", "7.7"],
  ["coerces k", "4.6"],
  ["falls back to another mode", "7.7"],
  ["hides nothing below minScore", "7.7"],
  ["orders hits by id", "4.6"],
  ["forks documents", "7.10"],
  ["fails for an absent id", "7.10"],
  ["returns ids sorted", "7.10"],
  ["forgets the idempotency key", "7.10"],
  ["serves another version", "7.7.1"],
  ["takes constructor for a field", "8"],
  ["compares keywords without case", "8"],
  ["passes an empty and", "8"],
  ["sends progress without a token", "9"],
  ["sends another token", "9"],
  ["repeats a hit on the next page", "10"],
  ["writes vectors big-endian", "7.3"],
  ["knows no texts", "7.3"],
  ["answers an empty batch with an array", "11"],
  ["lists notifications of a batch", "11"],
  ["fails a batch for one member", "11"],
  ["hides its level", "14"],
  ["sends null", "4.6"],
  ["has a code of its own", "12"],
  ["answers a passed deadline otherwise", "13.1"],
  ["calls everything trusted", "15"],
];

const OF_HTTP: readonly (readonly [HttpFault, string])[] = [
  ["shares one lifecycle", "13"],
  ["takes any path", "5.2"],
  ["sends errors with 400", "5.2"],
  ["streams unasked", "5.2"],
  ["sends two final frames", "9"],
  ["refuses a stranger without a body", "15.6"],
  ["takes a token in params", "15.6"],
  ["answers GET", "5.2"],
];

const OF_STDIO: readonly (readonly [StdioFault | Fault, string])[] = [
  ["initializes though it refuses", "13"],
  ["talks on standard output", "5.1"],
  ["logs frames on standard error", "5.1"],
  ["reads one message at a time", "5.1"],
  ["chokes on a blank line", "5.1"],
  ["begins with a byte order mark", "5.1"],
  ["drops answers at the end of input", "5.1"],
  ["stays after shutdown", "13.1"],
  ["answers after shutdown", "13.1"],
  ["answers twice", "13.1"],
];

describe("a check of the section sees over HTTP that a server", () => {
  test.each([...OF_ANY, ...OF_HTTP])("%s: §%s", async (fault, section) => {
    const results = await runHttp(fault, [section]);
    expect(unheld(results).map((result) => result.section)).toContain(section);
  });
});

describe("a check of the section sees over stdio that a server", () => {
  test.each(OF_STDIO)("%s: §%s", async (fault, section) => {
    const results = await runStdio(fault, [section]);
    expect(unheld(results).map((result) => result.section)).toContain(section);
  });
});
