import { hash } from "node:crypto";
import type { CryptoKey, JWSHeaderParameters } from "jose";
import { RpcError } from "../protocol/errors.ts";
import { own } from "./claims.ts";
import type { TrustedIssuer } from "./issuers.ts";
import type { Principal } from "./principal.ts";
import { TIME_CHECKS, type TokenInQuestion, type TokenRules } from "./token-checks.ts";
import type { DecodedToken } from "./token-form.ts";

/** The tokens that came last are remembered. */
const MAX_KNOWN = 4_096;

/** What of a token is looked at each time that it comes: which key signed it, and when it is good. */
interface Known {
  readonly token: TokenInQuestion["token"];
  readonly issuer: TrustedIssuer;
  readonly key: CryptoKey | Uint8Array;
  readonly principal: Principal;
}

/**
 * Tokens that have passed every check, by their hashes. One that comes again is neither taken apart nor is its signature worked out: its
 * key is looked up anew, so that what a key signed is forgotten with the key, and the clock is. It only ever says yes: whatever else a token
 * comes to is for who looks at it as at a new one.
 */
export class KnownTokens {
  readonly #rules: TokenRules;
  /** The one that came last at the end. */
  readonly #known = new Map<string, Known>();

  constructor(rules: TokenRules) {
    this.#rules = rules;
  }

  /** @returns undefined for a token that is not known, is no longer good, or whose key is another by now */
  async find(text: string, now: number): Promise<Principal | undefined> {
    const name = nameOf(text);
    const known = this.#known.get(name);
    if (known === undefined) return undefined;
    const { token, issuer, key, principal } = known;
    const found = await issuer.keys.find(token.header as JWSHeaderParameters).catch(unlessUnavailable);
    const question = { token, issuer, now };
    if (found !== key || !TIME_CHECKS.every((check) => check.passes(question, this.#rules))) return undefined;
    this.#keep(name, known);
    return principal;
  }

  /** @param token that has passed every check */
  add({ text, header, claims }: DecodedToken, { issuer, key, principal }: Omit<Known, "token">): void {
    const token = {
      header: { alg: own(header, "alg"), kid: own(header, "kid") },
      claims: { exp: own(claims, "exp"), iat: own(claims, "iat"), ...("nbf" in claims && { nbf: own(claims, "nbf") }) },
    };
    this.#keep(nameOf(text), { token, issuer, key, principal });
  }

  #keep(name: string, known: Known): void {
    this.#known.delete(name);
    this.#known.set(name, known);
    if (this.#known.size > MAX_KNOWN) for (const oldest of this.#known.keys().take(1)) this.#known.delete(oldest);
  }
}

/** Whoever reads this process's memory finds no token of those that are not on their way. */
const nameOf = (text: string): string => hash("sha256", text, "base64");

/** Keys that cannot be had now are not asked for a second time, as those that are not there would be. */
function unlessUnavailable(error: unknown): undefined {
  if (error instanceof RpcError) throw error;
}
