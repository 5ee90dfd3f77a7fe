import { isObject } from "../protocol/params.ts";

/** What is wrong with a value, with the path to it, or undefined. */
export type Shape = (value: unknown, path: string) => string | undefined;

/** Small combinators over JSON values, so that every response can be judged by RCP's schema without a schema engine. */

const typed =
  (what: string, holds: (value: unknown) => boolean): Shape =>
  (value, path) =>
    holds(value) ? undefined : `${path} must be ${what}`;

const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

export const anything: Shape = () => undefined;
export const text = typed("a string", (value) => typeof value === "string");
export const flag = typed("true or false", (value) => typeof value === "boolean");
export const number = typed("a finite number", isNumber);
export const integer = typed("an integer of at most 53 bits", Number.isSafeInteger);
export const anyObject = typed("an object", isObject);

export const integerFrom = (min: number): Shape =>
  typed(`an integer of at least ${min}`, (value) => Number.isSafeInteger(value) && Number(value) >= min);
export const numberIn = (min: number, max: number): Shape =>
  typed(`a number from ${min} to ${max}`, (value) => isNumber(value) && value >= min && value <= max);
export const oneOf = (...values: readonly unknown[]): Shape =>
  typed(`one of ${JSON.stringify(values)}`, (value) => values.includes(value));

export const either =
  (...shapes: readonly Shape[]): Shape =>
  (value, path) => {
    const faults = shapes.map((shape) => shape(value, path));
    return faults.includes(undefined) ? undefined : faults.join(", or ");
  };

export const list =
  (item: Shape): Shape =>
  (value, path) => {
    if (!Array.isArray(value)) return `${path} must be an array`;
    return firstFault(value.map((one, index) => item(one, `${path}[${index}]`)));
  };

export const recordOf =
  (member: Shape): Shape =>
  (value, path) =>
    isObject(value)
      ? firstFault(Object.entries(value).map(([name, one]) => member(one, `${path}.${name}`)))
      : `${path} must be an object`;

/** Members that are not named may be anything (RCP §4.6); an optional one that is null counts as absent. */
export const object =
  (required: Readonly<Record<string, Shape>>, optional: Readonly<Record<string, Shape>> = {}): Shape =>
  (value, path) => {
    if (!isObject(value)) return `${path} must be an object`;
    const missing = Object.keys(required).filter((name) => !Object.hasOwn(value, name));
    if (missing.length > 0) return `${path} must have ${missing.join(", ")}`;
    const given = Object.entries({ ...required, ...optional }).filter(
      ([name]) => Object.hasOwn(value, name) && (value[name] !== null || Object.hasOwn(required, name)),
    );
    return firstFault(given.map(([name, shape]) => shape(value[name], `${path}.${name}`)));
  };

export const allOf =
  (...shapes: readonly Shape[]): Shape =>
  (value, path) =>
    firstFault(shapes.map((shape) => shape(value, path)));

const firstFault = (faults: readonly (string | undefined)[]): string | undefined =>
  faults.find((fault) => fault !== undefined);
