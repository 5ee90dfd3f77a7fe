import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { CREDENTIALS } from "../../src/auth/principal.ts";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import { compile, sql } from "../../src/sql/sql.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type RcpServer, type RpcAnswer, startRcpServer } from "../support/rcp-server.ts";
import { expectAlive } from "../support/standing-assertions.ts";
import type { TokenClaims } from "../support/test-issuer.ts";

/**
 * No answer tells what another tenant holds: its bytes are the same whether it does or not, but for random names and times. Each
 * claim is made by two callers that are alike, one before a neighbour has the thing and one after.
 */

const RATE = 1_000;
let opened: TestDatabase;
let server: RcpServer;
let alive: string;
let pairs = 0;

beforeAll(async () => {
  opened = await openTestDatabase();
  server = await startRcpServer({
    config: {
      auth: { combinedTokens: true },
      sessions: { maxPerPrincipal: 3 },
      feedback: { maxSignalsPerTenant: 3 },
      rateLimit: { address: { max: 1_000_000 }, principal: { max: RATE, windowMs: 3_600_000 } },
      indexing: { chunkTokens: 16, overlapTokens: 0 },
    },
    handlers: HANDLERS,
    database: opened.database,
    corpora: new CachedCorpusStore(opened.database),
  });
  alive = await server.token({ tenant: "alive" });
});
afterAll(async () => {
  await server.close();
  await opened.close();
});
afterEach(() => expectAlive(server, alive));

interface Somebody {
  readonly tenant: string;
  readonly token: string;
  call(method: string, params?: object, options?: { session?: string; corpus?: string }): Promise<RpcAnswer>;
}

async function somebody(tenant: string, claims: TokenClaims = {}): Promise<Somebody> {
  const token = await server.token({ credentials: CREDENTIALS, ...claims, tenant });
  return {
    tenant,
    token,
    call: (method, params = {}, options = {}) => server.call(method, params, { token, ...options }),
  };
}

/** What may differ between two callers that are alike: random names and times. */
const plain = ({ status, text, headers }: RpcAnswer): unknown => [
  status,
  headers["ratelimit-remaining"],
  text
    .replace(/"(indexVersion|nextCursor|session|fetchedAt|addedAt)":"[^"]*"/g, '"$1":"…"')
    .replace(/"(latencyMs|retryAfterMs)":[\d.]+/g, '"$1":0'),
];

/** @returns the answers to the one alone and to the one with such a neighbour */
async function alike(
  neighbour: (b: Somebody) => Promise<unknown>,
  probe: (a: Somebody) => Promise<readonly RpcAnswer[]>,
): Promise<void> {
  const number = pairs++;
  const alone = (await probe(await somebody(`alone-${number}`))).map(plain);
  await neighbour(await somebody(`neighbour-${number}`));
  expect((await probe(await somebody(`beside-${number}`))).map(plain)).toEqual(alone);
}

/** One after the other: what is asked later may depend on what was asked before. */
async function inTurn(calls: readonly (() => Promise<RpcAnswer>)[]): Promise<RpcAnswer[]> {
  const answers: RpcAnswer[] = [];
  for (const call of calls) answers.push(await call());
  return answers;
}

const LONG = Array.from({ length: 30 }, (_, n) => `Sentence number ${n} speaks of amber and of stones.`).join(" ");
const many = (count: number, text: string) => Array.from({ length: count }, (_, n) => ({ id: `n${n}`, text }));
const add = (documents: readonly object[], more: object = {}) => ({ documents, ...more });

async function makeCorpus(tenant: string, corpus: string): Promise<void> {
  const run = (statement: ReturnType<typeof sql>) => opened.admin.query(compile(statement, (row) => row));
  await run(sql`insert into pgrcp.tenants (tenant_id) values (${tenant}) on conflict do nothing`);
  await run(sql`insert into pgrcp.corpora (tenant_id, corpus, language, model_identity, dimension, screening)
values (${tenant}, ${corpus}, 'none', 'test-bag-of-words@32', 32, 'flag')`);
}

describe("an answer is the same whether or not a neighbour", () => {
  test("has a document of that id", () =>
    alike(
      (b) => b.call("index/add", add([{ id: "x", text: "zircon" }])),
      (a) =>
        inTurn([
          () => a.call("index/delete", { ids: ["x"] }),
          () => a.call("feedback", { signals: [{ hitId: "x", relevant: true }] }),
          () => a.call("index/add", add([{ id: "x", text: "amber" }])),
          () => a.call("retrieve", { query: "zircon amber" }),
          () => a.call("index/add", add([{ id: "x", text: "amber again" }])),
          () => a.call("index/delete", { ids: ["x"] }),
        ]),
    ));

  test("has many chunks: numbers and versions are counted for each tenant", async () => {
    await alike(
      (b) => b.call("index/add", add(many(40, LONG))),
      (a) =>
        inTurn([
          () => a.call("index/add", add([{ id: "long", text: LONG }])),
          () => a.call("retrieve", { query: "amber stones", k: 100, mode: "dense" }),
          () => a.call("info"),
        ]),
    );
    const numbers = await opened.admin.query({
      text: "select distinct min(version) as first from pgrcp.corpus_versions where corpus = 'default' group by tenant_id",
      values: [],
      decode: (row) => Number(row.first),
    });
    expect(numbers).toHaveLength(1);
  });

  test.each(["dense", "sparse", "hybrid"])("has the words of a query in many documents: %s", (mode) =>
    alike(
      (b) => b.call("index/add", add(many(100, "amber amber zircon"))),
      (a) =>
        inTurn([
          () =>
            a.call(
              "index/add",
              add([
                { id: "one", text: "amber of mine" },
                { id: "two", text: "zircon and amber" },
              ]),
            ),
          () => a.call("retrieve", { query: "amber zircon", mode }),
        ]),
    ),
  );

  test("has a document that is asked for by its id", () =>
    alike(
      (b) => b.call("index/add", add([{ id: "theirs", text: "zircon" }])),
      (a) =>
        inTurn([
          () => a.call("x-pgrcp/document", { id: "theirs" }),
          () => a.call("index/add", add([{ id: "mine", text: "amber" }])),
          () => a.call("x-pgrcp/document", { id: "theirs#0", unit: "chunk" }),
          () => a.call("x-pgrcp/document", { id: "mine" }),
        ]),
    ));

  test("has used an idempotency key, for the same documents or for others", () => {
    const key = { _meta: { idempotencyKey: "key" } };
    return alike(
      (b) => b.call("index/add", add([{ id: "theirs", text: "zircon" }], key)),
      (a) =>
        inTurn([
          () => a.call("index/add", add([{ id: "mine", text: "amber" }], key)),
          () => a.call("index/add", add([{ id: "mine", text: "amber" }], key)),
          () => a.call("index/add", add([{ id: "theirs", text: "zircon" }], key)),
        ]),
    );
  });

  test("has been shown hits in a trajectory of that name", () =>
    alike(
      async (b) => {
        await b.call("index/add", add([{ id: "one", text: "amber" }]));
        await b.call("retrieve", { query: "amber", sessionId: "T" });
      },
      (a) =>
        inTurn([
          () => a.call("index/add", add([{ id: "one", text: "amber" }])),
          () => a.call("retrieve", { query: "amber", sessionId: "T" }),
          () => a.call("retrieve", { query: "amber", sessionId: "T" }),
        ]),
    ));

  test("has further corpora: in the list, in the capabilities and by path", () =>
    alike(
      async ({ tenant }) => {
        await makeCorpus(tenant, "default");
        await makeCorpus(tenant, "mergers");
      },
      (a) =>
        inTurn([
          () => a.call("catalog/list"),
          () => a.call("info"),
          () => a.call("retrieve", { query: "amber" }, { corpus: "mergers" }),
          () => a.call("index/add", add([{ text: "amber" }]), { corpus: "mergers" }),
        ]),
    ));

  test("has as many sessions, signals or requests as it may", () =>
    alike(
      async (b) => {
        for (let n = 0; n < 4; n++) await b.call("initialize", { protocolVersion: 1 });
        await b.call("feedback", { signals: Array.from({ length: 4 }, () => ({ hitId: "x", relevant: true })) });
        while ((await b.call("ping")).status === 200);
      },
      (a) =>
        inTurn([
          () => a.call("initialize", { protocolVersion: 1 }),
          () => a.call("feedback", { signals: [{ hitId: "x", relevant: true }] }),
          () => a.call("ping"),
        ]),
    ));
});

describe("what is another's and what nobody has are answered by the same bytes:", () => {
  /** A neighbour with everything, and somebody to ask for it. */
  async function both() {
    const number = pairs++;
    const [a, b] = [await somebody(`asks-${number}`), await somebody(`holds-${number}`)];
    const added = await b.call(
      "index/add",
      add([
        { id: "x", text: "zircon" },
        { id: "y", text: "zircon" },
      ]),
    );
    await a.call("index/add", add([{ id: "mine", text: "amber" }]));
    const page = await b.call("retrieve", { query: "zircon", k: 1 });
    const opening = await b.call("initialize", { protocolVersion: 1 });
    return {
      a,
      version: String(added.body?.result?._meta?.indexVersion),
      cursor: String(page.body?.result?.nextCursor),
      session: String(opening.body?.result?._meta?.session),
    };
  }
  /** The same kind of text, of nobody. */
  const madeUp = (text: string) => text.replace(/[a-z]/, (letter) => (letter === "a" ? "b" : "a"));
  async function expectSame(foreign: Promise<RpcAnswer>, unknown: Promise<RpcAnswer>, code: number): Promise<void> {
    const [first, second] = await Promise.all([foreign, unknown]);
    expect(first.body?.error?.code).toBe(code);
    expect([first.status, first.text]).toEqual([second.status, second.text]);
  }

  test("a version", async () => {
    const { a, version } = await both();
    const ask = (indexVersion: string) => a.call("retrieve", { query: "amber", indexVersion });
    await expectSame(ask(version), ask(madeUp(version)), -32010);
  });

  test("a cursor", async () => {
    const { a, cursor } = await both();
    const ask = (cursor: string) => a.call("retrieve", { query: "zircon", k: 1, cursor });
    await expectSame(ask(cursor), ask(madeUp(cursor)), -32602);
  });

  test("a session", async () => {
    const { a, session } = await both();
    const ask = (session: string) => a.call("retrieve", { query: "amber" }, { session });
    await expectSame(ask(session), ask(madeUp(session)), -32001);
  });
});
