import { optionUnsupported, payloadTooLarge } from "../protocol/errors.ts";
import { checkIdentifier } from "../protocol/identifier.ts";
import { member, type Params, readArray } from "../protocol/params.ts";
import { readIdempotencyKey } from "./idempotency-key.ts";

export interface DeleteLimits {
  readonly maxIdsPerDelete: number;
  readonly maxDocIdBytes: number;
  readonly maxIdempotencyKeyBytes: number;
}

export interface DeletePlan {
  /** Each once. */
  readonly docIds: readonly string[];
  readonly idempotencyKey: string | undefined;
}

/**
 * Reads `index/delete` params (RCP §7.11).
 *
 * @throws RpcError -32602 naming the id, -32013 over `limits.maxIdsPerDelete`, -32005 for a filter (DESIGN ruling 10)
 */
export function planDelete(params: Params, limits: DeleteLimits): DeletePlan {
  if (member(params, "filter") !== undefined)
    throw optionUnsupported({
      option: "filter",
      detail: "index/delete takes ids only; a filter would be ignored and more deleted than asked",
    });
  const ids = readArray(params, "ids");
  if (ids.length > limits.maxIdsPerDelete)
    throw payloadTooLarge({
      field: "ids",
      detail: `at most ${limits.maxIdsPerDelete} ids a call (limits.maxIdsPerDelete)`,
    });
  const idempotencyKey = readIdempotencyKey(params, limits.maxIdempotencyKeyBytes);
  const docIds = new Set(
    ids.map((id, index) => checkIdentifier(id, `ids[${index}]`, limits.maxDocIdBytes, "limits.maxDocIdBytes")),
  );
  return { docIds: [...docIds], idempotencyKey };
}
