import { isObject } from "../../protocol/params.ts";
import type { TrustLevel } from "../../protocol/wire.ts";
import { RcpTransportError } from "../errors.ts";
import type { Json } from "../exchange.ts";
import type { RenderableHit } from "../render-hits.ts";

/** A hit of any RCP server: what most of them have, as far as it has the right type. */
export interface EngineHit extends RenderableHit {
  readonly id: string;
  readonly score: number;
  readonly meta: Readonly<Record<string, unknown>>;
}

/** @throws RcpTransportError `malformed` for an answer without hits, or a hit without an id and a score */
export function readEngineHits({ hits }: Json): EngineHit[] {
  if (!Array.isArray(hits)) throw malformed("retrieve answered without hits");
  return hits.map(readHit);
}

const malformed = (detail: string) => new RcpTransportError("malformed", detail, false);

function readHit(hit: unknown): EngineHit {
  if (!isObject(hit) || !(typeof hit.id === "string" || typeof hit.id === "number") || typeof hit.score !== "number")
    throw malformed("a hit needs an id and a score");
  const { text, meta, citation, trust, chunk } = hit;
  return {
    id: String(hit.id),
    score: hit.score,
    meta: isObject(meta) ? meta : {},
    ...(typeof text === "string" && { text }),
    ...(isObject(citation) && { citation: readStrings(citation, ["source", "uri", "title"]) }),
    ...(isObject(trust) && { trust: readTrust(trust) }),
    ...(isObject(chunk) && typeof chunk.docId === "string" && { chunk: { docId: chunk.docId } }),
  };
}

const readStrings = <Name extends string>(from: Json, names: readonly Name[]): { [name in Name]?: string } => {
  const read: { [name in Name]?: string } = {};
  for (const name of names) {
    const value = from[name];
    if (typeof value === "string") read[name] = value;
  }
  return read;
};

const LEVELS: readonly TrustLevel[] = ["trusted", "community", "untrusted"];

function readTrust({ level, injectionSuspected }: Json): NonNullable<RenderableHit["trust"]> {
  return {
    level: LEVELS.find((one) => one === level) ?? "untrusted",
    injectionSuspected: injectionSuspected === true,
  };
}
