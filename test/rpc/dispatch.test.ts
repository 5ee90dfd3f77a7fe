import { describe, expect, test } from "vitest";
import type { Credential, Principal } from "../../src/auth/principal.ts";
import type { TenantId } from "../../src/catalog/corpus.ts";
import { configSchema } from "../../src/config/config.ts";
import { CursorKeys } from "../../src/db/cursor-keys.ts";
import type { Refusal } from "../../src/db/refusal-log.ts";
import { DatabaseSessionStore } from "../../src/db/session-store.ts";
import { advertisedBy } from "../../src/methods/capabilities.ts";
import type { Call, Handler, Services } from "../../src/methods/handler.ts";
import { offerOf } from "../../src/methods/offer.ts";
import type { Observation } from "../../src/observability/observation.ts";
import { backendUnavailable, cancelled, invalidParams, timeout, unauthorized } from "../../src/protocol/errors.ts";
import type { MethodName } from "../../src/protocol/methods.ts";
import { createDispatcher } from "../../src/rpc/dispatch.ts";
import type { RpcRequest } from "../../src/rpc/request.ts";
import { parseRequestPath } from "../../src/rpc/request-path.ts";
import { createSessions } from "../../src/rpc/session.ts";
import { NO_CORPORA, NO_DATABASE } from "../support/no-database.ts";
import { PLAN_ONLY_HANDLERS } from "../support/plan-only-handlers.ts";
import { NO_HANDLERS, type Response } from "../support/rcp-server.ts";
import { testEmbeddingModel } from "../support/test-embedding.ts";

type Message = Readonly<Record<string, unknown>>;

/** A dispatcher without a transport, whose sessions reach no database. */
function dispatcherWith(own: Partial<Record<MethodName, Handler>>, settings: Message = {}) {
  const config = configSchema.parse(settings);
  const observations: Observation[] = [];
  const services: Services = {
    config,
    offer: offerOf(config),
    database: NO_DATABASE,
    corpora: NO_CORPORA,
    embedding: testEmbeddingModel(),
    cursorKeys: new CursorKeys(NO_DATABASE),
    reranker: undefined,
    generator: undefined,
    fetcher: undefined,
    classifier: undefined,
    observe: (observation) => void observations.push(observation),
  };
  const sessions = createSessions(new DatabaseSessionStore(NO_DATABASE, config.sessions), advertisedBy(services));
  const handlers = { ...NO_HANDLERS, ...PLAN_ONLY_HANDLERS, ...own };
  const refused: Refusal[] = [];
  const refusals = { add: (refusal: Refusal) => void refused.push(refusal) };
  const dispatcher = createDispatcher({ services, handlers, sessions, refusals });

  const send = async (body: unknown, request: Partial<RpcRequest> = {}) => {
    const base = Array.isArray(body) ? "/rcp" : `/rcp/${(body as Message).method}`;
    const path = parseRequestPath(base);
    if (path === undefined) throw new Error("a test sends to a base");
    const reply = await dispatcher.dispatch({
      body: Buffer.from(JSON.stringify(body)),
      path,
      principal: reader,
      sessionTokens: [],
      signal: new AbortController().signal,
      takeUnit: async () => undefined,
      notify: undefined,
      ...request,
    });
    return reply.kind === "silent" ? undefined : (JSON.parse(reply.text) as Response & Response[]);
  };
  const requests = () => observations.filter((one) => one.kind === "request");
  return { send, observations, requests, refused };
}

const principalWith = (...credentials: Credential[]): Principal => ({
  issuer: "https://issuer.test",
  subject: "alice",
  client: "agent",
  tenantId: "acme" as TenantId,
  credentials: new Set(credentials),
  tokenId: undefined,
  expiresAt: 0,
  source: "api",
  corpora: "all",
  trustCeiling: "untrusted",
});
const reader = principalWith("read");

const call = (id: number, method: string, params?: unknown): Message => ({ jsonrpc: "2.0", id, method, params });

test("a call that fails, too, leaves its place to the next of its tenant", async () => {
  const failing: Handler = async () => {
    throw invalidParams({ field: "query", detail: "no" });
  };
  const load = { reads: { running: 1, waiting: 1 } };
  const { send } = dispatcherWith({ retrieve: failing }, { load });
  const question = call(1, "retrieve", { query: "apple" });
  for (let i = 0; i < 3; i++) expect((await send(question))?.error?.code).toBe(-32602);
});

const stuck: Handler = () => new Promise<never>(() => {});
/** A timer may fire a little early. */
const TIMER_SLACK = 5;
/** What a busy machine may add to a wait, well under the 30 s of a server that does not keep deadlines. */
const MUCH_LATER = 6_000;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe("a call's deadline", () => {
  test("is kept though the handler is stuck, and is the server's when the caller has none", async () => {
    const { send, requests } = dispatcherWith({ retrieve: stuck }, { server: { requestTimeoutMs: 80 } });

    for (const [params, limitMs] of [
      [{ _meta: { deadlineMs: 30 } }, 30],
      [{ _meta: { deadlineMs: 1e308 } }, 80],
      [{ _meta: { deadlineMs: "soon" } }, 80],
      [{}, 80],
    ] as const) {
      const startedAt = performance.now();
      const answer = await send(call(1, "retrieve", params));
      const tookMs = performance.now() - startedAt;
      expect(answer).toMatchObject({ id: 1, error: { code: -32014, data: { retryable: true } } });
      expect(tookMs).toBeGreaterThanOrEqual(limitMs - TIMER_SLACK);
      expect(tookMs).toBeLessThan(limitMs + MUCH_LATER);
    }
    expect(requests()).toHaveLength(4);
  });

  test("drops a result that comes late: one answer, one line in the log", async () => {
    const late: Handler = async () => {
      await pause(60);
      return { hits: [] };
    };
    const { send, requests } = dispatcherWith({ retrieve: late });

    const answer = await send(call(1, "retrieve", { _meta: { deadlineMs: 20 } }));
    await pause(80);

    expect(answer).toMatchObject({ error: { code: -32014 } });
    expect(requests()).toMatchObject([{ method: "retrieve", code: -32014 }]);
  });

  test("of 0 or less is -32014, but only after scope and capability", async () => {
    const { send } = dispatcherWith({});
    const past = { query: "x", _meta: { deadlineMs: 0 } };
    expect(await send(call(1, "retrieve", past))).toMatchObject({ error: { code: -32014 } });
    expect(await send(call(1, "embed", past))).toMatchObject({ error: { code: -32003 } });
    expect(await send(call(1, "index/add", past))).toMatchObject({ error: { code: -32012 } });
    expect(await send(call(1, "retrieve", { _meta: { deadlineMs: -5 } }))).toMatchObject({ error: { code: -32014 } });
  });

  test("counts from the arrival of the body for every member of a batch", async () => {
    const { send } = dispatcherWith({ retrieve: stuck }, { server: { requestTimeoutMs: 500 } });
    const ids = Array.from({ length: 100 }, (_, id) => id);
    const startedAt = performance.now();

    const answers = await send(ids.map((id) => call(id, "retrieve")));

    // Four at a time, each with 500 ms of its own, would take 12.5 s.
    expect(performance.now() - startedAt).toBeLessThan(500 + MUCH_LATER);
    expect(answers?.map((one) => [one.id, one.error?.code])).toEqual(ids.map((id) => [id, -32014]));
  });

  test("reaches the handler as a signal whose reason is the answer, and as time left", async () => {
    let seen: Call | undefined;
    const watching: Handler = async (_params, given) => {
      seen = given;
      return stuck({}, given, {} as Services);
    };
    const { send } = dispatcherWith({ retrieve: watching });

    await send(call(1, "retrieve", { _meta: { deadlineMs: 30 } }));

    expect(seen?.signal.reason).toMatchObject({ code: -32014 });
    await pause(TIMER_SLACK);
    expect(seen?.remainingMs()).toBe(1);
    expect(seen).toMatchObject({ corpus: "default", principal: reader });
  });
});

describe("a caller who is gone", () => {
  test("stops the handler with -32006", async () => {
    const gone = new AbortController();
    let reason: unknown;
    const watching: Handler = (_params, { signal }) =>
      new Promise(() => signal.addEventListener("abort", () => (reason = signal.reason)));
    const { send } = dispatcherWith({ retrieve: watching });

    const answer = send(call(1, "retrieve"), { signal: gone.signal });
    await pause(10);
    gone.abort(cancelled());

    expect(await answer).toMatchObject({ error: { code: -32006 } });
    expect(reason).toMatchObject({ code: -32006 });
  });
});

describe("every request is answered exactly once", () => {
  test("a bug is -32603 with a constant text; the log has the error", async () => {
    const bug = new Error("password=hunter2 at row 7");
    const { send, observations } = dispatcherWith({
      retrieve: async () => {
        throw bug;
      },
    });

    const answer = await send(call(7, "retrieve", { query: "x" }));

    expect(answer).toEqual({
      jsonrpc: "2.0",
      id: 7,
      error: { code: -32603, message: "The server failed to answer; the failure is in its log" },
    });
    expect(observations).toContainEqual({ kind: "internal-error", where: "retrieve", error: bug });
  });

  test("a backend out of reach is answered by its kind; the log has the reason behind it", async () => {
    const cause = new Error("connect ECONNREFUSED 10.0.0.7:5432");
    const error = backendUnavailable({ retryable: true, detail: "the database is out of reach" }, { cause });
    const { send, observations } = dispatcherWith({ retrieve: () => Promise.reject(error) });

    const answer = await send(call(7, "retrieve", { query: "x" }));

    const detail = "the database is out of reach";
    expect(answer).toMatchObject({ error: { code: -32010, data: { retryable: true, detail } } });
    expect(JSON.stringify(answer)).not.toContain("10.0.0.7");
    expect(observations).toContainEqual({ kind: "backend-failed", where: "retrieve", code: -32010, detail, error });
  });

  test("the log tells of -32010 without a reason behind it, of a reason behind another answer, and of no caller's mistake", async () => {
    const reasons = async (error: Error) => {
      const { send, observations } = dispatcherWith({ retrieve: () => Promise.reject(error) });
      await send(call(7, "retrieve", { query: "x" }));
      return observations.flatMap((one) => (one.kind === "backend-failed" ? [one.code] : []));
    };

    expect(await reasons(backendUnavailable({ retryable: true, detail: "every connection is in use" }))).toEqual([
      -32010,
    ]);
    expect(await reasons(Object.assign(timeout(), { cause: new Error("57014") }))).toEqual([-32014]);
    expect(await reasons(timeout())).toEqual([]);
    expect(await reasons(invalidParams({ field: "k", detail: "must be at least 1" }))).toEqual([]);
  });

  test("a result that is no JSON fails its own member of a batch only", async () => {
    const { send } = dispatcherWith({ retrieve: async () => ({ hits: 1n }) });
    const answers = await send([call(1, "ping"), call(2, "retrieve", { query: "x" }), call(3, "ping")]);
    expect(answers).toMatchObject([
      { id: 1, result: {} },
      { id: 2, error: { code: -32603 } },
      { id: 3, result: {} },
    ]);
  });

  test("through a door without sessions needs none, even where sessions.mode is required", async () => {
    const { send } = dispatcherWith({}, { sessions: { mode: "required" } });
    expect(await send(call(1, "retrieve", { query: "x" }))).toMatchObject({ error: { code: -32001 } });
    expect(await send(call(2, "retrieve", { query: "x" }), { sessionTokens: undefined })).toMatchObject({ result: {} });
  });

  test("a call that its door refuses does not run, and is answered and recorded like any other", async () => {
    let ran = 0;
    const { send, requests, refused } = dispatcherWith({ ping: async () => ({ ran: ++ran }) });

    const answer = await send(call(1, "ping"), { refusal: unauthorized("not through this door") });

    expect(answer).toMatchObject({ id: 1, error: { code: -32012, data: { detail: "not through this door" } } });
    expect([ran, requests()]).toMatchObject([0, [{ method: "ping", code: -32012 }]]);
    expect(refused).toMatchObject([{ tenantId: "acme", method: "ping", detail: "not through this door" }]);
  });

  test("a bug on the way to the handler is answered like one in it", async () => {
    const { send } = dispatcherWith({});
    const answer = await send(call(1, "retrieve", { query: "x" }), { sessionTokens: ["A".repeat(43)] });
    expect(answer).toMatchObject({ id: 1, error: { code: -32603 } });
  });

  test("members of a batch keep their order, four at a time, each once", async () => {
    let running = 0;
    let most = 0;
    const handled: unknown[] = [];
    const slow: Handler = async ({ nonce }) => {
      most = Math.max(most, ++running);
      handled.push(nonce);
      await pause(5);
      running--;
      return { nonce };
    };
    const { send } = dispatcherWith({ ping: slow });
    const ids = Array.from({ length: 30 }, (_, id) => id);

    const answers = await send(ids.map((id) => call(id, "ping", { nonce: id })));

    expect(answers?.map((one) => [one.id, one.result])).toEqual(ids.map((id) => [id, { nonce: id }]));
    expect(handled).toEqual(ids);
    expect(most).toBe(4);
  });

  test("a notification is never run and never answered", async () => {
    let runs = 0;
    const counting: Handler = async () => ({ deleted: ++runs });
    const { send, observations } = dispatcherWith({ "index/delete": counting, retrieve: counting });
    const notification = { jsonrpc: "2.0", method: "index/delete", params: { ids: ["a"] } };

    expect(await send(notification, { principal: principalWith("delete") })).toBeUndefined();
    expect(await send([notification, { method: "retrieve" }])).toBeUndefined();
    expect(runs).toBe(0);
    expect(observations).toEqual([]);
  });

  test("initialize in company is refused, and its company is answered", async () => {
    const { send } = dispatcherWith({});
    const answers = await send([call(1, "initialize", { protocolVersion: 1 }), call(2, "ping"), {}]);
    expect(answers).toMatchObject([
      { id: 1, error: { code: -32600 } },
      { id: 2, result: {} },
      { id: null, error: { code: -32600 } },
    ]);
  });
});

describe("the ladder", () => {
  test.each([
    ["retrieve", ["read"], 0],
    ["retrieve", ["add", "delete"], -32012],
    ["index/add", ["add"], 0],
    ["index/add", ["read", "delete"], -32012],
    ["index/delete", ["delete"], 0],
    ["index/delete", ["read", "add"], -32012],
    ["embed", ["read"], -32003],
    ["embed", ["add"], -32012],
    ["embed", [], -32012],
    ["no/such", [], -32004],
    ["ping", [], 0],
    ["info", [], 0],
    ["shutdown", [], 0],
  ] as const)("answers %s for the credentials %j with %d", async (method, credentials, code) => {
    const { send } = dispatcherWith({});
    const params = { query: "x", documents: [{ id: "a", text: "t" }], ids: ["a"] };
    const answer = await send(call(1, method, params), { principal: principalWith(...credentials) });
    expect(answer?.error?.code ?? 0).toBe(code);
  });

  test("finds a method that the configuration switches off missing, after scope", async () => {
    const { send } = dispatcherWith({}, { capabilities: { index: false, retrieve: false } });
    const adder = principalWith("add");
    expect(await send(call(1, "index/add"), { principal: adder })).toMatchObject({ error: { code: -32003 } });
    expect(await send(call(1, "retrieve"), { principal: adder })).toMatchObject({ error: { code: -32012 } });
    expect(await send(call(1, "retrieve"))).toMatchObject({ error: { code: -32003 } });
  });

  test.each([
    ["params", []],
    ["params", "x"],
    ["params", 0],
    ["params", false],
    ["_meta", { _meta: 5 }],
    ["_meta", { _meta: [] }],
  ])("names %s when params are %j", async (field, params) => {
    const { send } = dispatcherWith({});
    expect(await send(call(1, "ping", params))).toMatchObject({ error: { code: -32602, data: { field } } });
  });

  test("takes null for absent params and for an absent _meta", async () => {
    const { send } = dispatcherWith({});
    expect(await send(call(1, "ping", null))).toMatchObject({ result: {} });
    expect(await send(call(1, "ping", { _meta: null, nonce: null }))).toEqual({ jsonrpc: "2.0", id: 1, result: {} });
  });

  test("limits depth in params, but leaves filter and documents to their own limits", async () => {
    const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);
    const { send } = dispatcherWith({}, { limits: { maxJsonDepth: 8 } });
    const tooDeep = { error: { code: -32602, data: { field: "params" } } };

    expect(await send(call(1, "ping", { x: nested(7) }))).toMatchObject({ result: {} });
    expect(await send(call(1, "ping", { x: nested(8) }))).toMatchObject(tooDeep);
    expect(await send(call(1, "ping", { filter: nested(8) }))).toMatchObject(tooDeep);
    const filter = { field: "year", op: "in", value: nested(20) };
    expect(await send(call(1, "retrieve", { query: "x", filter }))).toMatchObject({
      error: { code: -32602, data: { field: expect.stringMatching(/^filter/) } },
    });
  });
});

describe("a batch's units", () => {
  test("are taken by each call after the first member, which has the request's own", async () => {
    const { send } = dispatcherWith({});
    let units = 2;
    const takeUnit = async () => (units-- > 0 ? undefined : 1_500);
    const notification = { jsonrpc: "2.0", method: "notifications/x" };

    const answers = await send([call(1, "ping"), call(2, "ping"), notification, {}, call(3, "ping"), call(4, "ping")], {
      takeUnit,
    });

    expect(answers?.map((one) => [one.id, one.error?.code ?? 0])).toEqual([
      [1, 0],
      [2, 0],
      [null, -32600],
      [3, 0],
      [4, -32011],
    ]);
    expect(answers?.[4]?.error?.data).toMatchObject({ retryable: true, retryAfterMs: 1_500 });
  });

  test("are asked for together, so that a slow store costs a batch one wait and not one for each call", async () => {
    const { send } = dispatcherWith({});
    const all = Promise.withResolvers<undefined>();
    let asked = 0;
    const takeUnit = () => {
      asked += 1;
      if (asked === 99) all.resolve(undefined);
      return all.promise;
    };

    const answers = await send(
      Array.from({ length: 100 }, (_, id) => call(id, "ping")),
      { takeUnit },
    );

    expect(answers?.map((one) => one.error?.code ?? 0)).toEqual(Array(100).fill(0));
  });
});

describe("a batch's answers", () => {
  test("are bounded: once they hold maxBatchAnswerBytes, no further call runs and each is -32013", async () => {
    const run: unknown[] = [];
    const wordy: Handler = async ({ nonce }) => {
      run.push(nonce);
      return { text: "x".repeat(600) };
    };
    const { send } = dispatcherWith({ ping: wordy }, { limits: { maxBatchAnswerBytes: 1_000 } });
    const ids = Array.from({ length: 12 }, (_, id) => id);

    const answers = await send(ids.map((id) => call(id, "ping", { nonce: id })));

    // Four start together. The second answer goes over the limit, when the first one's successor runs already.
    expect(run).toEqual([0, 1, 2, 3, 4]);
    expect(answers?.map((one) => [one.id, one.error?.code ?? 0])).toEqual(ids.map((id) => [id, id <= 4 ? 0 : -32013]));
    expect(answers?.[5]?.error?.data).toEqual({
      detail: "the answers before this one hold 1000 bytes (limits.maxBatchAnswerBytes); send it in another batch",
    });
  });
});

describe("what is observed", () => {
  test("of a call is its method, tenant, corpus, code, time and trace id; of an unknown method, no name", async () => {
    const { send, observations } = dispatcherWith({});
    await send(call(1, "ping", { _meta: { traceId: "abc-123" } }));
    await send(call(1, "steal/<secrets>", { _meta: { traceId: "not\nplain" } }));

    const line = { kind: "request", tenant: "acme", corpus: "default", latencyMs: expect.any(Number) };
    expect(observations).toEqual([
      { ...line, method: "ping", code: 0, traceId: "abc-123" },
      { ...line, method: "unknown", code: -32004 },
    ]);
  });

  test("of whatever happens in a call carries its trace id", async () => {
    const { send, observations } = dispatcherWith({
      retrieve: async (_params, _call, { observe }) => {
        observe({ kind: "warning", text: "the method's own" });
        throw new Error("a bug");
      },
      embed: async () => {
        throw backendUnavailable({ retryable: true, detail: "the model is out of reach" });
      },
    });
    for (const method of ["retrieve", "embed"])
      await send(call(1, method, { tenant: "globex", _meta: { traceId: "abc-123" } }));

    expect(observations.map(({ kind, traceId }) => [kind, traceId])).toEqual(
      ["identity-ignored", "warning", "internal-error", "request", "identity-ignored", "backend-failed", "request"].map(
        (kind) => [kind, "abc-123"],
      ),
    );
  });

  test("of an identity in params is its place, once, and never its value", async () => {
    const { send, observations } = dispatcherWith({});
    const params = {
      nonce: 1,
      tenantId: "globex",
      tenant_id: "globex",
      "X-Tenant": "globex",
      tenancy: "x",
      _meta: { tenantId: "globex", authorization: "Bearer x", session: "stolen" },
    };

    expect(await send(call(1, "ping", params))).toMatchObject({ result: { nonce: 1 } });

    const ignored = observations.filter((one) => one.kind === "identity-ignored");
    expect(ignored.map((one) => [one.tenant, one.member])).toEqual([
      ["acme", "tenant"],
      ["acme", "tenantId"],
      ["acme", "_meta.tenantId"],
      ["acme", "_meta.authorization"],
    ]);
    expect(JSON.stringify(observations)).not.toContain("globex");
  });
});
