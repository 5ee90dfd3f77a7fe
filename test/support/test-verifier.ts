import { createLocalJWKSet, errors, jwtVerify } from "jose";
import { CREDENTIALS, type Credential } from "../../src/auth/principal.ts";
import { TokenRefused, type TokenVerifier } from "../../src/auth/verify-token.ts";
import type { TenantId } from "../../src/catalog/corpus.ts";
import type { TestIssuer } from "./test-issuer.ts";

const AUDIENCE = { read: "pgrcp:read", add: "pgrcp:add", delete: "pgrcp:delete" } as const;
const SCOPE = { read: "rcp:read", add: "rcp:index.add", delete: "rcp:index.delete" } as const;

/** Verifies what a test issuer minted: signature, issuer, audience and expiry, by jose. */
export function testVerifier({ issuer, jwks }: TestIssuer): TokenVerifier {
  const keys = createLocalJWKSet({ keys: [...jwks.keys] });
  return {
    async verify(authorization) {
      const [header = "", ...others] = authorization;
      const token = /^bearer +([^ ,;]+)$/i.exec(header)?.[1];
      if (token === undefined || others.length > 0) throw new TokenRefused(header === "" ? "missing" : "form");
      try {
        const { payload } = await jwtVerify(token, keys, { issuer, audience: Object.values(AUDIENCE) });
        const audiences = [payload.aud].flat();
        const scopes = String(payload.scope).split(" ");
        const holds = (one: Credential) => audiences.includes(AUDIENCE[one]) && scopes.includes(SCOPE[one]);
        return {
          issuer,
          subject: String(payload.sub),
          client: String(payload.client_id),
          tenantId: String(payload.tenant) as TenantId,
          credentials: new Set(CREDENTIALS.filter(holds)),
          tokenId: payload.jti,
          expiresAt: payload.exp ?? 0,
          source: "api",
          trustCeiling: "untrusted",
        };
      } catch (error) {
        if (error instanceof errors.JOSEError) throw new TokenRefused(error.code, {}, { cause: error });
        throw error;
      }
    },
  };
}
