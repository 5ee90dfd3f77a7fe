import http from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import { loadEmbeddingModel } from "../../src/models/load-embedding-model.ts";
import { compile, sql } from "../../src/sql/sql.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";

/** Runs of each way to leave a call, and the share of them that is held to the promise: of few, one may fall to a busy machine. */
const [RUNS, SHARE] = process.env.PGRCP_TEST_FULL === undefined ? [5, 0.5] : [20, 0.95];
const LEFT_WITHIN_MS = 1_000;
const POOL = 4;
const DEADLINE_MS = 200;
/** Whose calls are left, and whose keep every connection busy meanwhile. */
const LEFT = "left";
const BUSY = "busy";
/** A query of either tenant takes this long for each of its rows, and holds a lock that says whose it is. */
const SECONDS_PER_ROW = 0.02;
const ROWS = { [LEFT]: 100, [BUSY]: 5 };

let opened: TestDatabase;
let server: RcpServer;
let token: string;
let busyToken: string;
let session: string;
beforeAll(async () => {
  opened = await openTestDatabase({ database: { poolSize: POOL, poolWaitMs: 10_000 } });
  server = await startRcpServer({
    config: { auth: { combinedTokens: true }, rateLimit: { enabled: false }, sessions: { maxPerPrincipal: 1_000 } },
    handlers: HANDLERS,
    database: opened.database,
    corpora: new CachedCorpusStore(opened.database),
  });
  const credentials = ["read", "add", "delete"] as const;
  token = await server.token({ tenant: LEFT, credentials });
  busyToken = await server.token({ tenant: BUSY, credentials });
  for (const [owner, rows] of [[token, ROWS[LEFT]] as const, [busyToken, ROWS[BUSY]] as const]) {
    const documents = Array.from({ length: rows }, (_, n) => ({ id: `d${n}`, text: `word number ${n}` }));
    await server.call("index/add", { documents }, { token: owner });
    await server.call("retrieve", { query: "word" }, { token: owner });
  }
  session = await server.initialize(token);
  await opened.admin.transaction((transaction) =>
    transaction.script(`
      create function public.slow_row(tenant text) returns boolean language plpgsql as $$
      begin
        perform pg_advisory_xact_lock_shared(7, hashtext(tenant));
        perform pg_sleep(${SECONDS_PER_ROW});
        return true;
      end $$;
      grant usage on schema public to pgrcp_reader;
      grant execute on function public.slow_row(text) to pgrcp_reader;
      create policy chunks_slow on pgrcp.chunks as restrictive for select to pgrcp_reader using (public.slow_row(tenant_id))`),
  );
}, 60_000);
afterAll(async () => {
  await server.close();
  await opened.close();
});

const QUERY = { query: "word", mode: "dense", k: 3 };

/** Backends that run a query of a tenant now. Only Postgres can be asked while it works. */
async function running(tenant: string): Promise<number> {
  const statement = compile(
    sql`select count(*) as count from pg_locks where locktype = 'advisory' and classid = 7 and objid = (hashtext(${tenant})::bigint & 4294967295)::oid
and database = (select oid from pg_database where datname = current_database())`,
    (row) => row.count as number,
  );
  return (await opened.admin.query(statement))[0] ?? 0;
}

async function until(isTrue: () => Promise<boolean>, limitMs: number): Promise<number> {
  const startedAt = performance.now();
  while (!(await isTrue())) {
    if (performance.now() - startedAt > limitMs) return Number.POSITIVE_INFINITY;
    await sleep(5);
  }
  return performance.now() - startedAt;
}

interface Left {
  /** What the caller was answered; undefined when it hung up. */
  readonly code: number | undefined;
  /** From the moment of leaving until no backend worked on it. */
  readonly idleAfterMs: number;
}

let nextId = 0;
const WAYS = {
  async cancel(): Promise<Left> {
    const id = ++nextId;
    const call = server.call("retrieve", QUERY, { token, session, id });
    expect(await until(async () => (await running(LEFT)) > 0, 20_000)).toBeLessThan(20_000);
    const body = JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancel", params: { id } });
    const cancel = server.post("/rcp/notifications/cancel", body, { token, session });
    const idleAfterMs = await until(async () => (await running(LEFT)) === 0, 5_000);
    await cancel;
    return { code: (await call).body?.error?.code, idleAfterMs };
  },
  async disconnect(): Promise<Left> {
    const leaving = http.request(`${server.url}/rcp/retrieve`, {
      method: "POST",
      agent: false,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    });
    leaving.on("error", () => {});
    leaving.end(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "retrieve", params: QUERY }));
    expect(await until(async () => (await running(LEFT)) > 0, 20_000)).toBeLessThan(20_000);
    leaving.destroy();
    return { code: undefined, idleAfterMs: await until(async () => (await running(LEFT)) === 0, 5_000) };
  },
  async deadline(): Promise<Left> {
    const endsAt = performance.now() + DEADLINE_MS;
    const answer = await server.call("retrieve", { ...QUERY, _meta: { deadlineMs: DEADLINE_MS } }, { token });
    await until(async () => (await running(LEFT)) === 0, 5_000);
    return { code: answer.body?.error?.code, idleAfterMs: performance.now() - endsAt };
  },
} as const;
const CODES = { cancel: -32006, disconnect: undefined, deadline: -32014 } as const;

const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(share * values.length) - 1] ?? Number.NaN;

// The embedded database has no backends to look at, and cannot stop a query.
describe.runIf(process.env.PGRCP_TEST_DATABASE_URL !== undefined)("a call that is left, on Postgres", () => {
  describe.each(["cancel", "disconnect", "deadline"] as const)("by %s", (way) => {
    test.each([0, 50])(
      "leaves its backend idle within a second, beside %d requests",
      async (others) => {
        const done = new AbortController();
        const answers: unknown[] = [];
        const busy = Array.from({ length: others }, async () => {
          while (!done.signal.aborted) {
            const { body } = await server.call("retrieve", QUERY, { token: busyToken });
            answers.push(body?.result?.hits);
          }
        });
        if (others > 0) expect(await until(async () => (await running(BUSY)) === POOL, 20_000)).toBeLessThan(20_000);

        const times: number[] = [];
        for (let run = 0; run < RUNS; run += 1) {
          const { code, idleAfterMs } = await WAYS[way]();
          expect(code).toBe(CODES[way]);
          times.push(idleAfterMs);
        }
        done.abort();
        await Promise.all(busy);

        console.info(
          `${way} beside ${others}: idle after ${percentile(times, 0.5).toFixed(0)} ms (median), ` +
            `${percentile(times, 0.95).toFixed(0)} ms (p95) of ${RUNS} runs`,
        );
        expect(percentile(times, SHARE)).toBeLessThan(LEFT_WITHIN_MS);
        for (const hits of answers) expect(hits).toHaveLength(3);
      },
      120_000,
    );

    test("does not trouble the next 100 callers", async () => {
      await Promise.all(Array.from({ length: POOL }, () => WAYS.deadline()));
      const before = (await running(LEFT)) + (await running(BUSY));
      expect(before).toBe(0);
      const turns = Array.from({ length: 100 }).values();
      const found: unknown[] = [];
      const caller = async () => {
        for (const _turn of turns) {
          const { body } = await server.call("retrieve", QUERY, { token: busyToken });
          found.push(body?.result?.hits);
        }
      };
      await Promise.all(Array.from({ length: 2 * POOL }, caller));
      expect(found).toHaveLength(100);
      for (const hits of found) expect(hits).toHaveLength(3);
    }, 60_000);
  });
});

describe("a call that waits for a model", () => {
  let model: http.Server;
  let asked = Promise.withResolvers<void>();
  let hungUp = Promise.withResolvers<void>();
  let waiting: RcpServer;
  beforeAll(async () => {
    model = http.createServer((request, response) => {
      asked.resolve();
      response.on("close", () => hungUp.resolve());
      request.resume();
    });
    await new Promise<void>((resolve) => model.listen(0, "127.0.0.1", resolve));
    const { port } = model.address() as AddressInfo;
    const embedding = await loadEmbeddingModel(
      {
        provider: "openai",
        url: `http://127.0.0.1:${port}/v1`,
        model: "test-bag-of-words",
        dimension: 32,
        maxTokens: 256,
        batch: 8,
        concurrency: 2,
        timeoutMs: 30_000,
        retries: 2,
        queryPrefix: "",
        documentPrefix: "",
        repeatable: true,
      },
      () => {},
    );
    waiting = await startRcpServer({
      config: { rateLimit: { enabled: false } },
      handlers: {
        ...HANDLERS,
        async retrieve(_params, call) {
          await embedding.embed(["word"], "query", call.signal);
          return { hits: [] };
        },
      },
      database: opened.database,
    });
  });
  afterAll(async () => {
    await waiting.close();
    model.closeAllConnections();
    await new Promise((resolve) => model.close(resolve));
  });

  test.each(["cancel", "deadline"] as const)("hangs up on it at its %s", async (way) => {
    asked = Promise.withResolvers();
    hungUp = Promise.withResolvers();
    const reader = await waiting.token();
    const own = await waiting.initialize(reader);
    const meta = way === "deadline" ? { _meta: { deadlineMs: 1_000 } } : {};
    const call = waiting.call("retrieve", { query: "word", ...meta }, { token: reader, session: own, id: "slow" });
    await asked.promise;
    const leftAt = performance.now();
    if (way === "cancel") {
      const body = JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancel", params: { id: "slow" } });
      await waiting.post("/rcp/notifications/cancel", body, { token: reader, session: own });
    }
    await hungUp.promise;

    expect(performance.now() - leftAt).toBeLessThan(10_000); // and not after the 30 s that a model may take
    expect((await call).body?.error?.code).toBe(CODES[way]);
  });
});
