import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CREDENTIALS } from "../../src/auth/principal.ts";
import {
  backendUnavailable,
  conflict,
  notFound,
  payloadTooLarge,
  type RpcError,
  rateLimited,
  timeout,
} from "../../src/protocol/errors.ts";
import { PLAN_ONLY_HANDLERS } from "../support/plan-only-handlers.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";

const FIELDS = { lang: "keyword", year: "int", "published-at": "date", draft: "bool" };
const CONFIG = { auth: { combinedTokens: true }, filter: { fields: FIELDS }, rateLimit: { enabled: false } };

let server: RcpServer;
let token: string;
let thrown: Error | undefined;
beforeAll(async () => {
  server = await startRcpServer({
    config: { ...CONFIG, server: { maxBodyBytes: 2_000, maxAddBodyBytes: 3_000 }, limits: { maxTextBytes: 1_000 } },
    handlers: {
      ...PLAN_ONLY_HANDLERS,
      retrieve: (...call) => (thrown === undefined ? PLAN_ONLY_HANDLERS.retrieve(...call) : Promise.reject(thrown)),
    },
  });
  token = await server.token({ credentials: CREDENTIALS });
});
afterAll(() => server.close());

const send = (tool: string, body: string | Uint8Array) => server.post(`/v1/${tool}`, body, { token });
const call = (tool: string, params: object) => send(tool, JSON.stringify({ tenantId: "acme", ...params }));

describe("a param that is wrong is 400, named as the tool names it, with what would be right", () => {
  test.each<[string, Record<string, unknown>, string, RegExp]>([
    ["retrieve", {}, "query", /^is required, and must be a text$/],
    ["retrieve", { query: "" }, "query", /^is required/],
    ["retrieve", { query: 5 }, "query", /^must be a text$/],
    ["retrieve", { query: "x", k: "zebra" }, "k", /^must be a number/],
    ["retrieve", { query: "x", k: "0" }, "k", /^must be an integer of at least 1$/],
    ["retrieve", { query: "x", k: "2.5" }, "k", /^must be an integer of at least 1$/],
    ["retrieve", { query: "x", filter: "zebra" }, "filter", /^must be a JSON object written as text/],
    ["retrieve", { query: "x", filter: '{"and":[]}' }, "filter.and", /at least one filter$/],
    ["retrieve", { query: "x", filter: '{"field":"zebra","op":"eq","value":1}' }, "filter.field", /^not an advertised/],
    ["retrieve_filtered", { query: "x", year: "zebra" }, "year", /^must be a number/],
    ["retrieve_filtered", { query: "x", year: "20.5" }, "year", /^year is of type int/],
    ["retrieve_filtered", { query: "x", lang: "en", year: "9007199254740993" }, "year", /^year is of type int/],
    ["retrieve_filtered", { query: "x", year: "1", published_at: "2024-13-01" }, "published_at", /RFC 3339/],
    ["retrieve_filtered", { query: "x", published_at: "zebra" }, "published_at", /^must be a date such as/],
    ["retrieve_filtered", { query: "x", draft: "zebra" }, "draft", /^must be true or false$/],
    ["retrieve_filtered", { query: "x", lang: "zebra".repeat(100).repeat(2), draft: "no" }, "draft", /^must be true/],
    ["add_document", { id: "a" }, "text", /^is required/],
    ["add_document", { text: "x", id: "\u0000" }, "id", /U\+0000/],
    ["add_document", { text: "x", meta: '["zebra"]' }, "meta", /^must be a JSON object/],
    ["add_document", { text: "x", meta: '{"year":"zebra"}' }, "meta.year", /year/],
    ["get_document", { id: null }, "id", /^is required/],
    ["delete_document", {}, "id", /^is required/],
    ["delete_document", { id: "z".repeat(513) }, "id", /at most 512 bytes/],
    [
      "retrieve",
      { query: "x", zebra: "zebra" },
      "body",
      /^retrieve has the params query, k, filter, tenantId, and no other/,
    ],
    ["retrieve", { query: "x", lang: "en" }, "body", /^retrieve has the params/],
    ["retrieve", { query: "x", _meta: { zebra: 1 } }, "body", /^retrieve has the params/],
  ])("%s %j: %s", async (tool, params, field, detail) => {
    const { status, body, text } = await call(tool, params);

    expect([status, body?.error?.code, body?.error?.message]).toEqual([400, -32602, `Invalid params: ${field}`]);
    expect(body?.error?.data).toMatchObject({ field, detail: expect.stringMatching(detail) });
    expect(text).not.toMatch(/zebra|jsonrpc/);
  });

  test("one that is sent twice, in whatever spelling, is no param", async () => {
    for (const members of ['"k":"1","k":"1"', '"k":"1","\\u006b":"2"'])
      expect(await send("retrieve", `{"tenantId":"acme","query":"x",${members}}`)).toMatchObject({
        status: 400,
        body: { error: { code: -32602, data: { field: "k", detail: "must be sent once" } } },
      });
  });

  test("params behind the address are none", async () => {
    const answer = await server.post("/v1/retrieve?k=3", '{"tenantId":"acme","query":"x"}', { token });
    expect(answer).toMatchObject({
      status: 400,
      body: { error: { code: -32600, data: { detail: /sent in the body/ } } },
    });
  });
});

test("what is empty is absent, whatever its name: a template of yesterday still works", async () => {
  const { status, text } = await call("retrieve", { query: "x", k: "", filter: null, oldField: "" });
  expect([status, text]).toEqual([200, '{"passages":[]}']);
});

test("a body that is no JSON in UTF-8 is 400", async () => {
  const latin1 = Buffer.from('{"tenantId":"acme","query":"é"}', "latin1");
  for (const body of ["", "{", "query=x", '\uFEFF{"tenantId":"acme","query":"x"}', latin1])
    expect(await send("retrieve", body)).toMatchObject({ status: 400, body: { error: { code: -32700 } } });
});

describe("the table from error to status", () => {
  test.each<[RpcError | Error, number, number, string | undefined]>([
    [notFound("gone"), 404, -32015, undefined],
    [conflict("twice"), 409, -32016, undefined],
    [payloadTooLarge({ detail: "too large" }), 413, -32013, undefined],
    [rateLimited({ retryAfterMs: 1_500, detail: "too many" }), 429, -32011, "2"],
    [new Error("secret=1"), 500, -32603, undefined],
    [backendUnavailable({ retryable: true, retryAfterMs: 3_000, detail: "the model" }), 503, -32010, "3"],
    [backendUnavailable({ retryable: false, detail: "the model" }), 503, -32010, undefined],
    [timeout(), 504, -32014, undefined],
  ])("%s is %i", async (error, status, code, retryAfter) => {
    thrown = error;
    const answer = await call("retrieve", { query: "x" });
    thrown = undefined;

    expect([answer.status, answer.body?.error?.code, answer.headers["retry-after"]]).toEqual([
      status,
      code,
      retryAfter,
    ]);
    expect(answer.text).not.toContain("secret");
    expect(Object.keys(answer.body ?? {})).toEqual(["error"]);
  });

  test("is the same for what never comes so far", async () => {
    const post = (headers: readonly (readonly [string, string])[], body = "{}") =>
      server.send({ path: "/v1/retrieve", headers, body });
    const json = ["content-type", "application/json"] as const;
    const bearer = ["authorization", `Bearer ${token}`] as const;

    expect(await post([json])).toMatchObject({ status: 401, body: { error: { code: -32012 } } });
    expect(await post([bearer, ["content-type", "text/plain"]])).toMatchObject({ status: 415, text: "" });
    expect(await post([bearer, json], "x".repeat(2_001))).toMatchObject({
      status: 413,
      body: { error: { code: -32013 } },
    });
    expect(await call("add_document", { text: "x".repeat(2_500) })).toMatchObject({
      status: 413,
      body: { error: { data: { field: "text", detail: expect.stringMatching(/limits\.maxTextBytes/) } } },
    });
  });

  test("is the same where too many ask: 429 and 503, with a wait", async () => {
    const rateLimit = { principal: { max: 1, windowMs: 60_000 } };
    const busy = { isHigh: false };
    const limited = await startRcpServer({ config: { ...CONFIG, rateLimit }, issuer: server.issuer });
    let running = 0;
    const gate = Promise.withResolvers<void>();
    const shedding = await startRcpServer({
      config: CONFIG,
      issuer: server.issuer,
      pressure: busy,
      handlers: {
        async retrieve() {
          running += 1;
          await gate.promise;
          return { hits: [] };
        },
      },
    });
    const ask = (of: RcpServer) => of.post("/v1/retrieve", '{"tenantId":"acme","query":"x"}', { token });

    const rates = [await ask(limited), await ask(limited)];
    const first = ask(shedding);
    await expect.poll(() => running, { timeout: 20_000 }).toBe(1);
    busy.isHigh = true;
    const second = await ask(shedding);
    gate.resolve();

    expect(rates.map(({ status }) => status)).toEqual([200, 429]);
    expect(rates[1]).toMatchObject({
      headers: { "retry-after": expect.stringMatching(/^\d+$/) },
      body: { error: { code: -32011 } },
    });
    expect(second).toMatchObject({ status: 503, headers: { "retry-after": "5" }, body: { error: { code: -32010 } } });
    expect((await first).status).toBe(200);
    await Promise.all([limited.close(), shedding.close()]);
  });
});
