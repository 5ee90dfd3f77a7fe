import { createHash } from "node:crypto";
import { type CryptoKey, compactVerify, errors, type JWSHeaderParameters } from "jose";
import { RpcError } from "../protocol/errors.ts";
import type { TrustedIssuer } from "./issuers.ts";
import { type DecodedToken, publicClaims } from "./token-form.ts";
import { TokenRefused } from "./verify-token.ts";

/** Of one key's signatures those of the tokens that came last are remembered. */
const MAX_REMEMBERED = 4_096;

/** Hashes of tokens, by the key that signed them: what a key signed is forgotten with the key. */
const remembered = new WeakMap<CryptoKey | Uint8Array, Set<string>>();

/**
 * Checks that the issuer made the token. For a token that comes again the key is looked up anew, and the signature is not worked out.
 *
 * @throws TokenRefused `kid` when the issuer has no such key or several, `key` when it has one that is too weak or malformed,
 *   `signature` when the signature is not its; RpcError -32010 when the issuer's keys are out of reach
 */
export async function verifySignature(token: DecodedToken, issuer: TrustedIssuer): Promise<void> {
  try {
    const key = await issuer.keys.find(token.header as JWSHeaderParameters);
    const signed = remembered.get(key) ?? new Set();
    remembered.set(key, signed);
    const hash = createHash("sha256").update(token.text).digest("base64");
    if (!signed.delete(hash)) await compactVerify(token.text, key, { algorithms: [...issuer.algorithms] });
    signed.add(hash);
    if (signed.size > MAX_REMEMBERED) for (const oldest of signed.values().take(1)) signed.delete(oldest);
  } catch (cause) {
    if (cause instanceof RpcError) throw cause;
    throw new TokenRefused(failedCheck(cause), publicClaims(token), { cause });
  }
}

function failedCheck(error: unknown): string {
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) return "kid";
  if (error instanceof errors.JWSSignatureVerificationFailed || error instanceof errors.JWSInvalid) return "signature";
  return "key";
}
