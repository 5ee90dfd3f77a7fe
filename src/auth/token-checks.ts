import { parseClaimPath } from "../config/claim-path.ts";
import type { Config } from "../config/config.ts";
import { compileTenantPattern } from "../config/tenant-pattern.ts";
import { audiencesOf, boundTo, claimAt, clientOf, corporaOf, isName, own, scopesOf } from "./claims.ts";
import type { TrustedIssuer } from "./issuers.ts";
import { CREDENTIALS } from "./principal.ts";
import type { DecodedToken } from "./token-form.ts";

/** The settings that tokens are checked against, made ready once. */
export interface TokenRules {
  readonly auth: Config["auth"];
  readonly tenantPattern: RegExp;
  readonly tenantPath: readonly string[];
  readonly scopePath: readonly string[];
  /** Undefined: every token is good for all corpora of its tenant. */
  readonly corporaPath: readonly string[] | undefined;
  /** Whether a token with several of our audiences is good for any. */
  readonly combinedTokens: boolean;
}

/** A token beside the issuer that it names, if we know that issuer, and the time in seconds. */
export interface TokenInQuestion {
  readonly token: Pick<DecodedToken, "header" | "claims">;
  readonly issuer: TrustedIssuer | undefined;
  readonly now: number;
}

export interface TokenCheck {
  /** As it is logged. */
  readonly name: string;
  /** What would be right, for whoever looks into a refused token. */
  readonly wants: (rules: TokenRules, question: TokenInQuestion) => string;
  readonly passes: (question: TokenInQuestion, rules: TokenRules) => boolean;
  /** A token that has passed it may fail later. */
  readonly isOfTime?: true;
}

export function tokenRules(auth: Config["auth"], combinedTokens = auth.combinedTokens): TokenRules {
  return {
    auth,
    combinedTokens,
    tenantPattern: compileTenantPattern(auth.tenantPattern),
    tenantPath: parseClaimPath(auth.tenantClaim),
    scopePath: parseClaimPath(auth.scopeClaim),
    corporaPath: auth.corporaClaim === undefined ? undefined : parseClaimPath(auth.corporaClaim),
  };
}

/** What is decided before a key is looked up. */
export const HEADER_CHECKS: readonly TokenCheck[] = [
  {
    name: "typ",
    wants: ({ auth }) => (auth.typ === null ? "anything (auth.typ is null)" : `typ ${auth.typ} (auth.typ)`),
    passes: ({ token }, { auth }) => {
      if (auth.typ === null) return true;
      const typ = own(token.header, "typ");
      return typeof typ === "string" && mediaType(typ) === mediaType(auth.typ);
    },
  },
  {
    // A token inside a token is checked by nobody here.
    name: "cty",
    wants: () => "no cty",
    passes: ({ token }) => !Object.hasOwn(token.header, "cty"),
  },
  {
    // RFC 7515 §4.1.11: what is critical must be understood, and no extension is.
    name: "crit",
    wants: () => "no crit",
    passes: ({ token }) => !Object.hasOwn(token.header, "crit"),
  },
  {
    name: "iss",
    wants: () => "the issuer of one of auth.issuers, letter for letter",
    passes: ({ issuer }) => issuer !== undefined,
  },
  {
    name: "alg",
    wants: (_, { issuer }) => `one of this issuer's algorithms (${issuer?.algorithms.join(", ") ?? "issuer unknown"})`,
    passes: ({ token, issuer }) => issuer?.algorithms.some((name) => name === own(token.header, "alg")) ?? false,
  },
  {
    name: "kid",
    wants: ({ auth }) => (auth.kidRequired ? "a kid (auth.kidRequired)" : "a kid that is text, or none"),
    passes: ({ token, issuer }, { auth }) => {
      const kid = own(token.header, "kid");
      if (kid === undefined) return !auth.kidRequired || issuer?.sharedSecret === true;
      return typeof kid === "string" && kid !== "";
    },
  },
];

/** What is decided once the signature is known to be the issuer's. */
export const CLAIM_CHECKS: readonly TokenCheck[] = [
  {
    name: "aud",
    wants: ({ auth }) =>
      `one of ${CREDENTIALS.map((name) => auth[name].audience).join(", ")} (auth.<credential>.audience)`,
    passes: ({ token }, { auth }) => {
      const audiences = audiencesOf(token.claims);
      return CREDENTIALS.some((name) => audiences.includes(auth[name].audience));
    },
  },
  {
    name: "exp",
    isOfTime: true,
    wants: () => "an exp in the future",
    passes: ({ token, now }, { auth }) => {
      const exp = own(token.claims, "exp");
      return isTime(exp) && exp > now - auth.clockToleranceSeconds;
    },
  },
  {
    name: "nbf",
    isOfTime: true,
    wants: () => "an nbf in the past, or none",
    passes: ({ token, now }, { auth }) => {
      if (!Object.hasOwn(token.claims, "nbf")) return true;
      const nbf = own(token.claims, "nbf");
      return isTime(nbf) && nbf <= now + auth.clockToleranceSeconds;
    },
  },
  {
    name: "iat",
    isOfTime: true,
    wants: () => "an iat in the past",
    passes: ({ token, now }, { auth }) => {
      const iat = own(token.claims, "iat");
      return isTime(iat) && iat <= now + auth.clockToleranceSeconds;
    },
  },
  {
    // A token that has not expired and lives no longer than this is no older than this either.
    name: "lifetime",
    wants: ({ auth }) => `at most ${auth.maxLifetimeSeconds} s from iat to exp (auth.maxLifetimeSeconds)`,
    passes: ({ token }, { auth }) => {
      const [iat, exp] = [own(token.claims, "iat"), own(token.claims, "exp")];
      return isTime(iat) && isTime(exp) && exp - iat <= auth.maxLifetimeSeconds;
    },
  },
  {
    name: "sub",
    wants: () => "a sub of 1 to 255 bytes",
    passes: ({ token }) => isName(own(token.claims, "sub")),
  },
  {
    name: "jti",
    wants: () => "a jti of 1 to 255 bytes, or none",
    passes: ({ token }) => !Object.hasOwn(token.claims, "jti") || isName(own(token.claims, "jti")),
  },
  {
    name: "client",
    wants: () => "a client_id or azp of at most 255 bytes, or neither",
    passes: ({ token }) => clientOf(token.claims) !== undefined,
  },
  {
    name: "tenant",
    wants: ({ auth }) => `text at ${auth.tenantClaim} (auth.tenantClaim) that matches ${auth.tenantPattern}`,
    passes: ({ token }, { tenantPath, tenantPattern }) => {
      const tenant = claimAt(token.claims, tenantPath);
      return isName(tenant) && tenantPattern.test(tenant);
    },
  },
  {
    name: "scope",
    wants: ({ auth }) =>
      `${auth.scopeForm === "string" ? "text" : "a list of texts"} at ${auth.scopeClaim} (auth.scopeClaim)`,
    passes: ({ token }, { auth, scopePath }) =>
      scopesOf(claimAt(token.claims, scopePath), auth.scopeForm) !== undefined,
  },
  {
    // A token bound in a way that nobody here can check would be a bearer token to whoever stole it.
    name: "cnf",
    wants: () => "a cnf with x5t#S256, the thumbprint of the client's certificate, or no cnf",
    passes: ({ token }) => !Object.hasOwn(token.claims, "cnf") || boundTo(token.claims) !== undefined,
  },
  {
    name: "corpora",
    wants: ({ auth }) =>
      auth.corporaClaim === undefined
        ? "anything (auth.corporaClaim is not set)"
        : `names of corpora, or *, at ${auth.corporaClaim} (auth.corporaClaim)`,
    passes: ({ token }, { corporaPath }) =>
      corporaPath === undefined || corporaOf(claimAt(token.claims, corporaPath)) !== undefined,
  },
];

export const TIME_CHECKS: readonly TokenCheck[] = CLAIM_CHECKS.filter(({ isOfTime }) => isOfTime);

const isTime = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

/** RFC 7515 §4.1.9: letter case does not matter, and `application/` goes without saying when there is no other slash. */
function mediaType(typ: string): string {
  const lower = typ.toLowerCase();
  return lower.includes("/") ? lower : `application/${lower}`;
}
