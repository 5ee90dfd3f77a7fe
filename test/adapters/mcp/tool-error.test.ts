import { expect, test } from "vitest";
import { refusalText } from "../../../src/adapters/mcp/tool-error.ts";
import {
  backendUnavailable,
  invalidParams,
  optionUnsupported,
  payloadTooLarge,
  rateLimited,
  timeout,
  unauthorized,
} from "../../../src/protocol/errors.ts";

test.each([
  [
    invalidParams({ field: "filter.and[1].value", detail: "year is an int field" }),
    "Invalid argument filters: year is an int field.",
  ],
  [invalidParams({ field: "query[0].text", detail: "must be text" }), "Invalid argument query: must be text."],
  [unauthorized(), "Not authorised."],
  [
    rateLimited({ retryAfterMs: 1_200, detail: "too many reads are waiting (load.reads)" }),
    "Too many requests: too many reads are waiting (load.reads). Try again in 2 s.",
  ],
  [timeout(), "Deadline exceeded: the request's deadline passed. Try again later."],
  [
    backendUnavailable({ retryable: false, detail: "the model is another one" }),
    "A backend is not available: the model is another one.",
  ],
  [
    payloadTooLarge({ field: "query", detail: "a query is at most 9 bytes" }),
    "The request exceeds a limit of this server: a query is at most 9 bytes.",
  ],
  [optionUnsupported({ option: "mode", detail: "dense only" }), "Option not advertised: mode: dense only."],
])("%s", (error, text) => {
  expect(refusalText(error)).toBe(text);
});
