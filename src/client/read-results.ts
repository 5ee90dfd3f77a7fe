import { PROTOCOL_VERSION } from "../protocol/methods.ts";
import { isObject } from "../protocol/params.ts";
import type { Hit, Progress, RetrieveResult, TransformResult } from "../protocol/wire.ts";
import { RcpTransportError } from "./errors.ts";
import type { Json } from "./exchange.ts";
import type {
  AddResult,
  DeleteResult,
  DocumentView,
  EmbedResult,
  Engine,
  GraphResult,
  MemoryBuildResult,
  MemoryRecallResult,
  MultiVectorResult,
  RerankResult,
  ServerInfo,
  SparseResult,
} from "./types.ts";

/**
 * Results from what a server answered: what a caller cannot do without is looked at, the rest is taken as typed. What is
 * counted by the request has to be as many. Each throws an RcpTransportError with the fault `malformed`.
 */

const without = (what: string) => new RcpTransportError("malformed", `the answer has no ${what} of any use`, false);

function need(isThere: boolean, what: string): void {
  if (!isThere) throw without(what);
}

const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === "string");
const isNumbers = (value: unknown): value is number[] =>
  Array.isArray(value) && value.every((one) => typeof one === "number");

export function readServerInfo(result: Json): ServerInfo {
  need(result.protocolVersion === PROTOCOL_VERSION, "protocolVersion");
  need(isObject(result.server), "server");
  need(isObject(result.capabilities), "capabilities");
  return result as unknown as ServerInfo;
}

export function readRetrieveResult(result: Json): RetrieveResult {
  return { ...result, hits: readHits(result.hits) } as unknown as RetrieveResult;
}

/** RCP §7.7: an id may be a number, which counts as its digits (§16.3); a hit that names no document is one of its own. */
function readHits(hits: unknown): readonly Hit[] {
  if (!Array.isArray(hits)) throw without("hits");
  return hits.map((hit: unknown) => {
    const { id, score, chunk = { docId: String(id), index: 0 } } = isObject(hit) ? hit : {};
    need((typeof id === "string" || typeof id === "number") && typeof score === "number", "id and score of a hit");
    need(isObject(chunk) && typeof chunk.docId === "string", "chunk of a hit");
    return { ...(hit as object), id: String(id), chunk } as unknown as Hit;
  });
}

const readOptionalHits = (hits: unknown) => hits !== undefined && { hits: readHits(hits) };

/** @returns undefined for a frame that says nothing */
export function readProgress(params: Json): Progress | undefined {
  const { progress, stage, message, partial } = params;
  if (typeof progress !== "number" || typeof stage !== "string") return undefined;
  const hits = isObject(partial) ? partial.hits : undefined;
  return {
    progress,
    stage: stage as Progress["stage"],
    ...(typeof message === "string" && { message }),
    ...(Array.isArray(hits) && { partial: { hits: hits as readonly Hit[] } }),
  };
}

/** RCP §7.3.1: a blob of another length than the dimension says is refused. */
export function readEmbedResult(result: Json, count: number): EmbedResult {
  const { vectors, encoding, dimension } = result;
  if (!Array.isArray(vectors) || vectors.length !== count) throw without("vectors");
  if (encoding === "f32-base64") {
    if (typeof dimension !== "number") throw without("dimension");
    return { vectors: vectors.map((blob) => decodeVector(blob, dimension)), dimension };
  }
  if (!vectors.every(isNumbers)) throw without("vectors");
  return { vectors, ...(typeof dimension === "number" && { dimension }) };
}

function decodeVector(blob: unknown, dimension: number): Float32Array {
  let binary: string;
  try {
    binary = atob(String(blob));
  } catch {
    throw without("vectors");
  }
  need(binary.length === 4 * dimension, "vectors");
  const view = new DataView(Uint8Array.from(binary, (byte) => byte.charCodeAt(0)).buffer);
  return Float32Array.from({ length: dimension }, (_, index) => view.getFloat32(4 * index, true));
}

export function readSparseResult(result: Json, count: number): SparseResult {
  const { sparse } = result;
  const isVector = (one: unknown) => isObject(one) && isNumbers(one.indices) && isNumbers(one.values);
  need(Array.isArray(sparse) && sparse.length === count && sparse.every(isVector), "sparse");
  return result as unknown as SparseResult;
}

export function readMultiVectorResult(result: Json, count: number): MultiVectorResult {
  const { matrices, dimension } = result;
  const isMatrix = (one: unknown) => Array.isArray(one) && one.every(isNumbers);
  need(Array.isArray(matrices) && matrices.length === count && matrices.every(isMatrix), "matrices");
  need(typeof dimension === "number", "dimension");
  return result as unknown as MultiVectorResult;
}

export function readRerankResult(result: Json, count: number): RerankResult {
  const { scores, order } = result;
  need(isNumbers(scores) && scores.length === count, "scores");
  need(order === undefined || isNumbers(order), "order");
  return result as unknown as RerankResult;
}

export function readTransformResult(result: Json): TransformResult {
  need(isStrings(result.queries), "queries");
  return result as unknown as TransformResult;
}

export function readGraphResult(result: Json): GraphResult {
  for (const name of ["communities", "followups", "nodes", "edges"])
    need(result[name] === undefined || Array.isArray(result[name]), name);
  return { ...result, ...readOptionalHits(result.hits) } as unknown as GraphResult;
}

export function readAddResult({ ids, chunks }: Json, count: number): AddResult {
  if (!isStrings(ids) || ids.length !== count) throw without("ids");
  return { ids, ...(typeof chunks === "number" && { chunks }) };
}

export function readDeleteResult({ deleted }: Json): DeleteResult {
  if (typeof deleted !== "number") throw without("deleted");
  return { deleted };
}

export function readDocument({ document }: Json): DocumentView {
  if (!isObject(document) || typeof document.id !== "string") throw without("document");
  need(isObject(document.chunk) && typeof document.chunk.docId === "string", "chunk of the document");
  return document as unknown as DocumentView;
}

export function readEngines({ engines }: Json): readonly Engine[] {
  if (!Array.isArray(engines)) throw without("engines");
  for (const engine of engines) need(isObject(engine) && typeof engine.id === "string", "id of an engine");
  return engines;
}

export function readAccepted({ accepted }: Json): number {
  if (typeof accepted !== "number") throw without("accepted");
  return accepted;
}

export function readMemoryBuildResult(result: Json): MemoryBuildResult {
  need(typeof result.memoryId === "string", "memoryId");
  return result as unknown as MemoryBuildResult;
}

export function readMemoryRecallResult(result: Json): MemoryRecallResult {
  need(Array.isArray(result.clues), "clues");
  return { ...result, ...readOptionalHits(result.hits) } as unknown as MemoryRecallResult;
}
