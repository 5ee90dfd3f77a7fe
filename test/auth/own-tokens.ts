import { generateKeyPairSync } from "node:crypto";
import { CompactSign, SignJWT } from "jose";
import { createTokenVerifier, type VerifierOptions } from "../../src/auth/jwt-verifier.ts";
import type { Principal } from "../../src/auth/principal.ts";
import { TokenRefused } from "../../src/auth/verify-token.ts";
import { type Config, configSchema } from "../../src/config/config.ts";

export const ISSUER = "https://idp.test/";

/** A key of an issuer: it signs, and its public half can be published. */
export interface IssuerKey {
  readonly jwk: Record<string, unknown>;
  sign(claims?: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>;
  /** Signs a payload as it is written, for what JSON.stringify cannot write. */
  signText(payload: string): Promise<string>;
}

/** A new P-256 key. The claims of what it signs are those of a good read token, but for what is given. */
export function issuerKey(kid: string, issuer = ISSUER): IssuerKey {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return {
    jwk: { ...publicKey.export({ format: "jwk" }), kid, alg: "ES256", use: "sig" },
    sign: (claims = {}, header = {}) =>
      new SignJWT({ ...goodClaims(issuer), ...claims })
        .setProtectedHeader({ alg: "ES256", kid, typ: "at+jwt", ...header })
        .sign(privateKey),
    signText: (payload) =>
      new CompactSign(new TextEncoder().encode(payload))
        .setProtectedHeader({ alg: "ES256", kid, typ: "at+jwt" })
        .sign(privateKey),
  };
}

export function goodClaims(issuer = ISSUER): Record<string, unknown> {
  const now = Math.floor(Date.now() / 1000);
  return {
    iss: issuer,
    aud: "pgrcp:read",
    sub: "alice",
    client_id: "agent",
    jti: "one",
    iat: now,
    exp: now + 300,
    tenant: "acme",
    scope: "rcp:read",
  };
}

type AuthInput = Record<string, unknown>;

/** The `auth` section with its defaults; one inline issuer with the key, unless issuers are given. */
export function authWith(key: IssuerKey, auth: AuthInput = {}): Config["auth"] {
  return configSchema.parse({ auth: { issuers: [{ issuer: ISSUER, jwks: { keys: [key.jwk] } }], ...auth } }).auth;
}

/** The principal of a token, or the name of the check that refused it. */
export async function outcome(
  token: string,
  auth: Config["auth"],
  options: VerifierOptions = {},
): Promise<Principal | string> {
  try {
    return await createTokenVerifier(auth, options).verify([`Bearer ${token}`]);
  } catch (error) {
    if (error instanceof TokenRefused) return error.check;
    throw error;
  }
}
