import { isMethodName, type MethodName } from "../protocol/methods.ts";
import { isObject } from "../protocol/params.ts";
import {
  allOf,
  anyObject,
  anything,
  either,
  flag,
  integer,
  integerFrom,
  list,
  number,
  numberIn,
  object,
  oneOf,
  recordOf,
  type Shape,
  text,
} from "./shape.ts";

/** The shapes of what a server sends: RCP's JSON schema, by hand (schema/rcp-1.0.json of the protocol). */

const modality = oneOf("text", "image", "audio", "code", "multimodal");
const unit = oneOf(
  ...["chunk", "passage", "document", "node", "triplet", "path", "subgraph", "community", "tree-node", "page"],
);
const mode = oneOf("dense", "sparse", "hybrid");
const peer = object({ name: text }, { version: text });
const identifier = either(text, number);
const vector = list(number);

const capabilities = object(
  {},
  {
    embed: object(
      {},
      {
        dimension: integerFrom(1),
        identity: text,
        batchLimit: integerFrom(1),
        normalized: flag,
        modalities: list(modality),
        encodings: list(text),
      },
    ),
    sparseEmbed: object({}, { identity: text, vocabulary: integerFrom(1) }),
    multiVector: object(
      {},
      { dimension: integerFrom(1), identity: text, similarity: oneOf("dot", "cosine"), modalities: list(modality) },
    ),
    rerank: object(
      {},
      { methods: list(oneOf("cross-encoder", "colbert", "llm")), maxCandidates: integerFrom(1), models: list(text) },
    ),
    retrieve: object(
      {},
      {
        maxK: integerFrom(1),
        modes: list(mode),
        modalities: list(modality),
        fusion: list(oneOf("rrf", "weighted", "convex")),
        mmr: flag,
        rerankBuiltin: flag,
        deterministic: flag,
        snapshots: flag,
        units: list(unit),
        levels: integerFrom(1),
        tokenBudget: flag,
        confidence: flag,
        scoreScale: oneOf("cosine", "dot", "bm25", "probability", "unbounded"),
        scoreFloor: number,
        defaultMode: mode,
      },
    ),
    transform: object({}, { methods: list(oneOf("rewrite", "hyde", "multi-query", "decompose", "step-back")) }),
    graph: object({}, { ops: list(text) }),
    index: object({}, { writable: flag, chunking: flag, contextual: flag }),
    session: object({}, { dedup: flag, ttlSeconds: integerFrom(0) }),
    feedback: anyObject,
    memory: object({}, { scopes: list(oneOf("global", "session")), clues: flag }),
    filter: object({}, { fields: either(list(text), recordOf(text)), operators: list(text) }),
    streaming: anyObject,
    pagination: anyObject,
    citations: either(flag, anyObject),
    log: object({}, { levels: list(text) }),
    catalog: anyObject,
  },
);

const hit = object(
  { id: identifier, score: number },
  {
    confidence: numberIn(0, 1),
    text,
    content: list(object({ type: oneOf("text", "image", "audio", "blob") })),
    modality,
    unit,
    level: integerFrom(0),
    meta: anyObject,
    vector,
    scores: recordOf(number),
    citation: object({}, { source: text, uri: text, title: text, start: integer, end: integer, page: integer }),
    provenance: object(
      {},
      {
        path: list(text),
        nodes: list(text),
        edges: list(object({ src: text, dst: text })),
        leaves: list(text),
      },
    ),
    trust: object(
      { level: oneOf("trusted", "community", "untrusted") },
      { score: numberIn(0, 1), injectionSuspected: flag, sanitized: flag },
    ),
    chunk: object({}, { docId: text, index: integer, context: text }),
  },
);

const initializeResult = object({ protocolVersion: integerFrom(1), server: peer, capabilities });
const usage = object(
  {},
  {
    candidates: integerFrom(0),
    reranked: integerFrom(0),
    latencyMs: numberIn(0, Number.MAX_VALUE),
    notes: list(text),
    tokens: integerFrom(0),
  },
);

const community = object({ id: identifier }, { summary: text, score: number, level: integerFrom(0) });
const graphResult = allOf(
  either(object({ hits: anything }), object({ communities: anything }), object({ nodes: anything })),
  object(
    {},
    {
      hits: list(hit),
      followups: list(text),
      summary: text,
      communities: list(community),
      nodes: list(object({ id: identifier }, { score: number })),
      edges: list(object({ src: identifier, dst: identifier }, { weight: number })),
      nextCursor: text,
      usage,
    },
  ),
);

/** RCP §7.3.1: a binary encoding comes with its dimension. */
const binaryHasDimension: Shape = (value, path) =>
  isObject(value) && value.encoding === "f32-base64" && !Object.hasOwn(value, "dimension")
    ? `${path} must have dimension, because encoding is f32-base64`
    : undefined;

const RESULTS = {
  initialize: initializeResult,
  info: initializeResult,
  ping: object({}, { nonce: identifier }),
  shutdown: anyObject,
  embed: allOf(
    object(
      { vectors: list(either(vector, text)) },
      { encoding: oneOf("json", "f32-base64"), dimension: integerFrom(1) },
    ),
    binaryHasDimension,
  ),
  "embed/sparse": object({ sparse: list(object({ indices: list(integer), values: list(number) })) }),
  "embed/multi": object({ matrices: list(list(vector)) }, { dimension: integerFrom(1) }),
  rerank: object({ scores: list(number) }, { order: list(integer), usage }),
  retrieve: object({ hits: list(hit) }, { nextCursor: text, indexVersion: text, usage, rewrittenQuery: text }),
  "query/transform": object({ queries: list(text) }, { hypothetical: text }),
  graph: graphResult,
  "index/add": object({ ids: list(text) }, { chunks: integer }),
  "index/delete": object({ deleted: integerFrom(0) }),
  "catalog/list": object({
    engines: list(
      object(
        { id: text, server: peer, capabilities },
        {
          endpoint: object({ transport: oneOf("stdio", "http") }, { url: text, command: list(text) }),
        },
      ),
    ),
  }),
  feedback: object({ accepted: integerFrom(0) }),
  "memory/build": object({ memoryId: text }, { tokens: integerFrom(0) }),
  "memory/recall": object({
    clues: list(object({}, { query: text, seedIds: list(text), weight: number })),
  }),
  "x-pgrcp/document": object({ document: object({ id: text }) }),
} as const satisfies Record<MethodName, Shape>;

const errorObject = object({ code: integer, message: text });

const response: Shape = (value, path) => {
  if (!isObject(value)) return `${path} must be an object`;
  const isError = Object.hasOwn(value, "error");
  if (isError === Object.hasOwn(value, "result")) return `${path} must have either result or error`;
  const envelope = { jsonrpc: oneOf("2.0") };
  return isError
    ? object({ ...envelope, id: either(text, number, oneOf(null)), error: errorObject })(value, path)
    : object({ ...envelope, id: identifier, result: anyObject })(value, path);
};

/** What is wrong with a frame as a JSON-RPC response (RCP §4.2, §4.3). */
export const responseFault = (frame: unknown): string | undefined => response(frame, "response");

/** What is wrong with the `result` of a method (RCP §7). */
export const resultFault = (method: string, result: unknown): string | undefined =>
  isMethodName(method) ? RESULTS[method](result, "result") : undefined;

const NOTIFICATIONS: Readonly<Record<string, Shape>> = {
  "notifications/progress": object(
    { progressToken: either(text, integer) },
    { progress: numberIn(0, 1), stage: text, message: text, partial: object({}, { hits: list(hit) }) },
  ),
  "notifications/log": object(
    { level: oneOf("debug", "info", "notice", "warning", "error"), message: text },
    { logger: text, data: anyObject },
  ),
};

/** What is wrong with a frame as a notification of a server (RCP §9, §17.1). */
export function notificationFault(frame: unknown): string | undefined {
  const envelope = object({ jsonrpc: oneOf("2.0"), method: text })(frame, "notification");
  if (envelope !== undefined || !isObject(frame)) return envelope;
  if (Object.hasOwn(frame, "id")) return "a notification must have no id";
  const shape = NOTIFICATIONS[String(frame.method)];
  return shape === undefined ? undefined : shape(frame.params, "params");
}

/** RCP §12.1: the conventional members of `error.data`. */
export const errorDataFault = (data: unknown): string | undefined =>
  object({}, { field: text, option: text, retryable: flag, retryAfterMs: integerFrom(0), detail: text })(
    data,
    "error.data",
  );
