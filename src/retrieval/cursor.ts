import { createHmac, timingSafeEqual } from "node:crypto";
import type { CorpusName } from "../catalog/corpus.ts";
import { LIST_ID_BYTES } from "../db/ranked-list-store.ts";
import type { RetrievalPlan } from "../plan/retrieval-plan.ts";
import type { SessionOwner } from "../sql/sessions.ts";

/**
 * A cursor: 48 letters that name a kept ranked list and a place in it, signed by the tenant's key. It is good for the caller, the
 * corpus and the plan that it was made for, and for nothing else.
 *
 * 16 bytes list, 4 bytes place, 16 bytes signature: 36 bytes fill 48 letters of base64url to the last bit, so that no two texts are
 * one cursor.
 */

/** What a cursor is good for. */
export interface CursorScope {
  readonly owner: SessionOwner;
  readonly corpus: CorpusName;
  readonly plan: RetrievalPlan;
}

export interface Place {
  readonly listId: Uint8Array;
  /** How many places of the list were used up before. */
  readonly offset: number;
}

export interface SignedPlace extends Place {
  readonly signature: Uint8Array;
}

const OFFSET_BYTES = 4;
const SIGNATURE_BYTES = 16;
const FORM = /^[A-Za-z0-9_-]{48}$/;

export function writeCursor({ listId, offset }: Place, scope: CursorScope, key: Uint8Array): string {
  const place = placeBytes({ listId, offset });
  return Buffer.concat([place, sign(place, scope, key)]).toString("base64url");
}

/** @returns undefined for a text that is no cursor, whoever signed it */
export function parseCursor(text: string): SignedPlace | undefined {
  if (!FORM.test(text)) return undefined;
  const bytes = Buffer.from(text, "base64url");
  return {
    listId: bytes.subarray(0, LIST_ID_BYTES),
    offset: bytes.readUInt32BE(LIST_ID_BYTES),
    signature: bytes.subarray(LIST_ID_BYTES + OFFSET_BYTES),
  };
}

/** Whether this tenant's key signed the place for this scope. */
export const isSigned = ({ signature, ...place }: SignedPlace, scope: CursorScope, key: Uint8Array): boolean =>
  timingSafeEqual(signature, sign(placeBytes(place), scope, key));

/**
 * A plan without what later pages do not ask and the server's settings decide, so that a deploy may change those: the list is found
 * already, however many candidates there were for it.
 */
function requestOf({
  cursor,
  notes,
  candidateK,
  maxCandidateK,
  maxNearDuplicates,
  maxHitCharacters,
  rerank,
  ...request
}: RetrievalPlan) {
  return { ...request, isReranked: rerank !== undefined };
}

function placeBytes({ listId, offset }: Place): Buffer {
  const number = Buffer.alloc(OFFSET_BYTES);
  number.writeUInt32BE(offset);
  return Buffer.concat([listId, number]);
}

function sign(place: Uint8Array, { owner, corpus, plan }: CursorScope, key: Uint8Array): Buffer {
  const { tenantId, issuer, subject, client } = owner;
  const scope = JSON.stringify([tenantId, issuer, subject, client, corpus, requestOf(plan)]);
  return createHmac("sha256", key).update(place).update(scope, "utf8").digest().subarray(0, SIGNATURE_BYTES);
}
