import type { TenantId } from "../catalog/corpus.ts";
import { FIRST_RUN_TENANT } from "../config/auth-mode.ts";
import type { Config } from "../config/config.ts";
import { audiencesOf, boundTo, claimAt, clientOf, corporaOf, type Members, own, scopesOf } from "./claims.ts";
import { CREDENTIALS, type Credential, type Principal } from "./principal.ts";
import type { TokenRules } from "./token-checks.ts";

/** Who calls, from claims that passed every check. */
export function principalOf(claims: Members, rules: TokenRules): Principal {
  const issuer = String(own(claims, "iss"));
  const tokenId = own(claims, "jti");
  const certificate = boundTo(claims);
  return {
    issuer,
    subject: String(own(claims, "sub")),
    client: clientOf(claims) ?? "",
    tenantId: claimAt(claims, rules.tenantPath) as TenantId,
    credentials: credentialsOf(claims, issuer, rules),
    // Its check has refused a token whose claim is missing; should it not have, the token is good for no corpus.
    corpora: rules.corporaPath === undefined ? "all" : (corporaOf(claimAt(claims, rules.corporaPath)) ?? new Set()),
    tokenId: typeof tokenId === "string" ? tokenId : undefined,
    expiresAt: Math.floor(Number(own(claims, "exp"))),
    ...(certificate !== undefined && { boundTo: certificate }),
    ...(seesRedacted(claims, rules) && { seesRedacted: true }),
    source: rules.auth.add.source,
    trustCeiling: rules.auth.add.trust,
  };
}

/**
 * The credentials in a token's hand: for each, its audience and its scope are there and its issuer is the right one. A token
 * with several of our audiences is several credentials in one hand, which is good for nothing unless combined tokens are on.
 */
export function credentialsOf(claims: Members, tokenIssuer: string, rules: TokenRules): ReadonlySet<Credential> {
  const audiences = audiencesOf(claims);
  const named = CREDENTIALS.filter((name) => audiences.includes(rules.auth[name].audience));
  if (named.length > 1 && !rules.combinedTokens) return new Set();
  const scopes = scopesIn(claims, rules);
  return new Set(
    named.filter((name) => {
      const { scope, issuer } = rules.auth[name];
      return scopes.includes(scope) && (issuer === undefined || issuer === tokenIssuer);
    }),
  );
}

const scopesIn = (claims: Members, { scopePath, auth }: TokenRules): readonly string[] =>
  scopesOf(claimAt(claims, scopePath), auth.scopeForm) ?? [];

function seesRedacted(claims: Members, rules: TokenRules): boolean {
  const { unredactedScope } = rules.auth.read;
  return unredactedScope !== undefined && scopesIn(claims, rules).includes(unredactedScope);
}

/** Who calls when nobody has to say who they are (`auth.mode: none`). */
export function anyoneOf(auth: Config["auth"], now: number): Principal {
  return {
    issuer: "none",
    subject: "anyone",
    client: "",
    tenantId: FIRST_RUN_TENANT as TenantId,
    credentials: new Set(CREDENTIALS),
    corpora: "all",
    tokenId: undefined,
    expiresAt: now + auth.maxLifetimeSeconds,
    source: auth.add.source,
    trustCeiling: auth.add.trust,
  };
}
