import { type CryptoKey, createLocalJWKSet, errors, type JSONWebKeySet, type JWSHeaderParameters } from "jose";
import { backendUnavailable } from "../protocol/errors.ts";

/** The keys of one issuer. */
export interface KeySet {
  /**
   * The one key for a header's `alg` and `kid`.
   *
   * @throws jose's JWKSNoMatchingKey when there is none, JWKSMultipleMatchingKeys when there are several;
   *   RpcError -32010, retryable, when it cannot be known
   */
  find(header: JWSHeaderParameters): Promise<CryptoKey | Uint8Array>;
}

export interface KeySetLimits {
  /** At least this long lies between two loads, whatever asks for them. */
  readonly cooldownMs: number;
  /** Keys older than this are loaded again before they are used. */
  readonly maxAgeMs: number;
  /** Keys older than this are not used, even when no newer ones can be had. */
  readonly maxStaleMs: number;
}

/** Nothing can be answered without keys, so a server that has none asks more often than one that has. */
const COLD_COOLDOWN_MS = 1_000;

/** The keys of a set. One that was found before is not looked for among the others again. */
export function fixedKeySet(jwks: JSONWebKeySet): KeySet {
  const find = createLocalJWKSet(jwks);
  const found = new Map<string | undefined, { readonly alg: string | undefined; readonly key: CryptoKey }>();
  return {
    async find(header) {
      const { alg, kid } = header;
      const known = found.get(kid);
      if (known !== undefined && known.alg === alg) return known.key;
      const key = await find(header);
      found.set(kid, { alg, key });
      return key;
    },
  };
}

export function sharedSecret(secret: string): KeySet {
  const bytes = new TextEncoder().encode(secret);
  return { find: async () => bytes };
}

/**
 * Keys that their issuer may change: loaded when first needed, again when they are old, and again when a token names one
 * that is not there. Everybody who needs a load waits for the same one.
 *
 * While the issuer is out of reach, the keys at hand go on serving: the first load that fails is waited for, later ones are
 * tried behind the requests' backs.
 *
 * @param first keys that are there from the beginning
 * @param now milliseconds
 */
export function refreshingKeySet(
  load: () => Promise<JSONWebKeySet>,
  limits: KeySetLimits,
  now: () => number,
  first?: JSONWebKeySet,
): KeySet {
  let keys = first === undefined ? undefined : { ...fixedKeySet(first), loadedAt: now() };
  let triedAt = first === undefined ? Number.NEGATIVE_INFINITY : now();
  let failure: unknown;
  let pending: Promise<void> | undefined;

  // The distance, not the difference: a clock that was set back must not put off the next load.
  const since = (moment: number) => Math.abs(now() - moment);
  const cooldownMs = () => (keys === undefined ? Math.min(COLD_COOLDOWN_MS, limits.cooldownMs) : limits.cooldownMs);

  /** Starts a load or joins the one under way; undefined while it is too early. Never rejects. */
  function refresh(): Promise<void> | undefined {
    if (pending !== undefined || since(triedAt) < cooldownMs()) return pending;
    triedAt = now();
    pending = load()
      .then((jwks) => {
        keys = { ...fixedKeySet(jwks), loadedAt: now() };
        failure = undefined;
      })
      .catch((error: unknown) => {
        failure = error;
      })
      .finally(() => {
        pending = undefined;
      });
    return pending;
  }

  async function freshKeys() {
    if (keys !== undefined && since(keys.loadedAt) > limits.maxStaleMs) keys = undefined;
    if (keys === undefined || since(keys.loadedAt) > limits.maxAgeMs) {
      const load = refresh();
      if (keys === undefined || failure === undefined) await load;
    }
    if (keys === undefined) throw outOfReach();
    return keys;
  }

  function outOfReach() {
    const retryAfterMs = Math.max(cooldownMs() - since(triedAt), 0);
    return backendUnavailable(
      { retryable: true, detail: "the keys that tokens are checked with are out of reach", retryAfterMs },
      { cause: failure },
    );
  }

  return {
    async find(header) {
      try {
        return await (await freshKeys()).find(header);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
        await refresh();
        // The issuer may have this key by now; nobody can tell.
        if (failure !== undefined) throw outOfReach();
        return (await freshKeys()).find(header);
      }
    },
  };
}
