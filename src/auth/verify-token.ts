import type { Principal } from "./principal.ts";

/** Why a token was refused: for the log, never for the caller. */
export class TokenRefused extends Error {
  override readonly name = "TokenRefused";
  /** The check that failed: `missing`, `scheme`, `form`, `alg`, `kid`, `signature`, `iss`, `aud`, `exp`, `nbf`, `iat`, `sub`, `tenant`, `scope`, `typ`, … */
  readonly check: string;
  readonly claims: {
    readonly issuer?: string;
    readonly audience?: readonly string[];
    readonly expiresAt?: number;
    readonly keyId?: string;
  };

  constructor(check: string, claims: TokenRefused["claims"] = {}, options?: ErrorOptions) {
    super(`token refused: ${check}`, options);
    this.check = check;
    this.claims = claims;
  }
}

export interface TokenVerifier {
  /**
   * @param authorization every Authorization header of the request, as received
   * @throws TokenRefused when the caller must be answered 401; RpcError -32010 (retryable) when no key can be had
   */
  verify(authorization: readonly string[]): Promise<Principal>;
}
