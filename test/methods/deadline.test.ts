import { afterAll, beforeAll, expect, test } from "vitest";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";

/** Each row that a query looks at takes this long, and all of them four seconds. */
const SECONDS_PER_ROW = 0.04;
const ROWS = 100;

let opened: TestDatabase;
let server: RcpServer;
let token: string;
beforeAll(async () => {
  opened = await openTestDatabase();
  server = await startRcpServer({
    config: { auth: { combinedTokens: true } },
    handlers: HANDLERS,
    database: opened.database,
    corpora: new CachedCorpusStore(opened.database),
  });
  token = await server.token({ credentials: ["read", "add", "delete"] });
  const documents = Array.from({ length: ROWS }, (_, n) => ({ id: `d${n}`, text: `word number ${n}` }));
  await server.call("index/add", { documents }, { token });
  await server.call("retrieve", { query: "word" }, { token }); // everything is warm
  await opened.admin.transaction(async (transaction) => {
    await transaction.script(
      `create policy chunks_slow on pgrcp.chunks as restrictive for select to pgrcp_reader using (pg_sleep(${SECONDS_PER_ROW}) is not null)`,
    );
  });
});
afterAll(async () => {
  await server.close();
  await opened.close();
});

async function timed<Result>(work: Promise<Result>): Promise<[Result, number]> {
  const startedAt = performance.now();
  return [await work, performance.now() - startedAt];
}

test("a slow query is answered at its deadline, and ping meanwhile at once", async () => {
  let isAnswered = false;
  const slow = timed(
    server.call("retrieve", { query: "word", mode: "dense", _meta: { deadlineMs: 1_000 } }, { token }),
  ).finally(() => {
    isAnswered = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 30));
  const [pong, pingMs] = await timed(server.call("ping", { nonce: 1 }, { token }));
  expect(pong.body?.result).toEqual({ nonce: 1 });
  expect(isAnswered).toBe(false);
  const [answer, answeredAfter] = await slow;
  expect(answer.body?.error).toMatchObject({ code: -32014, data: { retryable: true } });
  console.log(
    `deadline of 1 s answered after ${answeredAfter.toFixed(0)} ms, ping meanwhile in ${pingMs.toFixed(0)} ms (${opened.kind})`,
  );
  expect(answeredAfter).toBeGreaterThanOrEqual(995);
  expect(answeredAfter).toBeLessThan(ROWS * SECONDS_PER_ROW * 1_000);
});

test("without a deadline of its own the same query would have run for seconds", async () => {
  const answer = await server.call(
    "retrieve",
    { query: "word", mode: "dense", _meta: { deadlineMs: 1_500 } },
    { token },
  );
  expect(answer.body?.error?.code).toBe(-32014);
});

test("the server answers as before once the slow rows are gone", async () => {
  await opened.admin.transaction((transaction) => transaction.script("drop policy chunks_slow on pgrcp.chunks"));
  const answer = await server.call("retrieve", { query: "word", mode: "dense", k: 3 }, { token });
  expect(answer.body?.result?.hits).toHaveLength(3);
});
