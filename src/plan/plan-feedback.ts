import { invalidParams, payloadTooLarge } from "../protocol/errors.ts";
import { checkIdentifier } from "../protocol/identifier.ts";
import { isObject, member, type Params, readArray, readBoolean, readNumber } from "../protocol/params.ts";
import { parseQuery } from "./parse-query.ts";

export interface FeedbackLimits {
  readonly maxSignalsPerFeedback: number;
  readonly maxDocIdBytes: number;
  readonly maxQueryBytes: number;
  readonly maxSessionIdBytes: number;
}

/** What a caller says of one hit; undefined = nothing. */
export interface FeedbackSignal {
  readonly hitId: string;
  readonly used: boolean | undefined;
  readonly cited: boolean | undefined;
  readonly helpful: boolean | undefined;
  /** -1 to 1. */
  readonly reward: number | undefined;
  readonly poisonSuspected: boolean | undefined;
  readonly injectionSuspected: boolean | undefined;
}

export interface FeedbackPlan {
  readonly sessionId: string | undefined;
  readonly query: string | undefined;
  readonly signals: readonly FeedbackSignal[];
}

/** A hit's id is a document's, and `#n` after it when the document was chunked: n has at most ten digits. */
export const MAX_HIT_SUFFIX_BYTES = 11;

/**
 * Reads `feedback` params (RCP §7.16). Whether a hit exists is not looked at: one answer for all ids.
 *
 * @throws RpcError -32602 naming the member, -32013 over `limits.maxSignalsPerFeedback` or `limits.maxQueryBytes`
 */
export function planFeedback(params: Params, limits: FeedbackLimits): FeedbackPlan {
  const sessionId = member(params, "sessionId");
  const signals = readArray(params, "signals");
  if (signals.length > limits.maxSignalsPerFeedback)
    throw payloadTooLarge({
      field: "signals",
      detail: `at most ${limits.maxSignalsPerFeedback} signals a call (limits.maxSignalsPerFeedback)`,
    });
  return {
    sessionId:
      sessionId === undefined
        ? undefined
        : checkIdentifier(sessionId, "sessionId", limits.maxSessionIdBytes, "limits.maxSessionIdBytes"),
    query: member(params, "query") === undefined ? undefined : parseQuery(params, limits.maxQueryBytes),
    signals: signals.map((signal, index) => planSignal(signal, `signals[${index}]`, limits)),
  };
}

function planSignal(signal: unknown, path: string, { maxDocIdBytes }: FeedbackLimits): FeedbackSignal {
  if (!isObject(signal)) throw invalidParams({ field: path, detail: "must be an object with a hitId" });
  const hitId = idText(member(signal, "hitId"));
  const maxBytes = maxDocIdBytes + MAX_HIT_SUFFIX_BYTES;
  return {
    hitId: checkIdentifier(hitId, `${path}.hitId`, maxBytes, "limits.maxDocIdBytes and a chunk's number"),
    used: readBoolean(signal, "used", path),
    cited: readBoolean(signal, "cited", path),
    helpful: readBoolean(signal, "helpful", path),
    reward: readNumber(signal, "reward", { min: -1, max: 1 }, path),
    poisonSuspected: readBoolean(signal, "poisonSuspected", path),
    injectionSuspected: readBoolean(signal, "injectionSuspected", path),
  };
}

/** An id may be a number on the wire; clients know a hit by its text (RCP §7.7). */
const idText = (hitId: unknown): unknown =>
  typeof hitId === "number" && Number.isFinite(hitId) ? String(hitId) : hitId;
