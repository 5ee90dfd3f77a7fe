import { optionUnsupported, payloadTooLarge } from "../protocol/errors.ts";
import { checkIdentifier } from "../protocol/identifier.ts";
import { member, type Params, readArray } from "../protocol/params.ts";
import { checkIdempotencyKey } from "./idempotency-key.ts";

export interface DeleteLimits {
  readonly maxIdsPerDelete: number;
  readonly maxDocIdBytes: number;
  readonly maxIdempotencyKeyBytes: number;
}

/**
 * Reads `index/delete` params (RCP §7.11): document ids, each once.
 *
 * @throws RpcError -32602 naming the id, -32013 over `limits.maxIdsPerDelete`, -32005 for a filter (DESIGN ruling 10)
 */
export function planDelete(params: Params, limits: DeleteLimits): readonly string[] {
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
  checkIdempotencyKey(params, limits.maxIdempotencyKeyBytes);
  return [
    ...new Set(
      ids.map((id, index) => checkIdentifier(id, `ids[${index}]`, limits.maxDocIdBytes, "limits.maxDocIdBytes")),
    ),
  ];
}
