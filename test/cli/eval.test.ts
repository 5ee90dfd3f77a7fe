import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Answer, type RcpServer, sendError, sendResult, startRcpServer } from "../client/rcp-server.ts";
import { runCli } from "./run-cli.ts";

let cwd: string;
let server: RcpServer;
let retrieve: Answer;
let maxK: number;
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), "pgrcp-eval-"));
  maxK = 100;
  server = await startRcpServer((call, response, request) =>
    call.body.method === "info"
      ? sendResult(call, response, {
          protocolVersion: 1,
          server: { name: "fake", version: "1" },
          capabilities: { retrieve: { maxK } },
        })
      : retrieve(call, response, request),
  );
  await writeFile(
    join(cwd, "queries.jsonl"),
    '{"id":"q1","text":"one"}\n{"id":"q2","text":"two"}\n{"id":"q3","text":"not relevant to anything"}\n',
  );
  await writeFile(join(cwd, "qrels.tsv"), "query-id\tcorpus-id\tscore\nq1\ta\t1\nq2\tb\t2\nq2\tc\t1\nq3\tz\t0\n");
});
afterEach(async () => {
  await server.close();
  await rm(cwd, { recursive: true });
});

const evaluate = (...more: readonly string[]) => runCli(["eval", cwd, "--url", server.url, ...more], cwd);
const hits = (...docIds: readonly string[]) => ({
  hits: docIds.map((docId, index) => ({ id: `${docId}#${index}`, score: 1 - index / 100, chunk: { docId, index } })),
  usage: { latencyMs: 7 },
});
/** q1: a is second, after two chunks of x. q2: c is first and b is second. */
const answerBoth: Answer = (call, response) =>
  sendResult(call, response, call.body.params.query === "one" ? hits("x", "x", "a", "a") : hits("c", "c", "b"));

// q1: nDCG 1/log2 3 = 0.6309298, recall 1, reciprocal rank 1/2.
// q2: nDCG (1 + 2/log2 3) / (2 + 1/log2 3) = 2.2618595 / 2.6309298 = 0.8597186, recall 1, reciprocal rank 1.
test("figures are means over the queries that have a relevant document", async () => {
  retrieve = answerBoth;

  const { code, stdout } = await evaluate("--json");

  expect(code).toBe(0);
  const figures = JSON.parse(stdout);
  expect(figures["ndcg@10"]).toBeCloseTo((0.6309298 + 0.8597186) / 2, 6);
  expect(figures["recall@50"]).toBe(1);
  expect(figures["mrr@10"]).toBe(0.75);
  expect(figures.queries).toBe(2);
  expect(figures.serverP50Ms).toBe(7);
  expect(stdout.startsWith('{"ndcg@10":')).toBe(true);
});

test("three chunks a document are asked for, in the mode and corpus named, without texts", async () => {
  retrieve = answerBoth;

  await evaluate("--k", "20", "--mode", "sparse", "--corpus", "papers");

  const call = server.calls.find(({ body }) => body.method === "retrieve");
  expect(call?.path).toBe("/corpora/papers/rcp/retrieve");
  expect(call?.body.params).toEqual({ query: "one", k: 60, includeText: false, mode: "sparse" });
});

test("no more than the server's maxK is asked for, and the table says so", async () => {
  retrieve = answerBoth;

  const { stdout } = await evaluate();

  expect(server.calls.find(({ body }) => body.method === "retrieve")?.body.params.k).toBe(100);
  expect(stdout).toContain("100 chunks a query (the server's maxK; 150 were wanted)");
  expect(stdout).toMatch(/ndcg@10 +0\.7453/);
  expect(stdout).toContain("1 queries have no relevant document");
});

test("a query that fails ends the evaluation: a mean over the rest would mislead", async () => {
  retrieve = (call, response) =>
    call.body.params.query === "two"
      ? sendError(call, response, -32602, { detail: "no" })
      : answerBoth(call, response, null as never);

  const { code, stdout, stderr } = await evaluate("--json");

  expect(code).toBe(2);
  expect(stdout).toBe("");
  expect(stderr).toContain("the server answered -32602");
});

test("several queries at a time give the same figures", async () => {
  retrieve = answerBoth;

  const [one, four] = await Promise.all([evaluate("--json"), evaluate("--json", "--concurrency", "4")]);

  expect(JSON.parse(four.stdout)["ndcg@10"]).toBe(JSON.parse(one.stdout)["ndcg@10"]);
});
