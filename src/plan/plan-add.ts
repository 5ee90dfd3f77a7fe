import type { FilterFields } from "../catalog/corpus.ts";
import { invalidParams, optionUnsupported, payloadTooLarge } from "../protocol/errors.ts";
import { checkIdentifier } from "../protocol/identifier.ts";
import { isObject, member, type Params, readArray, readBoolean } from "../protocol/params.ts";
import { hasNul, isWellFormed, utf8Bytes } from "../protocol/text.ts";
import type { TrustLevel } from "../protocol/wire.ts";
import { type CheckedMeta, checkMeta, citationOf, type DocumentCitation, type MetaLimits } from "./check-meta.ts";
import { type BodyReference, readBody } from "./content-text.ts";
import { readIdempotencyKey } from "./idempotency-key.ts";

export interface AddLimits extends MetaLimits {
  readonly maxDocumentsPerAdd: number;
  readonly maxDocIdBytes: number;
  readonly maxTextBytes: number;
  readonly maxIdempotencyKeyBytes: number;
}

/** A document that may be written, once its text is there. */
export interface PlannedDocument {
  /** Undefined: the server mints one. */
  readonly docId: string | undefined;
  /** As stored: U+0000 became U+FFFD. A reference is still to be fetched. */
  readonly text: string | BodyReference;
  readonly meta: CheckedMeta;
  readonly citation: DocumentCitation;
  /** What the document says of itself; it may only lower the credential's ceiling. */
  readonly claimedTrust: TrustLevel | undefined;
}

export interface AddOffer {
  readonly chunking: boolean;
  readonly contextual: boolean;
  /** Undefined: nothing is fetched. */
  readonly fetch: { readonly maxUris: number } | undefined;
  readonly fields: FilterFields;
  readonly limits: AddLimits;
}

export interface AddPlan {
  readonly documents: readonly PlannedDocument[];
  /** False: every document stays one chunk. */
  readonly chunk: boolean;
  /** True: each chunk gets a context. */
  readonly contextual: boolean;
  readonly notes: readonly string[];
  readonly idempotencyKey: string | undefined;
}

/**
 * Reads `index/add` params (RCP §7.10). All or nothing: one bad document refuses the call before anything is written.
 *
 * @throws RpcError -32602 naming the member, -32013 naming the setting, -32005 for `chunk` or `contextual` when not offered
 */
export function planAdd(params: Params, offer: AddOffer): AddPlan {
  const { limits, fetch } = offer;
  const documents = readArray(params, "documents");
  if (documents.length > limits.maxDocumentsPerAdd)
    throw payloadTooLarge({
      field: "documents",
      detail: `at most ${limits.maxDocumentsPerAdd} documents a call (limits.maxDocumentsPerAdd)`,
    });
  const chunk = readBoolean(params, "chunk");
  if (chunk === true && !offer.chunking)
    throw optionUnsupported({ option: "chunk", detail: "chunking is not advertised" });
  const contextual = readBoolean(params, "contextual") ?? false;
  if (contextual && !offer.contextual)
    throw optionUnsupported({ option: "contextual", detail: "contextual chunks are not advertised" });
  const idempotencyKey = readIdempotencyKey(params, limits.maxIdempotencyKeyBytes);

  const notes: string[] = [];
  const planned = documents.map((document, index) => planDocument(document, `documents[${index}]`, offer, notes));
  if (fetch !== undefined && planned.filter(({ text }) => typeof text !== "string").length > fetch.maxUris)
    throw payloadTooLarge({
      field: "documents",
      detail: `at most ${fetch.maxUris} bodies by uri a call (fetch.maxUris)`,
    });
  return {
    documents: planned,
    chunk: chunk ?? offer.chunking,
    contextual,
    notes,
    idempotencyKey,
  };
}

function planDocument(document: unknown, path: string, offer: AddOffer, notes: string[]): PlannedDocument {
  const { fields, limits } = offer;
  if (!isObject(document)) throw invalidParams({ field: path, detail: "must be an object with a text" });
  if (Object.keys(document).length === 0) throw invalidParams({ field: path, detail: "must hold a text" });
  const id = member(document, "id");
  const docId =
    id === undefined ? undefined : checkIdentifier(id, `${path}.id`, limits.maxDocIdBytes, "limits.maxDocIdBytes");
  const body = readBody(member(document, "text"), `${path}.text`, offer);
  const text = typeof body === "string" ? planText(body, `${path}.text`, limits, notes) : body;
  const meta = checkMeta(member(document, "meta"), fields, limits, `${path}.meta`);
  const citation = citationOf(meta.meta);
  return { docId, text, meta, citation, claimedTrust: claimedTrust(member(document, "meta")) };
}

function planText(text: string, field: string, limits: AddLimits, notes: string[]): string {
  if (!isWellFormed(text))
    throw invalidParams({ field, detail: "must be well-formed Unicode: it holds a lone surrogate" });
  if (utf8Bytes(text) > limits.maxTextBytes)
    throw payloadTooLarge({
      field,
      detail: `a text is at most ${limits.maxTextBytes} bytes in UTF-8 (limits.maxTextBytes)`,
    });
  if (!hasNul(text)) return text;
  notes.push(`${field}: U+0000 was stored as U+FFFD`);
  return text.replaceAll("\u0000", "\uFFFD");
}

/** `meta.trust.level`, the only part of meta that trust reads (DESIGN section 6). */
function claimedTrust(meta: unknown): TrustLevel | undefined {
  const trust = isObject(meta) ? member(meta, "trust") : undefined;
  const level = isObject(trust) ? member(trust, "level") : undefined;
  return level === "trusted" || level === "community" || level === "untrusted" ? level : undefined;
}
