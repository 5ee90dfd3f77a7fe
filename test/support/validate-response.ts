import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormatsModule from "ajv-formats";
import { expect } from "vitest";

const SCHEMA_FILE = new URL("../vectors/data/rcp-1.0.json", import.meta.url);

const schema = JSON.parse(readFileSync(SCHEMA_FILE, "utf8"));
// The schema documents itself with keywords that ajv's strict mode does not know.
const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormatsModule.default(ajv);
ajv.addSchema(schema);

const compiled = (definition: string) => ajv.compile({ $ref: `${schema.$id}#/$defs/${definition}` });
const isResult = compiled("ResultFor");
const isSuccess = compiled("JsonRpcSuccess");
const isError = compiled("JsonRpcError");
const isProgress = compiled("ProgressNotification");
const isLog = compiled("LogNotification");

/** Fails unless `response` is a success whose result has the shape that RCP gives the method. */
export function expectValidSuccess(method: string, response: unknown): void {
  expect(isSuccess(response), ajv.errorsText(isSuccess.errors)).toBe(true);
  const result: unknown = (response as { result: unknown }).result;
  expect(isResult({ method, result }), ajv.errorsText(isResult.errors)).toBe(true);
}

/** Fails unless `response` is a JSON-RPC error with a code of RCP §12. */
export function expectValidError(response: unknown): void {
  expect(isError(response), ajv.errorsText(isError.errors)).toBe(true);
}

/** The method must be known to judge a result; an error is an error for any method. */
export function expectValidResponse(method: string, response: unknown): void {
  if (typeof response === "object" && response !== null && "result" in response) expectValidSuccess(method, response);
  else expectValidError(response);
}

/** Fails unless `notification` has the shape that RCP gives its kind. */
export function expectValidNotification(notification: unknown): void {
  const method = (notification as { method?: string }).method;
  const validate = method === "notifications/log" ? isLog : isProgress;
  expect(validate(notification), ajv.errorsText(validate.errors)).toBe(true);
}
