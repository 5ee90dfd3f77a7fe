import { isObject } from "../protocol/params.ts";
import type { FilterFieldType } from "./filter.ts";
import { type BoundScalar, type BoundValue, UnresolvedParamError } from "./resolvers.ts";
import type { Capabilities } from "./types.ts";

/** Params of a tool: what a model may fill, how that reads as JSON Schema, and what it filled in. */

export interface ToolParam {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean";
  readonly description: string;
  readonly required: boolean;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** JSON Schema of an object of scalars, as every maker of models takes it. */
export interface ParamsSchema {
  readonly type: "object";
  readonly properties: Readonly<Record<string, Omit<ToolParam, "name" | "required">>>;
  readonly required: readonly string[];
  readonly additionalProperties: false;
}

/** A model filled a param wrongly, so nothing was sent. The message is for the model: it names params and repeats no value. */
export class ToolInputError extends Error {
  override readonly name = "ToolInputError";
}

export function schemaOf(params: readonly ToolParam[]): ParamsSchema {
  return {
    type: "object",
    properties: Object.fromEntries(params.map(({ name, required: _, ...rest }) => [name, rest])),
    required: params.filter(({ required }) => required).map(({ name }) => name),
    additionalProperties: false,
  };
}

/**
 * Reads what a model filled in: own members with the names of exposed params, and nothing else.
 *
 * @throws ToolInputError for a missing or wrong value; nothing is coerced
 */
export function readArguments(params: readonly ToolParam[], args: unknown): Map<string, BoundScalar> {
  if (!isObject(args)) throw new ToolInputError("the arguments must be a JSON object");
  const values = new Map<string, BoundScalar>();
  for (const param of params) {
    const value = Object.hasOwn(args, param.name) ? args[param.name] : undefined;
    // Models write the empty string for what they leave out, too.
    if (value === undefined || value === null || (value === "" && !param.required)) {
      if (param.required) throw new ToolInputError(`${param.name} is missing`);
    } else if (fits(param, value)) values.set(param.name, value);
    else throw new ToolInputError(`${param.name} must be ${wanted(param)}`);
  }
  return values;
}

/** Own members of the arguments that are no exposed param: those that are bound, by name, and how many others. */
export function strayArguments(
  exposed: readonly ToolParam[],
  isBound: (name: string) => boolean,
  args: unknown,
): { readonly bound: readonly string[]; readonly others: number } {
  if (!isObject(args)) return { bound: [], others: 0 };
  const stray = Object.getOwnPropertyNames(args).filter((sent) => !exposed.some(({ name }) => name === sent));
  const bound = stray.filter(isBound);
  return { bound, others: stray.length - bound.length };
}

/** @throws UnresolvedParamError where what was resolved is not of the param's type, or is a list and none may be given */
export function checkBound(param: ToolParam, value: BoundValue | undefined, takesList: boolean): BoundValue {
  const isList = typeof value === "object";
  const fitting = isList ? takesList && value.every((one) => fits(param, one)) : fits(param, value);
  if (value === undefined || !fitting)
    throw new UnresolvedParamError(param.name, `was resolved to something that is not ${wanted(param)}`);
  return value;
}

function fits(
  { type, required, minimum = -Infinity, maximum = Infinity }: ToolParam,
  value: unknown,
): value is BoundScalar {
  switch (type) {
    case "string":
      return typeof value === "string" && value.isWellFormed() && (!required || value.trim() !== "");
    case "boolean":
      return typeof value === "boolean";
    case "integer":
      return Number.isSafeInteger(value) && Number(value) >= minimum && Number(value) <= maximum;
    case "number":
      return typeof value === "number" && Number.isFinite(value);
  }
}

function wanted({ type, required, minimum, maximum }: ToolParam): string {
  if (type === "string") return required ? "a string that is not blank" : "a string";
  if (type === "boolean") return "true or false";
  return `${type === "integer" ? "an integer" : "a number"}${minimum === undefined ? "" : ` from ${minimum} to ${maximum}`}`;
}

const TYPE_OF_FIELD = {
  keyword: "string",
  text: "string",
  date: "string",
  int: "integer",
  float: "number",
  bool: "boolean",
} as const satisfies Partial<Record<FilterFieldType, ToolParam["type"]>>;

/** What every maker of models takes as a param's name. */
const PARAM_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

export interface FilterParam extends ToolParam {
  readonly isDate: boolean;
  /** False where the name is no name for a param, so that only a resolver can fill it. */
  readonly canBeExposed: boolean;
}

/** An optional param for each filter field that the server advertises with a type that has scalars (RCP §8). */
export function filterParams(capabilities: Capabilities, taken: readonly string[]): FilterParam[] {
  const filter = Object.hasOwn(capabilities, "filter") ? capabilities.filter : undefined;
  if (!isObject(filter) || !isObject(filter.fields)) return [];
  return Object.entries(filter.fields).flatMap(([name, type]) => {
    if (typeof type !== "string" || !isFieldType(type) || taken.includes(name)) return [];
    const isDate = type === "date";
    return {
      ...{ name, type: TYPE_OF_FIELD[type], required: false, isDate },
      description: `Only passages whose ${name} is exactly this${isDate ? " (a date such as 2026-01-31, or RFC 3339)" : ""}.`,
      // No name that every object has: some reader of the schema may look it up.
      canBeExposed: PARAM_NAME.test(name) && !(name in Object.prototype),
    };
  });
}

const isFieldType = (type: string): type is keyof typeof TYPE_OF_FIELD => Object.hasOwn(TYPE_OF_FIELD, type);
