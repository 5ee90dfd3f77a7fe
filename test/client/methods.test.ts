import { afterEach, describe, expect, test } from "vitest";
import { RcpCapabilityError, RcpClient, RcpTransportError } from "../../src/client/index.ts";
import { METHOD_NAMES } from "../../src/protocol/methods.ts";
import { type RcpServer, sendResult, startRcpServer } from "./rcp-server.ts";

const servers: RcpServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

/** A server that answers each method with the result named here. */
async function serve(results: Readonly<Record<string, object>>): Promise<RcpServer> {
  const server = await startRcpServer((call, response) => sendResult(call, response, results[call.body.method] ?? {}));
  servers.push(server);
  return server;
}

const client = (server: RcpServer) => new RcpClient({ url: server.url, retry: { retries: 0 } });

const HIT = { id: "a#0", score: 1, chunk: { docId: "a", index: 0 } };
const info = (capabilities: object, meta: object = {}) => ({
  protocolVersion: 1,
  server: { name: "s", version: "1" },
  capabilities,
  _meta: meta,
});

interface Case {
  readonly params: object;
  readonly result: object;
  readonly ask: (rcp: RcpClient) => Promise<unknown>;
  readonly gives: unknown;
}

const INFO = info({}, { session: "s-1" });
const DOCUMENTS = [{ id: "a", text: "t", meta: { lang: "en" } }];
const SIGNALS = [{ hitId: "a#0", used: true, reward: 0.5 }];
const CLIENT = { name: "pgrcp-client", version: "1" };

const CASES: Readonly<Record<string, Case>> = {
  initialize: {
    params: { protocolVersion: 1, client: CLIENT, capabilities: {} },
    result: INFO,
    ask: (rcp) => rcp.initialize(),
    gives: INFO,
  },
  info: { params: {}, result: INFO, ask: (rcp) => rcp.info(), gives: INFO },
  ping: { params: {}, result: {}, ask: (rcp) => rcp.ping(), gives: undefined },
  shutdown: {
    params: {},
    result: {},
    ask: async (rcp) => {
      await rcp.initialize();
      await rcp.close();
    },
    gives: undefined,
  },
  embed: {
    params: { inputs: ["x"], kind: "query", encoding: "f32-base64" },
    // 1 and -2 as little-endian binary32
    result: { vectors: ["AACAPwAAAMA="], encoding: "f32-base64", dimension: 2 },
    ask: (rcp) => rcp.embed({ inputs: ["x"], kind: "query", encoding: "f32-base64" }),
    gives: { vectors: [Float32Array.of(1, -2)], dimension: 2 },
  },
  "embed/sparse": {
    params: { texts: ["x"] },
    result: { sparse: [{ indices: [3], values: [0.5] }] },
    ask: (rcp) => rcp.embedSparse({ texts: ["x"] }),
    gives: { sparse: [{ indices: [3], values: [0.5] }] },
  },
  "embed/multi": {
    params: { inputs: ["x"] },
    result: { matrices: [[[1, 2]]], dimension: 2 },
    ask: (rcp) => rcp.embedMulti({ inputs: ["x"] }),
    gives: { matrices: [[[1, 2]]], dimension: 2 },
  },
  rerank: {
    params: { query: "q", passages: ["x", "y"], topN: 1 },
    result: { scores: [0.1, 0.9], order: [1] },
    ask: (rcp) => rcp.rerank({ query: "q", passages: ["x", "y"], topN: 1 }),
    gives: { scores: [0.1, 0.9], order: [1] },
  },
  retrieve: {
    params: { query: "q", mmr: { lambda: 0.5 }, unit: "document" },
    result: { hits: [HIT], usage: {} },
    ask: (rcp) => rcp.retrieve({ query: "q", mmr: { lambda: 0.5 }, unit: "document" }),
    gives: { hits: [HIT], usage: {} },
  },
  "query/transform": {
    params: { query: "q", method: "multi-query", n: 2 },
    result: { queries: ["a", "b"] },
    ask: (rcp) => rcp.queryTransform({ query: "q", method: "multi-query", n: 2 }),
    gives: { queries: ["a", "b"] },
  },
  graph: {
    params: { op: "local", query: "q" },
    result: { hits: [HIT] },
    ask: (rcp) => rcp.graph({ op: "local", query: "q" }),
    gives: { hits: [HIT] },
  },
  "index/add": {
    params: { documents: DOCUMENTS, chunk: false, _meta: { idempotencyKey: "key" } },
    result: { ids: ["a"], chunks: 1 },
    ask: (rcp) => rcp.indexAdd(DOCUMENTS, { chunk: false, idempotencyKey: "key" }),
    gives: { ids: ["a"], chunks: 1 },
  },
  "index/delete": {
    params: { ids: ["a"] },
    result: { deleted: 1 },
    ask: (rcp) => rcp.indexDelete(["a"]),
    gives: { deleted: 1 },
  },
  "catalog/list": {
    params: {},
    result: { engines: [{ id: "default", server: {}, capabilities: {} }] },
    ask: (rcp) => rcp.catalogList(),
    gives: [{ id: "default", server: {}, capabilities: {} }],
  },
  feedback: {
    params: { sessionId: "s", signals: SIGNALS },
    result: { accepted: 1 },
    ask: (rcp) => rcp.feedback({ sessionId: "s", signals: SIGNALS }),
    gives: 1,
  },
  "memory/build": {
    params: { scope: "global" },
    result: { memoryId: "m", tokens: 3 },
    ask: (rcp) => rcp.memoryBuild({ scope: "global" }),
    gives: { memoryId: "m", tokens: 3 },
  },
  "memory/recall": {
    params: { query: "q", memoryId: "m" },
    result: { clues: [{ query: "c", weight: 0.9 }] },
    ask: (rcp) => rcp.memoryRecall({ query: "q", memoryId: "m" }),
    gives: { clues: [{ query: "c", weight: 0.9 }] },
  },
  "x-pgrcp/document": {
    params: { id: "a#0", unit: "chunk" },
    result: { document: HIT },
    ask: (rcp) => rcp.document({ id: "a#0", unit: "chunk" }),
    gives: HIT,
  },
};

/** Each lacks what its reader asks for. */
const USELESS: Readonly<Record<string, object>> = {
  embed: { vectors: ["AACAPw=="], encoding: "f32-base64", dimension: 2 },
  "embed/sparse": { sparse: [] },
  "embed/multi": { matrices: [[[1]]] },
  rerank: { scores: [1] },
  "query/transform": { queries: "a" },
  graph: { hits: [{}] },
  "index/add": { ids: [] },
  "index/delete": {},
  "catalog/list": { engines: [{}] },
  feedback: {},
  "memory/build": {},
  "memory/recall": {},
  "x-pgrcp/document": { document: { id: 7 } },
};

describe("typed calls", () => {
  test("there is one for every method", () => {
    expect(Object.keys(CASES).sort()).toEqual([...METHOD_NAMES].sort());
  });

  test.each(Object.entries(CASES))("%s", async (method, { params, result, ask, gives }) => {
    const server = await serve({ initialize: INFO, [method]: result });

    expect(await ask(client(server))).toEqual(gives);

    const sent = server.calls.at(-1);
    expect(sent?.path).toBe(`/rcp/${method}`);
    expect(sent?.body).toMatchObject({ method, params });
    expect(sent?.body.params).toEqual(params);
  });

  test.each(Object.entries(USELESS))("%s refuses an answer of no use", async (method, result) => {
    const server = await serve({ [method]: result });

    const error = await CASES[method]?.ask(client(server)).catch((e: unknown) => e);

    expect(error).toBeInstanceOf(RcpTransportError);
    expect(error).toMatchObject({ fault: "malformed" });
  });
});

describe("what is not advertised is refused before anything is sent", () => {
  const FULL = {
    retrieve: { modes: ["dense"], units: ["chunk"], fusion: ["rrf"] },
    filter: { fields: { lang: "keyword" }, operators: ["eq"] },
    embed: {},
    rerank: { methods: ["cross-encoder"] },
    transform: { methods: ["rewrite"] },
    graph: { ops: ["local"] },
    index: { writable: false },
    "x-pgrcp": { methods: ["other"] },
  };
  const lang = { field: "lang", op: "eq", value: "en" } as const;

  test.each<[string, (rcp: RcpClient) => Promise<unknown>]>([
    ["sparseEmbed", (rcp) => rcp.embedSparse({ texts: ["x"] })],
    ["multiVector", (rcp) => rcp.embedMulti({ inputs: ["x"] })],
    ["catalog", (rcp) => rcp.catalogList()],
    ["feedback", (rcp) => rcp.feedback({ signals: [] })],
    ["memory", (rcp) => rcp.memoryRecall({ query: "q" })],
    ["index.writable", (rcp) => rcp.indexAdd([{ text: "t" }])],
    ["embed.encodings", (rcp) => rcp.embed({ inputs: ["x"], encoding: "f32-base64" })],
    ["rerank.methods", (rcp) => rcp.rerank({ query: "q", passages: [], method: "llm" })],
    ["transform.methods", (rcp) => rcp.queryTransform({ query: "q", method: "hyde" })],
    ["x-pgrcp.methods", (rcp) => rcp.document({ id: "a" })],
    ["graph.ops", (rcp) => rcp.graph({ op: "global" })],
    ["retrieve.modes", (rcp) => rcp.retrieve({ query: "q", mode: "sparse" })],
    ["retrieve.fusion", (rcp) => rcp.retrieve({ query: "q", fusion: { method: "convex" } })],
    ["retrieve.units", (rcp) => rcp.retrieve({ query: "q", unit: "document" })],
    ["retrieve.mmr", (rcp) => rcp.retrieve({ query: "q", mmr: { lambda: 1 } })],
    ["retrieve.tokenBudget", (rcp) => rcp.retrieve({ query: "q", tokenBudget: 5 })],
    ["retrieve.rerankBuiltin", (rcp) => rcp.retrieve({ query: "q", rerank: {} })],
    ["retrieve.snapshots", (rcp) => rcp.retrieve({ query: "q", indexVersion: "v", strict: false })],
    ["pagination", (rcp) => rcp.retrieve({ query: "q", cursor: "c", strict: false })],
    ["transform.methods", (rcp) => rcp.retrieve({ query: "q", rewrite: "hyde" })],
    ["filter.fields", (rcp) => rcp.retrieve({ query: "q", filter: { not: { field: "year", op: "eq", value: 1 } } })],
    ["filter.operators", (rcp) => rcp.retrieve({ query: "q", filter: { and: [lang, { ...lang, op: "ne" }] } })],
  ])("%s", async (capability, ask) => {
    const server = await serve({ info: info(FULL) });
    const rcp = client(server);
    await rcp.info();

    const error = await ask(rcp).catch((e: unknown) => e);

    expect(error).toBeInstanceOf(RcpCapabilityError);
    expect(error).toMatchObject({ capability });
    expect((error as Error).message).toContain(capability);
    expect(server.calls.map((call) => call.body.method)).toEqual(["info"]);
  });

  test("what is advertised is sent, and so is what a server that was not asked may lack", async () => {
    const server = await serve({ info: info(FULL), retrieve: { hits: [] } });
    const rcp = client(server);

    await rcp.retrieve({ query: "q", mode: "sparse" });
    await rcp.info();
    await rcp.retrieve({ query: "q", mode: "dense", unit: "chunk", filter: { or: [lang] }, rerank: false });
    await rcp.retrieve({ query: "q", mode: "sparse", strict: false });

    expect(server.calls).toHaveLength(4);
    expect(rcp.serverInfo?.capabilities).toEqual(FULL);
  });

  test("a capability that every object inherits is none", async () => {
    const server = await serve({ info: info({ retrieve: {} }) });
    const rcp = client(server);
    await rcp.info();
    Object.defineProperty(Object.prototype, "graph", { value: {}, configurable: true });
    try {
      await expect(rcp.graph({ op: "local" })).rejects.toMatchObject({ capability: "graph" });
    } finally {
      Reflect.deleteProperty(Object.prototype, "graph");
    }
  });
});
