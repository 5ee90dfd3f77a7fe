import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { JSONWebKeySet } from "jose";
import type { Config, IssuerConfig } from "../config/config.ts";
import { ConfigError } from "../config/config-error.ts";
import { publicJwkProblem } from "../config/public-jwk.ts";
import { type Fetch, fetchKeySet } from "./fetch-key-set.ts";
import { fixedKeySet, type KeySet, refreshingKeySet, sharedSecret } from "./key-sets.ts";

/** An issuer whose tokens are accepted. */
export interface TrustedIssuer {
  readonly issuer: string;
  readonly algorithms: readonly string[];
  readonly keys: KeySet;
  /** One secret signs and checks, and it has no `kid`. */
  readonly sharedSecret: boolean;
}

/**
 * The configured issuers by name, each with its keys. Key files are read now, so that a wrong one stops the start; addresses
 * are asked when a token first needs them.
 *
 * @throws ConfigError when a key file cannot be used
 */
export function trustedIssuers(
  entries: readonly IssuerConfig[],
  auth: Config["auth"],
  outside: { readonly fetch: Fetch; readonly now: () => number },
): ReadonlyMap<string, TrustedIssuer> {
  return new Map(
    entries.map((entry, index) => [
      entry.issuer,
      {
        issuer: entry.issuer,
        algorithms: entry.algorithms,
        keys: keysOf(entry, index, auth, outside),
        sharedSecret: entry.secret !== undefined,
      },
    ]),
  );
}

function keysOf(
  { jwks, jwksFile, jwksUri, secret }: IssuerConfig,
  index: number,
  auth: Config["auth"],
  { fetch, now }: { readonly fetch: Fetch; readonly now: () => number },
): KeySet {
  const limits = { cooldownMs: auth.jwksCooldownMs, maxAgeMs: auth.jwksMaxAgeMs, maxStaleMs: auth.jwksMaxStaleMs };
  if (secret !== undefined) return sharedSecret(secret);
  if (jwks !== undefined) return fixedKeySet(jwks as unknown as JSONWebKeySet);
  if (jwksUri !== undefined) {
    const answer = { timeoutMs: auth.jwksTimeoutMs, maxBytes: auth.jwksMaxBytes };
    return refreshingKeySet(() => fetchKeySet(jwksUri, answer, fetch), limits, now);
  }
  if (jwksFile !== undefined) {
    const first = firstReading(jwksFile, `auth.issuers[${index}].jwksFile`, auth.kidRequired);
    const load = async () => parseKeySet(await readFile(jwksFile, "utf8"), auth.kidRequired);
    return refreshingKeySet(load, limits, now, first);
  }
  throw new Error("an issuer without keys passed the configuration's checks");
}

function firstReading(file: string, key: string, kidRequired: boolean): JSONWebKeySet {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    throw new ConfigError([`${key}: the file cannot be read; name a JWK set that exists`], { cause });
  }
  try {
    return parseKeySet(text, kidRequired);
  } catch (cause) {
    throw new ConfigError([`${key}: ${cause instanceof UnusableKeySet ? cause.message : "must be a JWK set in JSON"}`]);
  }
}

class UnusableKeySet extends Error {}

function parseKeySet(text: string, kidRequired: boolean): JSONWebKeySet {
  const parsed: unknown = JSON.parse(text);
  if (typeof parsed !== "object" || parsed === null || !("keys" in parsed) || !Array.isArray(parsed.keys))
    throw new UnusableKeySet("must be a JWK set: an object with a list of keys");
  for (const jwk of parsed.keys) {
    const problem = publicJwkProblem(typeof jwk === "object" && jwk !== null ? jwk : {}, kidRequired);
    if (problem !== undefined) throw new UnusableKeySet(problem);
  }
  return parsed as JSONWebKeySet;
}
