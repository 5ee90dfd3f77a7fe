import { createHmac, timingSafeEqual } from "node:crypto";
import type { CorpusName } from "../catalog/corpus.ts";
import type { RetrievalPlan } from "../plan/retrieval-plan.ts";
import type { SessionOwner } from "../sql/sessions.ts";

/**
 * A cursor: letters that name a ranked list and a place in it, signed by the tenant's key. It is good for the caller, the corpus
 * and the plan that it was made for, and for nothing else.
 *
 * 16 bytes signature, 1 byte kind, 16 bytes list or version, 4 bytes each for place, candidates, most candidates and the second of its end,
 * 2 bytes near-duplicates, and 4 bytes for each chunk that pages before have shown.
 */

/** What a cursor is good for. */
export interface CursorScope {
  readonly owner: SessionOwner;
  readonly corpus: CorpusName;
  readonly plan: RetrievalPlan;
}

/** What of a plan the server's settings decide. A deploy may change those between two pages of one list. */
export type Caps = Pick<RetrievalPlan, "candidateK" | "maxCandidateK" | "maxNearDuplicates">;

export interface Place {
  /**
   * A list that was kept, by its id; or one to be found anew in the version of the corpus that the first page read, by its token. Anew it
   * may come out a little otherwise where a graph, or another vector of the query, leads to it: then it has what pages before did not show.
   */
  readonly list:
    | { readonly kind: "kept"; readonly id: Uint8Array }
    | { readonly kind: "version"; readonly token: string; readonly shown: readonly number[] };
  /** How many places of the list were used up before. */
  readonly offset: number;
  readonly caps: Caps;
  /** Epoch seconds. */
  readonly expiresAt: number;
}

export interface SignedPlace extends Place {
  readonly signature: Uint8Array;
}

const SIGNATURE_BYTES = 16;
const PLACE_BYTES = 35;
const CHUNK_BYTES = 4;
const KINDS = ["kept", "version"] as const;

export function writeCursor(place: Place, scope: CursorScope, key: Uint8Array): string {
  const bytes = placeBytes(place);
  return Buffer.concat([sign(bytes, scope, key), bytes]).toString("base64url");
}

/** @returns undefined for a text that is no cursor, whoever signed it */
export function parseCursor(text: string): SignedPlace | undefined {
  const signed = Buffer.from(text, "base64url");
  const signature = signed.subarray(0, SIGNATURE_BYTES);
  const bytes = signed.subarray(SIGNATURE_BYTES);
  const shownBytes = bytes.length - PLACE_BYTES;
  // Letters that stand for no bits, and others that are passed over, would make two texts one cursor.
  if (shownBytes < 0 || shownBytes % CHUNK_BYTES > 0 || signed.toString("base64url") !== text) return undefined;
  const kind = KINDS[bytes.readUInt8(0)];
  if (kind === undefined || (kind === "kept" && shownBytes > 0)) return undefined;
  const id = bytes.subarray(1, 17);
  const shown = Array.from({ length: shownBytes / CHUNK_BYTES }, (_, at) =>
    bytes.readUInt32BE(PLACE_BYTES + at * CHUNK_BYTES),
  );
  return {
    list: kind === "kept" ? { kind, id } : { kind, token: id.toString("base64url"), shown },
    offset: bytes.readUInt32BE(17),
    caps: {
      candidateK: bytes.readUInt32BE(21),
      maxCandidateK: bytes.readUInt32BE(25),
      maxNearDuplicates: bytes.readUInt16BE(29),
    },
    expiresAt: bytes.readUInt32BE(31),
    signature,
  };
}

/** Whether this tenant's key signed the place for this scope. */
export const isSigned = ({ signature, ...place }: SignedPlace, scope: CursorScope, key: Uint8Array): boolean =>
  timingSafeEqual(signature, sign(placeBytes(place), scope, key));

/** A plan without what later pages do not ask and without what the cursor itself carries. */
function requestOf({
  cursor,
  notes,
  candidateK,
  firstCandidateK,
  maxCandidateK,
  maxNearDuplicates,
  maxHitCharacters,
  rerank,
  ...request
}: RetrievalPlan) {
  return { ...request, isReranked: rerank !== undefined };
}

function placeBytes({ list, offset, caps, expiresAt }: Place): Buffer {
  const shown = list.kind === "kept" ? [] : list.shown;
  const bytes = Buffer.alloc(PLACE_BYTES + shown.length * CHUNK_BYTES);
  bytes.writeUInt8(KINDS.indexOf(list.kind), 0);
  bytes.set(list.kind === "kept" ? list.id : Buffer.from(list.token, "base64url"), 1);
  bytes.writeUInt32BE(offset, 17);
  bytes.writeUInt32BE(caps.candidateK, 21);
  bytes.writeUInt32BE(caps.maxCandidateK, 25);
  bytes.writeUInt16BE(caps.maxNearDuplicates, 29);
  bytes.writeUInt32BE(expiresAt, 31);
  for (const [at, chunkNo] of shown.entries()) bytes.writeUInt32BE(chunkNo, PLACE_BYTES + at * CHUNK_BYTES);
  return bytes;
}

function sign(place: Uint8Array, { owner, corpus, plan }: CursorScope, key: Uint8Array): Buffer {
  const { tenantId, issuer, subject, client } = owner;
  const scope = JSON.stringify([tenantId, issuer, subject, client, corpus, requestOf(plan)]);
  const secret = Buffer.from(key).toString("base64"); // ten times as fast as a key in bytes
  return createHmac("sha256", secret).update(place).update(scope, "utf8").digest().subarray(0, SIGNATURE_BYTES);
}
