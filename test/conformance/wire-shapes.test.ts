import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { notificationFault, responseFault, resultFault } from "../../src/conformance/wire-shapes.ts";

/** The shapes by hand and the protocol's own schema must say the same of every example. */

const schema = JSON.parse(readFileSync(new URL("../vectors/data/rcp-1.0.json", import.meta.url), "utf8"));
const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema(schema);
const judge = (definition: string) => ajv.compile({ $ref: `${schema.$id}#/$defs/${definition}` });
const isResult = judge("ResultFor");
const isSuccess = judge("JsonRpcSuccess");
const isError = judge("JsonRpcError");
const isNotification = judge("JsonRpcNotification");

const hit = { id: "a", score: 1 };
const identity = { protocolVersion: 1, server: { name: "s" }, capabilities: {} };
const withCapability = (capabilities: object) => ({ ...identity, capabilities });

/** A method, and results of which each is right or wrong. */
const RESULTS: Readonly<Record<string, readonly unknown[]>> = {
  initialize: [
    identity,
    { ...identity, protocolVersion: 0 },
    { ...identity, protocolVersion: "1" },
    { ...identity, server: {} },
    { protocolVersion: 1, server: { name: "s" } },
    withCapability({ retrieve: { maxK: 0 } }),
    withCapability({ retrieve: { maxK: 5, modes: ["dense", "fuzzy"] } }),
    withCapability({ retrieve: { scoreFloor: -1, defaultMode: "hybrid", units: ["page"] } }),
    withCapability({ retrieve: true }),
    withCapability({ embed: { dimension: 4.5 } }),
    withCapability({ citations: true, streaming: {} }),
    withCapability({ citations: "yes" }),
    withCapability({ filter: { fields: ["a"] } }),
    withCapability({ filter: { fields: { a: "int" } } }),
    withCapability({ filter: { fields: { a: 1 } } }),
    withCapability({ index: { writable: "true" } }),
    withCapability({ rerank: { methods: ["magic"] } }),
    withCapability({ "x-vendor": 5 }),
  ],
  ping: [{}, { nonce: 0 }, { nonce: "" }, { nonce: true }, { nonce: [] }],
  retrieve: [
    { hits: [] },
    {},
    { hits: {} },
    { hits: [hit] },
    { hits: [{ id: "a" }] },
    { hits: [{ ...hit, id: true }] },
    { hits: [{ ...hit, score: "1" }] },
    { hits: [{ ...hit, confidence: 1.1 }] },
    { hits: [{ ...hit, unit: "chunk", level: 0, modality: "text" }] },
    { hits: [{ ...hit, unit: "word" }] },
    { hits: [{ ...hit, trust: {} }] },
    { hits: [{ ...hit, trust: { level: "trusted", score: 2 } }] },
    { hits: [{ ...hit, trust: { level: "Trusted" } }] },
    { hits: [{ ...hit, citation: { start: 1.5 } }] },
    { hits: [{ ...hit, scores: { dense: "1" } }] },
    { hits: [{ ...hit, vector: [1, "2"] }] },
    { hits: [{ ...hit, chunk: { docId: 5 } }] },
    { hits: [{ ...hit, provenance: { edges: [{ src: "a" }] } }] },
    { hits: [hit], nextCursor: 5 },
    { hits: [hit], indexVersion: "v", usage: {}, "x-more": 1 },
    { hits: [hit], usage: [] },
  ],
  embed: [
    { vectors: [] },
    {},
    { vectors: [[1, 2.5]] },
    { vectors: [["1"]] },
    { vectors: ["AAAA"], encoding: "f32-base64" },
    { vectors: ["AAAA"], encoding: "f32-base64", dimension: 1 },
    { vectors: [[1]], encoding: "json" },
    { vectors: [[1]], encoding: "f64" },
    { vectors: [[1]], dimension: 0 },
  ],
  "embed/sparse": [
    { sparse: [] },
    { sparse: [{ indices: [1], values: [0.5] }] },
    { sparse: [{ indices: [1.5], values: [] }] },
    { sparse: [{}] },
  ],
  "embed/multi": [{ matrices: [[[1]]] }, { matrices: [[1]] }, {}],
  rerank: [
    { scores: [1] },
    { scores: [1], order: [0] },
    { scores: [1], order: [0.5] },
    { order: [0] },
    { results: [] },
  ],
  "query/transform": [{ queries: ["a"] }, { queries: "a" }, { queries: [], hypothetical: 5 }, {}],
  graph: [
    { hits: [hit] },
    { communities: [{ id: 1 }] },
    { communities: [{}] },
    { communities: 1 },
    { nodes: [{ id: "a" }], edges: [{ src: "a", dst: 1 }] },
    { nodes: [], edges: [{ src: "a" }] },
    { op: "drift" },
  ],
  "index/add": [{ ids: [] }, { ids: ["a"], chunks: 2 }, { ids: [1] }, { ids: ["a"], chunks: 1.5 }, {}],
  "index/delete": [{ deleted: 0 }, { deleted: -1 }, { deleted: "1" }, {}],
  "catalog/list": [
    { engines: [] },
    { engines: [{ id: "a", server: { name: "s" }, capabilities: {} }] },
    { engines: [{ id: "a", capabilities: {} }] },
    { engines: [{ id: "a", server: { name: "s" }, capabilities: {}, endpoint: { transport: "carrier pigeon" } }] },
  ],
  feedback: [{ accepted: 0 }, { accepted: 0.5 }, {}],
  "memory/build": [{ memoryId: "m" }, { memoryId: 1 }, { memoryId: "m", tokens: -1 }],
  "memory/recall": [{ clues: [] }, { clues: [{ weight: "1" }] }, {}],
};

describe("a result is right where the schema says so:", () => {
  test.each(Object.entries(RESULTS))("%s", (method, results) => {
    const bySchema = results.map((result) => [JSON.stringify(result), isResult({ method, result })]);
    const byHand = results.map((result) => [JSON.stringify(result), resultFault(method, result) === undefined]);
    expect(byHand).toEqual(bySchema);
    expect(new Set(bySchema.map(([, right]) => right)).size).toBe(2);
  });
});

const error = { code: -32602, message: "no" };
const RESPONSES: readonly unknown[] = [
  { jsonrpc: "2.0", id: 0, result: {} },
  { jsonrpc: "2.0", id: "", result: {} },
  { jsonrpc: "2.0", id: null, result: {} },
  { jsonrpc: "2.0", result: {} },
  { jsonrpc: "2.0", id: 1, result: [] },
  { jsonrpc: "2.0", id: 1, result: {}, error },
  { jsonrpc: "2.0", id: 1, error },
  { jsonrpc: "2.0", id: null, error },
  { jsonrpc: "2.0", id: true, error },
  { jsonrpc: "2.0", id: 1, error: { code: 1.5, message: "no" } },
  { jsonrpc: "2.0", id: 1, error: { code: -32602 } },
  { jsonrpc: "2.0", id: 1 },
  { jsonrpc: 2, id: 1, result: {} },
  { id: 1, result: {} },
  5,
];

test("a response is right where the schema says so", () => {
  const bySchema = RESPONSES.map((one) => [JSON.stringify(one), isSuccess(one) || isError(one)]);
  expect(RESPONSES.map((one) => [JSON.stringify(one), responseFault(one) === undefined])).toEqual(bySchema);
});

const progress = (params: unknown) => ({ jsonrpc: "2.0", method: "notifications/progress", params });
const log = (params: unknown) => ({ jsonrpc: "2.0", method: "notifications/log", params });
const NOTIFICATIONS: readonly unknown[] = [
  progress({ progressToken: 0 }),
  progress({ progressToken: "t", progress: 1, stage: "recall", partial: { hits: [] } }),
  progress({ progressToken: 1.5 }),
  progress({ progressToken: "t", progress: 1.5 }),
  progress({}),
  log({ level: "info", message: "m" }),
  log({ level: "fatal", message: "m" }),
  log({ level: "info" }),
  { jsonrpc: "2.0", method: "notifications/else" },
  { jsonrpc: "2.0", method: "notifications/else", id: 1 },
];

test("a notification is right where the schema says so", () => {
  const bySchema = NOTIFICATIONS.map((one) => [JSON.stringify(one), isNotification(one)]);
  expect(NOTIFICATIONS.map((one) => [JSON.stringify(one), notificationFault(one) === undefined])).toEqual(bySchema);
});

test("a member that is null counts as absent, which the schema does not know", () => {
  expect(resultFault("retrieve", { hits: [{ ...hit, text: null }], nextCursor: null })).toBeUndefined();
  expect(resultFault("retrieve", { hits: null })).toBe("result.hits must be an array");
});
