import { retryAfterHeaderMs } from "../client/exchange.ts";
import { backendUnavailable, payloadTooLarge, type RpcError, rateLimited, unauthorized } from "../protocol/errors.ts";
import { isObject, member } from "../protocol/params.ts";
import { type Outcome, readWireError, refused } from "./outcome.ts";

/** Waited for when a server sheds load without saying for how long. */
const DEFAULT_RETRY_AFTER_MS = 1_000;

/**
 * What an HTTP status other than 200 means to the client (RCP §5.2). The status decides, because a proxy may have answered; of a
 * body with the same code the detail and the wait are kept.
 *
 * @param body parsed, or undefined when it was no JSON
 */
export function statusOutcome(status: number, retryAfter: string | undefined, body: unknown): Outcome {
  const said = readWireError(body);
  const data = isObject(said?.data) ? said.data : {};
  const asked = member(data, "retryAfterMs");
  const waits = [
    typeof asked === "number" && asked >= 0 ? asked : undefined,
    retryAfterHeaderMs(retryAfter ?? null, Date.now()),
  ].filter((wait) => wait !== undefined);
  const error = statusError(status, waits.length === 0 ? undefined : Math.ceil(Math.max(...waits)));
  const detail = member(data, "detail");
  if (said?.code !== error.code || typeof detail !== "string") return refused(error);
  return { error: { code: error.code, message: error.message, data: { ...error.data, detail } } };
}

function statusError(status: number, retryAfterMs: number | undefined): RpcError {
  const detail = `the server answered with HTTP status ${status}`;
  switch (status) {
    case 401:
    case 403:
      return unauthorized(detail);
    case 413:
      return payloadTooLarge({ detail });
    case 429:
      return rateLimited({ retryAfterMs: retryAfterMs ?? DEFAULT_RETRY_AFTER_MS, detail });
    default:
      return backendUnavailable({
        // Success without an answer, and failures that pass. A redirect or a 404 stays what it is.
        retryable: status < 300 || status === 408 || status >= 500,
        ...(retryAfterMs !== undefined && { retryAfterMs }),
        detail,
      });
  }
}
