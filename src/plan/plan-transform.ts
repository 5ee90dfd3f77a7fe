import { invalidParams, optionUnsupported } from "../protocol/errors.ts";
import { type Params, readInteger, readString } from "../protocol/params.ts";
import type { TransformMethod } from "../protocol/wire.ts";
import { parseQuestion } from "./parse-query.ts";

export interface TransformOffer {
  readonly methods: readonly TransformMethod[];
  readonly maxTransformQueries: number;
  readonly maxQueryBytes: number;
}

export interface TransformPlan {
  /** Not blank. */
  readonly query: string;
  readonly method: TransformMethod;
  readonly n: number;
}

/** RCP §7.8. */
const DEFAULT_N = 3;

/**
 * Reads query/transform params (RCP §7.8). A larger `n` than the server makes is cut to that: the caller gets fewer queries.
 *
 * @throws RpcError -32602, -32005 for a method that is not advertised, -32013 for a query over its limit
 */
export function planTransform(params: Params, offer: TransformOffer): TransformPlan {
  const query = parseQuestion(params, offer.maxQueryBytes);
  const n = readInteger(params, "n", { min: 1 }) ?? DEFAULT_N;
  const asked = readString(params, "method");
  const detail = `the methods on offer are ${offer.methods.join(", ")}`;
  if (asked === undefined) throw invalidParams({ field: "method", detail });
  const method = offer.methods.find((one) => one === asked);
  if (method === undefined) throw optionUnsupported({ option: "method", detail });
  return { query, method, n: Math.min(n, offer.maxTransformQueries) };
}
