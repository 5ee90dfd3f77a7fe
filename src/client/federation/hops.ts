import { ErrorCode } from "../../protocol/errors.ts";
import { isObject } from "../../protocol/params.ts";
import { FederationError, wrongParam } from "./federation-error.ts";

/** `_meta.federation`: how many hops a request has left, and whose federations it came through (RCP §16.2). */
export interface Hops {
  readonly depth: number;
  readonly path: readonly string[];
}

/** No chain of aggregators that anybody means is as long; what is passed on stays small. */
const MAX_PATH = 32;
const MAX_IDENTITY_CHARACTERS = 256;

/**
 * Says what the engines are told: a request that begins here has the whole budget, one that is passed on has a hop less.
 *
 * @param received `_meta.federation` as it came in; undefined where the request begins here
 * @param identity this aggregator's own; undefined for a client that nobody federates
 * @throws FederationError -32602 when malformed; -32010 when no hop is left, or the request came through here before
 * @throws TypeError for a request to be passed on without an identity to leave in its path
 */
export function nextHops(received: unknown, identity: string | undefined, hopBudget: number): Hops {
  if (received === undefined || received === null)
    return { depth: hopBudget, path: identity === undefined ? [] : [identity] };
  const { depth, path } = readHops(received);
  if (identity === undefined) throw new TypeError("a federation that passes requests on needs an identity of its own");
  if (path.includes(identity)) throw ended("this request came through here before");
  if (depth <= 1) throw ended("this request has no hop left");
  return { depth: Math.min(depth - 1, hopBudget), path: [...path, identity] };
}

function readHops(received: unknown): Hops {
  const { depth, path } = isObject(received) ? received : {};
  if (typeof depth !== "number" || !Number.isSafeInteger(depth))
    throw wrongParam("_meta.federation.depth", "must be an integer");
  if (!Array.isArray(path) || path.length > MAX_PATH || !path.every(isIdentity))
    throw wrongParam("_meta.federation.path", `must be a list of at most ${MAX_PATH} identities`);
  return { depth, path };
}

const isIdentity = (value: unknown): value is string =>
  typeof value === "string" && value.length <= MAX_IDENTITY_CHARACTERS;

/** There is no index here to answer from, and an empty answer would say that nothing was found. */
const ended = (message: string) =>
  new FederationError({ code: ErrorCode.BackendUnavailable, message, data: { retryable: false } });
