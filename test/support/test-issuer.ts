import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import type { Credential } from "../../src/auth/principal.ts";

export interface TokenClaims {
  /** What the token is good for: its audiences and its scopes. One credential unless the test says otherwise. */
  readonly credentials?: readonly Credential[];
  /** Scopes, when they are to differ from the audiences. */
  readonly scope?: string;
  readonly tenant?: string;
  /** The claim `corpora`; left out when absent. */
  readonly corpora?: unknown;
  /** The claim `cnf`; left out when absent. */
  readonly cnf?: unknown;
  readonly subject?: string;
  readonly client?: string;
  /** Seconds from now; negative = expired. */
  readonly expiresIn?: number;
}

const AUDIENCE = { read: "pgrcp:read", add: "pgrcp:add", delete: "pgrcp:delete" } as const;
const SCOPE = { read: "rcp:read", add: "rcp:index.add", delete: "rcp:index.delete" } as const;

export interface TestIssuer {
  readonly issuer: string;
  /** The public keys, as an issuer publishes them. */
  readonly jwks: { readonly keys: readonly JWK[] };
  mint(claims?: TokenClaims): Promise<string>;
}

/** An identity provider with a key pair of its own that signs whatever it is asked to. */
export async function testIssuer(issuer = "https://issuer.test"): Promise<TestIssuer> {
  const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
  const kid = "test-key";
  const jwk = { ...(await exportJWK(publicKey)), kid, alg: "ES256", use: "sig" };
  return {
    issuer,
    jwks: { keys: [jwk] },
    mint(claims: TokenClaims = {}) {
      const { tenant = "acme", subject = "alice", client = "agent", expiresIn = 300 } = claims;
      const credentials = claims.credentials ?? (["read"] as const);
      const now = Math.floor(Date.now() / 1000);
      const scopes = claims.scope ?? credentials.map((credential) => SCOPE[credential]).join(" ");
      return new SignJWT({ scope: scopes, tenant, client_id: client, corpora: claims.corpora, cnf: claims.cnf })
        .setProtectedHeader({ alg: "ES256", kid, typ: "at+jwt" })
        .setIssuer(issuer)
        .setSubject(subject)
        .setAudience(credentials.map((credential) => AUDIENCE[credential]))
        .setIssuedAt(Math.min(now, now + expiresIn - 1))
        .setExpirationTime(now + expiresIn)
        .setJti(crypto.randomUUID())
        .sign(privateKey);
    },
  };
}
