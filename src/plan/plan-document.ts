import { invalidParams } from "../protocol/errors.ts";
import { checkIdentifier } from "../protocol/identifier.ts";
import { member, type Params, readString } from "../protocol/params.ts";
import type { Unit } from "../protocol/wire.ts";
import { MAX_HIT_SUFFIX_BYTES } from "./plan-feedback.ts";

/** Which document, or which chunk of one. */
export interface DocumentPlan {
  readonly docId: string;
  readonly ordinal: number;
  readonly unit: Unit;
}

const UNITS: readonly Unit[] = ["document", "chunk"];
/** Chunks of later ordinals there are none: a document's chunks are counted by 32 bits. */
const MAX_ORDINAL = 2 ** 31 - 1;

/**
 * Reads `x-pgrcp/document` params: `id`, which is a hit's, and `unit`, which is `document` unless it is said to be `chunk`. A document's own
 * id is its hit's; one that ends in `#` and digits is written with `#0` behind it, as hits write it.
 *
 * @throws RpcError -32602 naming the member
 */
export function planDocument(params: Params, { maxDocIdBytes }: { readonly maxDocIdBytes: number }): DocumentPlan {
  const maxBytes = maxDocIdBytes + MAX_HIT_SUFFIX_BYTES;
  const id = checkIdentifier(member(params, "id"), "id", maxBytes, "limits.maxDocIdBytes and a chunk's number");
  const asked = readString(params, "unit") ?? "document";
  const unit = UNITS.find((one) => one === asked);
  if (unit === undefined) throw invalidParams({ field: "unit", detail: `must be one of ${UNITS.join(", ")}` });
  const [, docId = id, ordinal = "0"] = /^(.+)#(\d+)$/s.exec(id) ?? [];
  return { docId, ordinal: Math.min(Number(ordinal), MAX_ORDINAL), unit };
}
