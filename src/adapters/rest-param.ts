import { invalidParams, type RpcError } from "../protocol/errors.ts";
import { isObject } from "../protocol/params.ts";
import { isWithinDepth } from "../rpc/json-depth.ts";

/** What a param's text stands for. An `object` is written as JSON. */
export type ParamForm = "text" | "number" | "boolean" | "date" | "object";

export interface RestParam {
  readonly name: string;
  readonly form: ParamForm;
  readonly required: boolean;
  /** For the model. */
  readonly description: string;
}

/** A value as RCP takes it; undefined when none was sent. */
export type ReadParam =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "refusal"; readonly error: RpcError };

const WANTED = {
  text: "must be a text",
  number: "must be a number as JSON writes it, such as 5 or 0.25",
  boolean: "must be true or false",
  date: "must be a date such as 2024-05-31, or one with time and offset such as 2024-05-31T12:00:00Z",
  object: 'must be a JSON object written as text, such as {"lang":"en"}',
} as const satisfies Record<ParamForm, string>;

/** The grammar of RFC 8259 §6, which `Number` alone is far wider than. */
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
/** What is no date of this form is found out when the filter is planned. */
const DATE = /^\d{4}-\d{2}-\d{2}(?:T.*)?$/;
/** More than any limit that a method may be given, and few enough to be written out again. */
const MAX_DEPTH = 1_000;

/**
 * Reads one param. The protocol's client renders every value to text, an absent one to `""`; whoever writes the body by hand may
 * send a number, a boolean or an object as JSON has them, too. Nothing else is coerced.
 *
 * @param sent the body's own member; undefined where there is none
 */
export function readRestParam({ name, form, required }: RestParam, sent: unknown): ReadParam {
  const refuse = (detail: string): ReadParam => ({ kind: "refusal", error: invalidParams({ field: name, detail }) });
  if (isAbsent(sent))
    return required ? refuse(`is required, and ${WANTED[form]}`) : { kind: "value", value: undefined };
  const value = form === "text" || form === "date" ? sent : plainValue(form, sent);
  if (!HAS_FORM[form](value)) return refuse(WANTED[form]);
  if (!isWithinDepth(value, MAX_DEPTH)) return refuse(`nests at most ${MAX_DEPTH} levels deep`);
  return { kind: "value", value };
}

/** Absent and null are one (RCP §4.6), and `""` is how the protocol writes an absent value. */
export const isAbsent = (sent: unknown): boolean => sent === undefined || sent === null || sent === "";

const HAS_FORM = {
  text: (value) => typeof value === "string",
  number: (value) => typeof value === "number" && Number.isFinite(value),
  boolean: (value) => typeof value === "boolean",
  date: (value) => typeof value === "string" && DATE.test(value),
  object: isObject,
} as const satisfies Record<ParamForm, (value: unknown) => boolean>;

/** What a text stands for, as far as it is written like a value of its form; anything else as it is. */
function plainValue(form: "number" | "boolean" | "object", sent: unknown): unknown {
  if (typeof sent !== "string") return sent;
  switch (form) {
    case "number":
      return JSON_NUMBER.test(sent) ? Number(sent) : sent;
    case "boolean":
      return sent === "true" ? true : sent === "false" ? false : sent;
    case "object":
      return parsed(sent);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
