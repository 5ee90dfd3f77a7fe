import { authMode } from "../config/auth-mode.ts";
import type { Config, IssuerConfig } from "../config/config.ts";
import { own } from "./claims.ts";
import type { Fetch } from "./fetch-key-set.ts";
import { trustedIssuers } from "./issuers.ts";
import { KnownTokens } from "./known-tokens.ts";
import {
  CLAIM_CHECKS,
  HEADER_CHECKS,
  type TokenCheck,
  type TokenInQuestion,
  type TokenRules,
  tokenRules,
} from "./token-checks.ts";
import { bearerToken, decodeToken, publicClaims } from "./token-form.ts";
import { anyoneOf, principalOf } from "./token-principal.ts";
import { verifySignature } from "./verify-signature.ts";
import { TokenRefused, type TokenVerifier } from "./verify-token.ts";

export interface VerifierOptions {
  readonly fetch?: Fetch | undefined;
  /** Milliseconds since the epoch. */
  readonly now?: (() => number) | undefined;
  /** The issuer of generated first-run tokens; used only when no other is configured. Its tokens may be combined. */
  readonly dev?: IssuerConfig | undefined;
}

/**
 * Decides who calls (DESIGN section 3): bearer tokens of known issuers, or anyone when `auth.mode` is none.
 *
 * @throws ConfigError when a key file cannot be used
 */
export function createTokenVerifier(auth: Config["auth"], options: VerifierOptions = {}): TokenVerifier {
  const now = options.now ?? Date.now;
  const seconds = () => Math.floor(now() / 1000);
  const mode = authMode(auth);
  if (mode === "none") return { verify: async () => anyoneOf(auth, seconds()) };

  const issuers = trustedIssuers(issuersOf(auth, options), auth, { fetch: options.fetch ?? fetch, now });
  const rules = tokenRules(auth, auth.combinedTokens || mode === "first-run");
  const tokens = new KnownTokens(rules);

  return {
    async verify(authorization) {
      const text = bearerToken(authorization, auth.maxTokenBytes);
      const known = await tokens.find(text, seconds());
      if (known !== undefined) return known;
      const token = decodeToken(text);
      const name = own(token.claims, "iss");
      const issuer = typeof name === "string" ? issuers.get(name) : undefined;
      const question = { token, issuer, now: seconds() };
      assertAll(HEADER_CHECKS, question, rules);
      if (issuer === undefined) throw new TokenRefused("iss", publicClaims(token));
      const key = await verifySignature(token, issuer);
      assertAll(CLAIM_CHECKS, question, rules);
      const principal = principalOf(token.claims, rules);
      tokens.add(token, { issuer, key, principal });
      return principal;
    },
  };
}

/** The issuers whose tokens are accepted: the configured ones or, on a first run, the generated one. */
export function issuersOf(auth: Config["auth"], { dev }: Pick<VerifierOptions, "dev">): readonly IssuerConfig[] {
  if (authMode(auth) !== "first-run") return auth.issuers;
  if (dev === undefined) throw new Error("without configured issuers, the first-run issuer must be given");
  return [dev];
}

function assertAll(checks: readonly TokenCheck[], question: TokenInQuestion, rules: TokenRules): void {
  const failed = checks.find((check) => !check.passes(question, rules));
  if (failed !== undefined) throw new TokenRefused(failed.name, publicClaims(question.token));
}
