import { readFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { CREDENTIALS } from "../../src/auth/principal.ts";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import type { Handler } from "../../src/methods/handler.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import { compile, noRows, sql } from "../../src/sql/sql.ts";
import { countEntries } from "../support/count-entries.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type RcpServer, type RpcAnswer, startRcpServer } from "../support/rcp-server.ts";
import { expectAlive, expectStanding } from "../support/standing-assertions.ts";
import type { TokenClaims } from "../support/test-issuer.ts";
import { expectValidError } from "../support/validate-response.ts";

interface Entry {
  readonly id: string;
  readonly tag: string;
  readonly desc: string;
  readonly expect: {
    readonly code?: number;
    readonly http?: number;
    readonly responseId?: null;
    readonly hits?: number;
    readonly deleted?: number;
    readonly capabilities?: object;
  };
}

const file = new URL("data/authz.json", import.meta.url);
const entries: readonly Entry[] = JSON.parse(readFileSync(file, "utf8")).entries;
const scenarios = entries.filter(({ tag }) => tag !== "matrix");

/** An entry of a method that is not advertised is refused as such, and whose memory it is does not matter. */
const UNADVERTISED: Readonly<Record<string, number>> = { "AZ-097": -32003 };

/** Units that a principal has for a window that outlasts the test. */
const UNITS = 20;
const SESSIONS = 30;

let database: TestDatabase;
let server: RcpServer;
let rated: RcpServer;
/** The next retrieve waits for this. */
let gate: Promise<void> = Promise.resolve();
let atGate: () => void = () => {};
beforeAll(async () => {
  database = await openTestDatabase();
  const retrieve: Handler = async (...call) => {
    atGate();
    await gate;
    return HANDLERS.retrieve(...call);
  };
  server = await startRcpServer({
    config: {
      auth: { combinedTokens: true },
      sessions: { mode: "required", maxPerPrincipal: SESSIONS },
      rateLimit: { enabled: false },
    },
    handlers: { ...HANDLERS, retrieve },
    database: database.database,
    corpora: new CachedCorpusStore(database.database),
  });
  rated = await startRcpServer({
    config: {
      rateLimit: { address: { max: 100_000 }, principal: { max: UNITS, windowMs: 3_600_000 } },
      // The addresses that are rotated are believed, so it is the principal's bucket that holds.
      server: { trustedProxies: ["127.0.0.1"] },
    },
    database: database.database,
  });
});
afterAll(async () => {
  await Promise.all([server.close(), rated.close()]);
  await database.close();
});

afterEach(async () => expectAlive(server, await server.token()));
countEntries("authz.json, the scenarios", scenarios);

const QUERY = { query: "amber", k: 1 };
const A = { tenant: "acme" } as const;
const B = { tenant: "globex" } as const;

/** Somebody with a token and a session of their own. */
async function caller(claims: TokenClaims) {
  const token = await server.token({ credentials: CREDENTIALS, ...claims });
  const session = await server.initialize(token);
  return {
    token,
    session,
    call: (method: string, params: object, id = 1) => server.call(method, params, { token, session, id }),
    with: (stolen: string, method = "retrieve", params: object = QUERY) =>
      server.call(method, params, { token, session: stolen }),
  };
}

const JSON_TYPE = ["content-type", "application/json"] as const;
const withoutToken = (path: string, message: unknown) =>
  server.send({ path, headers: [JSON_TYPE], body: JSON.stringify(message) });
const ping = (id: number) => ({ jsonrpc: "2.0", id, method: "ping", params: {} });

/** Documents of A and B; each is found by its own words. */
async function bothWrite() {
  const [a, b] = [await caller(A), await caller(B)];
  await a.call("index/add", { documents: [{ id: "mine", text: "amber of acme" }] });
  const added = await b.call("index/add", { documents: [{ id: "X", text: "zircon known to globex alone" }] });
  return { a, b, versionOfB: String(added.body?.result?._meta?.indexVersion) };
}

const hitsOf = ({ body }: RpcAnswer): readonly { readonly id: string }[] =>
  (body?.result?.hits ?? []) as readonly { readonly id: string }[];

/** What each scenario's steps end with; what its `expect` says in prose is asserted here. */
const STEPS: Readonly<Record<string, () => Promise<RpcAnswer>>> = {
  "AZ-066": async () =>
    server.call("index/add", { documents: [] }, { token: await server.token({ credentials: ["read"] }) }),
  "AZ-067": () => withoutToken("/rcp/no/such", { ...ping(1), method: "no/such" }),
  "AZ-068": () => withoutToken("/rcp/embed", { ...ping(1), method: "embed" }),
  "AZ-070": () => withoutToken("/rcp/ping", { jsonrpc: "2.0", method: "ping" }),
  "AZ-071": () => withoutToken("/rcp", [ping(1), ping(2)]),
  "AZ-073": async () =>
    server.call("initialize", { protocolVersion: 1 }, { token: await server.token({ credentials: CREDENTIALS }) }),
  "AZ-076": async () => {
    const [a, b] = [await caller(A), await caller(B)];
    const stolen = await b.with(a.session);
    expect(stolen.text).toBe((await b.with("A".repeat(43))).text);
    return stolen;
  },
  "AZ-077": async () => {
    const [u1, u2] = [await caller({ ...A, subject: "u1" }), await caller({ ...A, subject: "u2" })];
    return u2.with(u1.session);
  },
  "AZ-079": async () => {
    const { a } = await bothWrite();
    const sameUser = await caller(B);
    const answer = await sameUser.with(a.session);
    expect(answer.text).not.toMatch(/acme|amber|mine/);
    return answer;
  },
  "AZ-081": async () => {
    const { session } = await caller(A);
    const expired = await server.token({ ...A, credentials: CREDENTIALS, expiresIn: -120 });
    return server.call("retrieve", QUERY, { token: expired, session });
  },
  "AZ-084": async () => {
    const [one, two] = [await caller(A), await caller(A)];
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "retrieve", params: QUERY });
    const sessions = [one.session, two.session].map((session) => ["rcp-session", session] as const);
    const headers = [JSON_TYPE, ["authorization", `Bearer ${one.token}`] as const, ...sessions];
    return server.send({ path: "/rcp/retrieve", headers, body });
  },
  "AZ-086": async () => {
    const a = await caller(A);
    expect((await a.call("shutdown", {})).body?.result).toEqual({});
    const after = await a.call("retrieve", QUERY);
    expect((await server.call("ping", { nonce: 1 }, { token: a.token })).body?.result).toEqual({ nonce: 1 });
    return after;
  },
  "AZ-087": async () => {
    const [a, b] = [await caller(A), await caller(B)];
    expect((await b.with(a.session, "shutdown", {})).body?.result).toEqual({});
    return a.call("retrieve", QUERY);
  },
  "AZ-088": async () => {
    const idle = await caller({ tenant: "idle" });
    expect((await idle.call("retrieve", QUERY)).body?.result).toBeTypeOf("object");
    await database.operator.write((transaction) =>
      transaction.query(
        compile(sql`update pgrcp_state.sessions set expires_at = now() where tenant_id = 'idle'`, noRows),
      ),
    );
    return idle.call("retrieve", QUERY);
  },
  "AZ-089": async () => {
    const token = await server.token({ ...A, subject: "flood" });
    const open = () => server.call("initialize", { protocolVersion: 1 }, { token });
    const answers = await Promise.all(Array.from({ length: 2 * SESSIONS }, open));
    expect(answers.filter(({ body }) => body?.result !== undefined)).toHaveLength(SESSIONS);
    expect((await caller({ ...A, subject: "calm" })).session).toMatch(/^[\w-]{43}$/);
    return open();
  },
  "AZ-090": async () => {
    const { a, b } = await bothWrite();
    const answer = await a.call("index/delete", { ids: ["X"] });
    expect(hitsOf(await b.call("retrieve", { ...QUERY, query: "zircon" }))).toMatchObject([{ id: "X" }]);
    return answer;
  },
  "AZ-092": async () => {
    const { a } = await bothWrite();
    return a.call("retrieve", { query: "zircon known to globex alone", mode: "sparse" });
  },
  "AZ-093": async () => {
    const { a, b } = await bothWrite();
    await b.call("index/add", { documents: [{ id: "Y", text: "zircon, too" }] });
    const page = await b.call("retrieve", { query: "zircon", k: 1 });
    const cursor = String(page.body?.result?.nextCursor);
    const stolen = await a.call("retrieve", { query: "zircon", k: 1, cursor });
    const madeUp = cursor.replace(/^./, (first) => (first === "A" ? "B" : "A"));
    expect(stolen.text).toBe((await a.call("retrieve", { query: "zircon", k: 1, cursor: madeUp })).text);
    expect(hitsOf(await b.call("retrieve", { query: "zircon", k: 1, cursor }))).toHaveLength(1);
    return stolen;
  },
  "AZ-094": async () => {
    const { a, versionOfB } = await bothWrite();
    const answer = await a.call("retrieve", { ...QUERY, indexVersion: versionOfB });
    expect(answer.text).toBe((await a.call("retrieve", { ...QUERY, indexVersion: "no such version" })).text);
    return answer;
  },
  "AZ-097": async () => {
    const [a, b] = [await caller(A), await caller(B)];
    const built = await b.call("memory/build", { episodes: [{ text: "amber" }] });
    expect(built.body?.error?.code).toBe(-32003);
    const foreign = await a.call("memory/recall", { memoryId: "M", query: "amber" });
    expect(foreign.text).toBe((await a.call("memory/recall", { memoryId: "at random", query: "amber" })).text);
    return foreign;
  },
  "AZ-098": async () => {
    const { a, b } = await bothWrite();
    await b.call("retrieve", { ...QUERY, sessionId: "T" });
    const answer = await a.call("retrieve", { ...QUERY, sessionId: "T" });
    expect(hitsOf(answer)).toMatchObject([{ id: "mine" }]);
    return answer;
  },
  "AZ-099": async () => {
    const { a, b } = await bothWrite();
    const answersOfB = async () => hitsOf(await b.call("retrieve", { query: "zircon", k: 5 }));
    const before = await answersOfB();
    const about = (hitId: string) => a.call("feedback", { signals: [{ hitId, poisonSuspected: true }] });
    const answer = await about("X");
    expect(answer.body?.result).toEqual({ accepted: 1 });
    expect(answer.text).toBe((await about("an id of nobody")).text);
    expect(await answersOfB()).toEqual(before);
    return answer;
  },
  "AZ-102": async () => {
    const { a, b } = await bothWrite();
    const stream = (who: typeof a, query: string) =>
      server.send({
        path: "/rcp/retrieve",
        headers: [
          ["authorization", `Bearer ${who.token}`],
          ["rcp-session", who.session],
          ["accept", "text/event-stream"],
          JSON_TYPE,
        ],
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: 1,
          method: "retrieve",
          params: { query, k: 5, _meta: { progressToken: 1 } },
        }),
      });
    const [ofA, ofB] = await Promise.all([stream(a, "amber"), stream(b, "zircon")]);
    for (const { text } of [ofA, ofB]) expect(text).toMatch(/"progressToken":1,.*"partial":\{"hits":\[\{/);
    expect(ofA.text).toContain('"mine"');
    expect(ofA.text).not.toMatch(/zircon|globex/);
    expect(ofB.text).toContain('"X"');
    expect(ofB.text).not.toMatch(/amber|acme/);
    return ofA;
  },
  "AZ-103": async () => {
    const { a } = await bothWrite();
    const answer = await a.call("catalog/list", {});
    expect(answer.body?.result?.engines).toMatchObject([{ id: "default" }]);
    expect(answer.text).not.toMatch(/globex|endpoint|127\.0\.0\.1|localhost/);
    return answer;
  },
  "AZ-100": async () => {
    const { a, b } = await bothWrite();
    const arrived = new Promise<void>((resolve) => {
      atGate = resolve;
    });
    const { promise, resolve: openGate } = Promise.withResolvers<void>();
    gate = promise;
    const running = a.call("retrieve", QUERY, 7);
    await arrived;
    const cancel = { jsonrpc: "2.0", method: "notifications/cancel", params: { id: 7 } };
    for (const session of [b.session, a.session]) {
      const options = { token: b.token, session };
      const answer = await server.post("/rcp/notifications/cancel", JSON.stringify(cancel), options);
      expect(answer.status).toBe(204);
    }
    openGate();
    const answer = await running;
    expect(answer.body).toMatchObject({ id: 7, result: { hits: [{ id: "mine" }] } });
    return answer;
  },
  "AZ-104": async () => {
    const token = await rated.token({ subject: "rotates addresses" });
    return spend((n) => ({ token, address: `192.0.2.${n}` }));
  },
  "AZ-105": async () => {
    const tokens = await Promise.all(
      Array.from({ length: UNITS + 1 }, () => rated.token({ subject: "rotates tokens" })),
    );
    expect(new Set(tokens).size).toBe(UNITS + 1);
    return spend((n) => ({ token: tokens[n] ?? "", address: "192.0.2.1" }));
  },
  "AZ-107": async () => {
    const token = await rated.token({ subject: "batches" });
    for (let n = 0; n < UNITS - 10; n++) await rated.call("ping", {}, { token });
    const batch = JSON.stringify(Array.from({ length: 100 }, (_, id) => ping(id)));
    const answer = await rated.post("/rcp", batch, { token });
    const members = JSON.parse(answer.text) as readonly NonNullable<RpcAnswer["body"]>[];
    expect(members.map(({ id }) => id)).toEqual(Array.from({ length: 100 }, (_, id) => id));
    for (const member of members.slice(0, 10)) expect(member.result).toEqual({});
    for (const { error } of members.slice(10))
      expect(error).toMatchObject({ code: -32011, data: { retryable: true, retryAfterMs: expect.any(Number) } });
    return answer;
  },
};

/** As many requests as there are units, which are answered, and one more. */
async function spend(who: (n: number) => { readonly token: string; readonly address: string }): Promise<RpcAnswer> {
  const one = (n: number) => {
    const { token, address } = who(n);
    const headers = [JSON_TYPE, ["authorization", `Bearer ${token}`], ["x-forwarded-for", address]] as const;
    return rated.send({ path: "/rcp/ping", headers, body: JSON.stringify(ping(n)) });
  };
  for (let n = 0; n < UNITS; n++) expect((await one(n)).status).toBe(200);
  const last = await one(UNITS);
  expect(last.status).toBe(429);
  return last;
}

describe("the shared scenarios of authorisation, over HTTP", () => {
  test("are 28, and each is run", () => {
    expect(Object.keys(STEPS).sort()).toEqual(scenarios.map(({ id }) => id).sort());
    expect(scenarios).toHaveLength(28);
  });

  test.each(scenarios.map((entry) => [entry.id, entry.desc, entry] as const))(
    "%s %s",
    async (id, _desc, { expect: expected }) => {
      const answer = await (STEPS[id] ?? expect.fail)();

      expectStanding(answer.text);
      const code = UNADVERTISED[id] ?? expected.code;
      if (code !== undefined) expect(answer.body?.error?.code ?? 0).toBe(code);
      if (answer.body?.error !== undefined) expectValidError(answer.body);
      if (expected.http !== undefined) expect(answer.status).toBe(expected.http);
      if (expected.responseId === null) expect(answer.body?.id).toBeNull();
      if (expected.hits !== undefined) expect(hitsOf(answer)).toHaveLength(expected.hits);
      if (expected.deleted !== undefined) expect(answer.body?.result?.deleted).toBe(expected.deleted);
      if (expected.capabilities !== undefined)
        expect(answer.body?.result?.capabilities).toMatchObject(expected.capabilities);
    },
  );
});
