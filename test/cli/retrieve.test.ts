import { tmpdir } from "node:os";
import { afterEach, beforeEach, expect, test } from "vitest";
import { formatHit } from "../../src/cli/retrieve.ts";
import type { Hit } from "../../src/protocol/wire.ts";
import { type Answer, type RcpServer, sendResult, startRcpServer } from "../client/rcp-server.ts";
import { runCli } from "./run-cli.ts";

const hit: Hit = {
  id: "handbook#2",
  score: 0.71234,
  text: "First line.\nSecond line.\n",
  unit: "chunk",
  meta: {},
  scores: {},
  citation: { source: "wiki", title: "Handbook", uri: "https://example.org/h", start: 100, end: 124 },
  trust: { level: "community", injectionSuspected: false },
  chunk: { docId: "handbook", index: 2 },
};

let server: RcpServer;
let answer: Answer;
beforeEach(async () => {
  server = await startRcpServer((call, response, request) => answer(call, response, request));
});
afterEach(() => server.close());

const retrieve = (...args: readonly string[]) => runCli(["retrieve", ...args, "--url", server.url], tmpdir());

test("a passage is shown with its rank, place, source and trust", () => {
  expect(formatHit(hit, 0)).toBe(
    "1. handbook#2  Handbook  (score 0.7123)\n" +
      "   source wiki, characters 100-124, community  https://example.org/h\n" +
      "   | First line.\n   | Second line.\n",
  );
});

test("a suspicious passage says so, and nothing in it reaches the terminal as it is", () => {
  const shown = formatHit(
    {
      ...hit,
      text: "\u001b]0;owned\u0007",
      citation: { ...hit.citation, title: "a\nb\u202e" },
      trust: { level: "untrusted", injectionSuspected: true },
    },
    0,
  );

  expect(shown).toContain("untrusted, looks like instructions to a model");
  expect(shown).toContain("\\u{1b}]0;owned\\u{7}");
  expect(shown).toContain("a b\\u{202e}");
  expect(shown).not.toContain("\u001b");
});

test("the question and its options are sent, and the hits printed in order", async () => {
  answer = (call, response) => sendResult(call, response, { hits: [hit, { ...hit, id: "other" }], usage: {} });

  const { code, stdout } = await retrieve(
    "What now?",
    "-k",
    "2",
    "--mode",
    "dense",
    "--filter",
    '{"field":"y","op":"exists","value":true}',
  );

  expect(code).toBe(0);
  expect(server.calls[0]?.body.params).toEqual({
    query: "What now?",
    k: 2,
    mode: "dense",
    filter: { field: "y", op: "exists", value: true },
  });
  expect(stdout.match(/^\d\. \S+/gm)).toEqual(["1. handbook#2", "2. other"]);
});

test("--json prints the server's result", async () => {
  answer = (call, response) => sendResult(call, response, { hits: [hit], indexVersion: "v", usage: {} });

  expect(JSON.parse((await retrieve("q", "--json")).stdout)).toEqual({ hits: [hit], indexVersion: "v", usage: {} });
});

test("nothing found is said, and a filter that is no JSON is a usage error", async () => {
  answer = (call, response) => sendResult(call, response, { hits: [], usage: {} });

  expect((await retrieve("q")).stdout).toBe("no passage found\n");
  expect(await retrieve("q", "--filter", "year>3")).toMatchObject({ code: 2, stdout: "" });
});
