import { type CryptoKey, compactVerify, errors, type JWSHeaderParameters } from "jose";
import { RpcError } from "../protocol/errors.ts";
import type { TrustedIssuer } from "./issuers.ts";
import { type DecodedToken, publicClaims } from "./token-form.ts";
import { TokenRefused } from "./verify-token.ts";

/**
 * Checks that the issuer made the token.
 *
 * @returns the key that signed it
 * @throws TokenRefused `kid` when the issuer has no such key or several, `key` when it has one that is too weak or malformed,
 *   `signature` when the signature is not its; RpcError -32010 when the issuer's keys are out of reach
 */
export async function verifySignature(token: DecodedToken, issuer: TrustedIssuer): Promise<CryptoKey | Uint8Array> {
  try {
    const key = await issuer.keys.find(token.header as JWSHeaderParameters);
    await compactVerify(token.text, key, { algorithms: [...issuer.algorithms] });
    return key;
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
