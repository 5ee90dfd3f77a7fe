import { createHash } from "node:crypto";
import type { CorpusName } from "../catalog/corpus.ts";
import { checkIdentifier } from "../protocol/identifier.ts";
import { member, type Params, readObject } from "../protocol/params.ts";

/** A write that may be sent again (RCP §7.10): what is compared and kept of it are digests of its key and of what it asks for. */
export interface RepeatableWrite {
  readonly keyHash: Uint8Array;
  readonly requestHash: Uint8Array;
}

/**
 * `_meta.idempotencyKey`, or undefined when the call has none.
 *
 * @throws RpcError -32602 for a key that is no identifier (DESIGN ruling 15)
 */
export function readIdempotencyKey(params: Params, maxBytes: number): string | undefined {
  const key = member(readObject(params, "_meta") ?? {}, "idempotencyKey");
  if (key === undefined) return undefined;
  return checkIdentifier(key, "_meta.idempotencyKey", maxBytes, "limits.maxIdempotencyKeyBytes");
}

/**
 * The write that a plan with a key is, in its corpus. Requests that plan the same are the same: what a retry changes around them,
 * such as its deadline or its trace id, is in no plan.
 */
export function repeatableWrite(
  plan: { readonly idempotencyKey: string | undefined },
  corpus: CorpusName,
): RepeatableWrite | undefined {
  const { idempotencyKey } = plan;
  if (idempotencyKey === undefined) return undefined;
  return { keyHash: sha256(idempotencyKey), requestHash: sha256(JSON.stringify([corpus, plan])) };
}

const sha256 = (text: string): Uint8Array => createHash("sha256").update(text, "utf8").digest();
