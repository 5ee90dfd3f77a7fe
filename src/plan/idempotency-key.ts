import { checkIdentifier } from "../protocol/identifier.ts";
import { member, type Params, readObject } from "../protocol/params.ts";

/** Refuses an idempotency key that could not be kept (RCP §7.10, DESIGN ruling 15). */
export function checkIdempotencyKey(params: Params, maxBytes: number): void {
  const key = member(readObject(params, "_meta") ?? {}, "idempotencyKey");
  if (key !== undefined) checkIdentifier(key, "_meta.idempotencyKey", maxBytes, "limits.maxIdempotencyKeyBytes");
}
