import { authMode } from "../config/auth-mode.ts";
import type { Config } from "../config/config.ts";
import { RpcError } from "../protocol/errors.ts";
import { type Members, own } from "./claims.ts";
import { trustedIssuers } from "./issuers.ts";
import { issuersOf, type VerifierOptions } from "./jwt-verifier.ts";
import type { Credential } from "./principal.ts";
import { CLAIM_CHECKS, HEADER_CHECKS, type TokenCheck, tokenRules } from "./token-checks.ts";
import { bearerToken, decodeToken } from "./token-form.ts";
import { credentialsOf } from "./token-principal.ts";
import { verifySignature } from "./verify-signature.ts";
import { TokenRefused } from "./verify-token.ts";

export interface CheckOutcome {
  readonly name: string;
  readonly passed: boolean;
  readonly wants: string;
}

export interface Inspection {
  readonly header: Members;
  readonly claims: Members;
  /** In the order in which the server would apply them; the first that fails is the one it logs. */
  readonly outcomes: readonly CheckOutcome[];
  /** What the token would be good for if every check passed. */
  readonly credentials: ReadonlySet<Credential>;
}

const SHOWN_HEADER = ["alg", "kid", "typ", "cty", "crit"];
const SHOWN_CLAIMS = ["iss", "sub", "aud", "client_id", "azp", "jti", "iat", "nbf", "exp"];

/**
 * Looks into a token as the server would, but goes on after a check that fails.
 *
 * @throws TokenRefused `size` or `form` when there is nothing to look into; ConfigError when a key file cannot be used
 */
export async function inspectToken(
  text: string,
  auth: Config["auth"],
  options: VerifierOptions = {},
): Promise<Inspection> {
  const token = decodeToken(bearerToken([`Bearer ${text}`], auth.maxTokenBytes));
  const now = options.now ?? Date.now;
  const issuers = trustedIssuers(issuersOf(auth, options), auth, { fetch: options.fetch ?? fetch, now });
  const rules = tokenRules(auth, auth.combinedTokens || authMode(auth) === "first-run");
  const name = String(own(token.claims, "iss"));
  const issuer = issuers.get(name);
  const question = { token, issuer, now: Math.floor(now() / 1000) };
  const outcome = (check: TokenCheck): CheckOutcome => ({
    name: check.name,
    passed: check.passes(question, rules),
    wants: check.wants(rules, question),
  });
  return {
    header: pick(token.header, SHOWN_HEADER),
    claims: pick(token.claims, [...SHOWN_CLAIMS, rules.tenantPath[0] ?? "", rules.scopePath[0] ?? ""]),
    outcomes: [
      ...HEADER_CHECKS.map(outcome),
      {
        name: "signature",
        ...(issuer === undefined
          ? { passed: false, wants: "a known issuer, whose keys it could be checked with" }
          : await signatureOutcome(() => verifySignature(token, issuer))),
      },
      ...CLAIM_CHECKS.map(outcome),
    ],
    credentials: credentialsOf(token.claims, name, rules),
  };
}

async function signatureOutcome(verify: () => Promise<unknown>): Promise<Omit<CheckOutcome, "name">> {
  try {
    await verify();
    return { passed: true, wants: "the issuer's signature" };
  } catch (error) {
    if (error instanceof RpcError) return { passed: false, wants: "the issuer's keys, which are out of reach" };
    if (!(error instanceof TokenRefused)) throw error;
    return { passed: false, wants: WANTED_OF_SIGNATURE[error.check] ?? "the issuer's signature" };
  }
}

const WANTED_OF_SIGNATURE: Readonly<Record<string, string>> = {
  kid: "a kid and alg that one key of the issuer has",
  key: "a key of the issuer that is strong enough (RSA: 2048 bits) and well formed",
};

function pick(members: Members, names: readonly string[]): Members {
  const shown = [...new Set(names)].filter((name) => Object.hasOwn(members, name));
  return Object.fromEntries(shown.map((name) => [name, own(members, name)]));
}
