import type { Config } from "../config/config.ts";
import { identityOf } from "../rpc/identity-members.ts";
import type { ParamForm, RestParam } from "./rest-param.ts";

type Declarations = Config["filter"]["fields"];
type ScalarType = Exclude<Declarations[string], `${string}[]`>;

export interface FieldParam extends RestParam {
  /** The filter field that it compares with. */
  readonly field: string;
}

const FORM = {
  keyword: "text",
  text: "text",
  int: "number",
  float: "number",
  bool: "boolean",
  date: "date",
} as const satisfies Record<ScalarType, ParamForm>;

const VALUE = {
  text: "the exact text",
  number: "a number",
  boolean: "true or false",
  date: "a date such as 2024-05-31, or one with time and offset",
} as const;

/**
 * A param for each filter field that holds one value. It has the field's name, as far as a template can: what is no letter, digit or
 * `_` becomes `_`, and `filter_` goes before a name that means something else already.
 *
 * @param taken names of the tool's other params
 */
export function fieldParams(fields: Declarations, taken: ReadonlySet<string>): FieldParam[] {
  const used = new Set(taken);
  return Object.entries(fields).flatMap(([field, type]) => {
    if (!isScalar(type)) return [];
    const name = freeName(field.replaceAll(/[.-]/g, "_"), used);
    used.add(name);
    const form = FORM[type];
    return [
      { name, field, form, required: false, description: `Only documents whose ${field} is this: ${VALUE[form]}` },
    ];
  });
}

const isScalar = (type: Declarations[string]): type is ScalarType => Object.hasOwn(FORM, type);

function freeName(name: string, used: ReadonlySet<string>): string {
  const isTaken = used.has(name) || identityOf(name) !== undefined || name in Object.prototype;
  return isTaken ? freeName(`filter_${name}`, used) : name;
}
