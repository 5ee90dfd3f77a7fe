import { afterEach, describe, expect, test } from "vitest";
import {
  type AgentTool,
  type AgentToolEvent,
  createAgentTools,
  RcpClient,
  ToolInputError,
  UnresolvedParamError,
} from "../../src/client/index.ts";
import { type RcpServer, sendResult, startRcpServer } from "./rcp-server.ts";

const servers: RcpServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const FIELDS = { lang: "keyword", year: "int", live: "bool", at: "date", where: "geo" };
const DOCUMENT = { id: "a", text: "whole", meta: { lang: "en" }, chunk: { docId: "a", index: 0 } };

/** A server whose info advertises these fields; each request but info is what a tool made. */
async function serve(fields: object = FIELDS, document: object = DOCUMENT) {
  const capabilities = { retrieve: { maxK: 8 }, filter: { fields }, "x-pgrcp": { methods: ["document"] }, index: {} };
  const server = await startRcpServer((call, response) => {
    const results: Readonly<Record<string, object>> = {
      info: { protocolVersion: 1, server: { name: "s", version: "1" }, capabilities },
      retrieve: { hits: [{ ...DOCUMENT, id: "a#0", score: 1, text: "a passage" }] },
      "x-pgrcp/document": { document },
      "index/add": { ids: ["new"] },
      "index/delete": { deleted: 1 },
    };
    sendResult(call, response, results[call.body.method] ?? {});
  });
  servers.push(server);
  const sent = () => server.calls.filter(({ body }) => body.method !== "info").map(({ body }) => body);
  return { client: new RcpClient({ url: server.url, retry: { retries: 0 } }), sent };
}

const find = (tools: readonly AgentTool[], name: string): AgentTool => {
  const tool = tools.find((one) => one.name === name);
  if (tool === undefined) throw new Error(`no tool ${name}`);
  return tool;
};
const namesOf = (tool: AgentTool) => tool.exposedParams.map(({ name }) => name);

describe("what a tool shows", () => {
  test("is the query, k and the advertised fields that have scalars, as JSON Schema", async () => {
    const { client } = await serve();

    const search = find(await createAgentTools({ client }), "search");

    expect(namesOf(search)).toEqual(["query", "k", "lang", "year", "live", "at"]);
    expect(search.parameters).toMatchObject({
      type: "object",
      properties: {
        query: { type: "string" },
        k: { type: "integer", minimum: 1, maximum: 8 },
        year: { type: "integer" },
        live: { type: "boolean" },
        at: { type: "string" },
      },
      required: ["query"],
      additionalProperties: false,
    });
  });

  test("has nothing of what is bound, wherever one looks", async () => {
    const { client } = await serve();
    const resolvers = { tenantId: () => "acme", lang: () => "en" };

    const tools = await createAgentTools({ client, resolvers });

    expect(tools.map(({ name }) => name)).toEqual(["search", "fetch_document"]);
    for (const tool of tools) {
      expect(Reflect.ownKeys(tool)).toEqual(["name", "description", "exposedParams", "parameters", "call"]);
      expect(JSON.stringify(tool)).not.toMatch(/tenantId|acme|lang/);
      expect(() => Object.assign(tool, { call: async () => ({}) })).toThrow(TypeError);
    }
  });

  test("is only of tools that the server has, and writes only where asked", async () => {
    const { client } = await serve();

    const all = await createAgentTools({ client, write: { add: client, delete: client } });
    expect(all.map(({ name }) => name)).toEqual(["search", "fetch_document", "add_document", "delete_document"]);

    const bare = await startRcpServer((call, response) =>
      sendResult(call, response, { protocolVersion: 1, server: {}, capabilities: { retrieve: {} } }),
    );
    servers.push(bare);
    const few = await createAgentTools({ client: new RcpClient({ url: bare.url }) });
    expect(few.map(({ name }) => name)).toEqual(["search"]);
  });
});

describe("a bound param", () => {
  test("has the value of the context at the time of the call, whatever the model says", async () => {
    const { client, sent } = await serve();
    let verified = { language: "de" };
    const events: AgentToolEvent[] = [];
    const tools = await createAgentTools({
      client,
      resolvers: { lang: async (context) => context.language },
      context: () => verified,
      logger: (event) => events.push(event),
    });

    verified = { language: "en" };
    await find(tools, "search").call({ query: "q", k: 2, lang: "SECRET-OF-B", year: 2020 });

    expect(sent()[0]?.params).toEqual({
      query: "q",
      k: 2,
      filter: {
        and: [
          { field: "lang", op: "eq", value: "en" },
          { field: "year", op: "eq", value: 2020 },
        ],
      },
    });
    expect(events).toEqual([{ kind: "ignored", tool: "search", bound: ["lang"], others: 0 }]);
  });

  test("may be a list for a filter field, and nowhere else", async () => {
    const { client, sent } = await serve();
    const lang = () => ["en", "de"];
    await find(await createAgentTools({ client, resolvers: { lang } }), "search").call({ query: "q" });
    expect(sent()[0]?.params.filter).toEqual({ field: "lang", op: "in", value: ["en", "de"] });

    const tools = await createAgentTools({ client, resolvers: { query: lang } });
    await expect(find(tools, "search").call({})).rejects.toBeInstanceOf(UnresolvedParamError);
  });

  test.each<[string, () => unknown]>([
    ["null", () => null],
    ["undefined", () => undefined],
    ["empty text", () => ""],
    ["blank text", () => " \t\n"],
    ["text of invisible characters", () => "\u200b\u2060\u0000"],
    ["no number", () => Number.NaN],
    ["an object", () => ({ toString: () => "acme" })],
    ["an empty list", () => []],
    ["a list with a blank", () => ["en", " "]],
    ["a promise of nothing", async () => undefined],
    ["a rejected promise", () => Promise.reject(new Error("SECRET"))],
    [
      "an exception",
      () => {
        throw new Error("SECRET");
      },
    ],
    ["another type than the field's", () => 5],
  ])("that resolves to %s ends the call before anything is sent", async (_name, resolver) => {
    const { client, sent } = await serve();
    const events: AgentToolEvent[] = [];
    const tools = await createAgentTools({
      client,
      resolvers: { lang: resolver as () => string },
      logger: (event) => events.push(event),
    });

    for (const [name, args] of [
      ["search", { query: "q", lang: "en" }],
      ["search", { query: "q" }],
    ] as const) {
      const error = await find(tools, name)
        .call(args)
        .catch((e: unknown) => e);
      expect(error).toBeInstanceOf(UnresolvedParamError);
      expect(error).toMatchObject({ param: "lang" });
      expect((error as Error).message).not.toContain("SECRET");
    }

    expect(sent()).toEqual([]);
    expect(events).toContainEqual({ kind: "unresolved", tool: "search", param: "lang" });
    expect(JSON.stringify(events)).not.toContain("SECRET");
  });

  test("of no tool is a condition of every call, and chooses the client", async () => {
    const { client, sent } = await serve();
    const chosen: unknown[] = [];
    const events: AgentToolEvent[] = [];
    let tenant: string | undefined = "acme";
    const tools = await createAgentTools({
      client: ({ tenantId }) => {
        chosen.push(tenantId);
        return client;
      },
      resolvers: { tenantId: () => tenant },
      logger: (event) => events.push(event),
    });
    expect(events).toEqual([{ kind: "conditions", params: ["tenantId"] }]);

    await find(tools, "search").call({ query: "q", tenantId: "rival" });
    tenant = undefined;
    await expect(find(tools, "fetch_document").call({ id: "a" })).rejects.toMatchObject({ param: "tenantId" });

    expect(chosen).toEqual(["acme", "acme"]); // once for the definitions
    expect(sent()).toHaveLength(1);
    expect(JSON.stringify(sent())).not.toContain("rival");
  });

  test("a context that cannot be had ends the call, too", async () => {
    const { client, sent } = await serve();
    const context = (): Promise<{ lang: string }> => Promise.reject(new Error("SECRET"));
    const tools = await createAgentTools({ client, resolvers: { lang: (verified) => verified.lang }, context });

    await expect(find(tools, "search").call({ query: "q" })).rejects.toThrow("the context could not be had");
    expect(sent()).toEqual([]);
  });

  test("that has to confine must be a filter field of the server", async () => {
    const { client, sent } = await serve();
    const resolvers = { lang: () => "en", team: () => "sales" };

    await expect(createAgentTools({ client, resolvers, confine: ["lang"] })).resolves.toHaveLength(2);
    await expect(createAgentTools({ client, resolvers, confine: ["lang", "team"] })).rejects.toThrow("team");
    // @ts-expect-error year is not bound
    await expect(createAgentTools({ client, resolvers, confine: ["year"] })).rejects.toThrow(TypeError);
    expect(sent()).toEqual([]);
  });

  test("confines fetch_document, and cannot confine what writes", async () => {
    const { client } = await serve();
    const tools = async (lang: string) =>
      find(await createAgentTools({ client, resolvers: { lang: () => lang } }), "fetch_document");

    expect((await (await tools("en")).call({ id: "a" })).text).toContain("| whole");
    await expect((await tools("de")).call({ id: "a" })).rejects.toMatchObject({ code: -32015 });

    await expect(createAgentTools({ client, resolvers: { lang: () => "en" }, write: { add: client } })).rejects.toThrow(
      TypeError,
    );
  });

  test.each([
    ["a list with it", "2026-01-31", { at: ["2025-01-01", "2026-01-31T00:00:00Z"] }, true],
    ["the same instant", "2026-01-31", { at: "2026-01-31T01:00:00+01:00" }, true],
    ["no such member", "2026-01-31", {}, false],
    ["another instant", "2026-01-31", { at: "2026-01-30" }, false],
    ["no date, as what is bound has none", "soon", { at: "soon" }, false],
  ])("a document whose date field has %s", async (_name, bound, meta, isFound) => {
    const { client } = await serve(FIELDS, { ...DOCUMENT, meta });
    const tools = await createAgentTools({ client, resolvers: { at: () => bound } });

    const answer = find(tools, "fetch_document").call({ id: "a" });

    if (isFound) expect((await answer).text).toContain("whole");
    else await expect(answer).rejects.toMatchObject({ code: -32015 });
  });
});

describe("arguments", () => {
  test.each([
    ["none", undefined],
    ["a list", ["q"]],
    ["text", '{"query":"q"}'],
    ["without the query", { k: 1 }],
    ["with a blank query", { query: " " }],
    ["with a number as text", { query: "q", k: "3" }],
    ["with too many passages", { query: "q", k: 9 }],
    ["with a list for a scalar", { query: "q", lang: ["en"] }],
    ["with half a character", { query: "\ud800" }],
  ])("%s are refused before anything is sent, without a word of them", async (_name, args) => {
    const { client, sent } = await serve();
    const search = find(await createAgentTools({ client }), "search");

    await expect(search.call(args)).rejects.toBeInstanceOf(ToolInputError);
    expect(sent()).toEqual([]);
  });

  test("that are null or empty where they may be absent are absent", async () => {
    const { client, sent } = await serve();
    await find(await createAgentTools({ client }), "search").call({ query: "q", k: null, lang: "" });
    expect(sent()[0]?.params).toEqual({ query: "q" });
  });

  test("that no tool has are counted, not named, because the model wrote the names", async () => {
    const { client, sent } = await serve();
    const events: AgentToolEvent[] = [];
    const tools = await createAgentTools({ client, logger: (event) => events.push(event) });

    await find(tools, "search").call({ query: "q", tenantId: "rival", "token: abc": 1 });

    expect(events).toEqual([{ kind: "ignored", tool: "search", bound: [], others: 2 }]);
    expect(sent()[0]?.params).toEqual({ query: "q" });
  });

  test("write tools send what they were given, with the client that may", async () => {
    const { client, sent } = await serve();
    const tools = await createAgentTools({ client, write: { add: client, delete: client } });

    const added = await find(tools, "add_document").call({ text: "t", id: "", title: "T" });
    await find(tools, "delete_document").call({ id: "a" });

    expect(added.text).toBe('Added as "new".');
    expect(sent().map(({ method, params }) => [method, params])).toEqual([
      ["index/add", { documents: [{ text: "t", meta: { title: "T" } }] }],
      ["index/delete", { ids: ["a"] }],
    ]);
  });

  test("citation numbers go on from call to call", async () => {
    const { client } = await serve();
    const tools = await createAgentTools({ client });
    const one = await find(tools, "search").call({ query: "q" });
    const two = await find(tools, "fetch_document").call({ id: "a" });
    expect([one, two].flatMap(({ citations }) => citations.map(({ number, hitId }) => [number, hitId]))).toEqual([
      [1, "a#0"],
      [2, "a"],
    ]);
  });
});

describe("prototypes", () => {
  test("give no argument, no resolver and no bound value", async () => {
    const { client, sent } = await serve();
    const bound: unknown[] = [];
    const inherited = { query: "inherited", tenantId: () => "rival" };
    for (const [name, value] of Object.entries(inherited))
      Object.defineProperty(Object.prototype, name, { value, configurable: true, enumerable: true, writable: true });
    try {
      const tools = await createAgentTools({
        client: (values) => {
          bound.push(Object.getPrototypeOf(values), (values as Record<string, unknown>).tenantId);
          return client;
        },
        resolvers: { lang: () => "en" },
      });
      await expect(find(tools, "search").call({})).rejects.toThrow("query is missing");
      await expect(find(tools, "search").call(Object.create({ query: "q" }))).rejects.toThrow("query is missing");
      await expect(find(tools, "search").call(JSON.parse('{"__proto__":{"query":"q"}}'))).rejects.toThrow("missing");
    } finally {
      for (const name of Object.keys(inherited)) Reflect.deleteProperty(Object.prototype, name);
    }
    expect(bound).toEqual([null, undefined]);
    expect(sent()).toEqual([]);
  });

  test("__proto__ and constructor among arguments and fields are strangers", async () => {
    const fields = JSON.parse('{"__proto__":"keyword","constructor":"keyword","lang":"keyword"}');
    const { client, sent } = await serve(fields);
    const events: AgentToolEvent[] = [];
    const logger = (event: AgentToolEvent) => events.push(event);
    const search = find(await createAgentTools({ client, logger }), "search");
    expect(namesOf(search)).toEqual(["query", "k", "lang"]);
    expect(Object.keys(search.parameters.properties)).toEqual(["query", "k", "lang"]);

    await search.call(JSON.parse('{"query":"q","__proto__":"x","constructor":"y"}'));

    expect(events).toEqual([{ kind: "ignored", tool: "search", bound: [], others: 2 }]);
    expect(sent()[0]?.params).toEqual({ query: "q" });
  });

  test("a field with such a name can be bound", async () => {
    const { client, sent } = await serve({ constructor: "keyword" });
    const search = find(await createAgentTools({ client, resolvers: { constructor: () => "red" } }), "search");

    await search.call(JSON.parse('{"query":"q","constructor":"blue"}'));

    expect(sent()[0]?.params.filter).toEqual({ field: "constructor", op: "eq", value: "red" });
  });
});

test("what does not fit does not type-check", async () => {
  const { client } = await serve();
  const context = { tenant: "acme" };
  await createAgentTools({ client, context, resolvers: { tenantId: ({ tenant }) => tenant } });
  // @ts-expect-error the context has no such member
  await createAgentTools({ client, context, resolvers: { tenantId: ({ user }) => user } });
  // @ts-expect-error a function is no value
  await createAgentTools({ client, context, resolvers: { tenantId: () => () => "acme" } });
  // @ts-expect-error userId is not bound
  await createAgentTools({ client: ({ userId }) => (userId ? client : client), resolvers: { tenantId: () => "a" } });
  await expect(createAgentTools({ client, resolvers: { tenantId: "acme" as never } })).rejects.toThrow(TypeError);
});

test("a list of holes resolves to no value", async () => {
  const { client } = await serve();
  const resolvers = { tenantId: () => new Array<string>(2) };
  await expect(createAgentTools({ client: () => client, resolvers })).rejects.toThrow(UnresolvedParamError);
});
