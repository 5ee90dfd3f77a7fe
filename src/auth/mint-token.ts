import { randomUUID } from "node:crypto";
import { SignJWT } from "jose";
import { parseClaimPath } from "../config/claim-path.ts";
import type { Config } from "../config/config.ts";
import { ALL_CORPORA } from "./claims.ts";
import type { Credential } from "./principal.ts";
import type { SigningKey } from "./signing-key.ts";

export interface TokenRequest {
  readonly issuer: string;
  readonly tenant: string;
  readonly subject: string;
  readonly client: string;
  readonly credentials: readonly Credential[];
  /** Names, which `auth.corporaClaim` carries; all corpora of the tenant when absent. */
  readonly corpora?: readonly string[] | undefined;
  /** With `auth.read.unredactedScope`. */
  readonly unredacted?: boolean | undefined;
  readonly lifetimeSeconds: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** A token as this server's configuration wants it: audiences, scopes, claim names and `typ` are the configured ones. */
export async function mintToken(request: TokenRequest, key: SigningKey, auth: Config["auth"]): Promise<string> {
  const [audience = "", ...others] = request.credentials.map((name) => auth[name].audience);
  const { unredactedScope } = auth.read;
  const more = request.unredacted === true && unredactedScope !== undefined ? [unredactedScope] : [];
  const scopes = [...request.credentials.map((name) => auth[name].scope), ...more];
  const issuedAt = Math.floor(request.now / 1000);
  const claims = {
    iss: request.issuer,
    aud: others.length === 0 ? audience : [audience, ...others],
    sub: request.subject,
    client_id: request.client,
    jti: randomUUID(),
    iat: issuedAt,
    exp: issuedAt + request.lifetimeSeconds,
  };
  putClaim(claims, parseClaimPath(auth.tenantClaim), request.tenant);
  putClaim(claims, parseClaimPath(auth.scopeClaim), auth.scopeForm === "string" ? scopes.join(" ") : scopes);
  if (auth.corporaClaim !== undefined)
    putClaim(claims, parseClaimPath(auth.corporaClaim), request.corpora ?? [ALL_CORPORA]);
  const header = {
    alg: key.algorithm,
    typ: auth.typ ?? "at+jwt",
    ...(key.keyId !== undefined && { kid: key.keyId }),
  };
  return new SignJWT(claims).setProtectedHeader(header).sign(key.key);
}

function putClaim(claims: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [name, ...rest] = path;
  if (name === undefined) return;
  if (rest.length === 0) {
    claims[name] = value;
    return;
  }
  const inner = Object.hasOwn(claims, name) ? claims[name] : undefined;
  const holder = typeof inner === "object" && inner !== null ? (inner as Record<string, unknown>) : {};
  claims[name] = holder;
  putClaim(holder, rest, value);
}
