import type { FieldType, FilterField, FilterFields } from "../catalog/corpus.ts";
import { invalidParams, payloadTooLarge } from "../protocol/errors.ts";
import { isObject, member, type Params } from "../protocol/params.ts";
import { hasNul, isWellFormed, utf8Bytes } from "../protocol/text.ts";
import type { FilterScalar } from "./filter.ts";
import { scalarOf, VALUE_SHAPE } from "./filter-fields.ts";

/** What a typed filter column holds; null when the document does not have the field. */
export type ColumnValue = FilterScalar | readonly FilterScalar[] | null;

/** The meta limits of the configuration's `limits` section. */
export interface MetaLimits {
  /** UTF-8 bytes of meta as JSON. */
  readonly maxMetaBytes: number;
  /** UTF-8 bytes of one key. */
  readonly maxMetaKeyBytes: number;
  /** UTF-8 bytes of one string value. */
  readonly maxMetaValueBytes: number;
  /** Objects and arrays inside one another, meta itself being the first. */
  readonly maxMetaDepth: number;
}

export interface CheckedMeta {
  /** As it was sent; `{}` when it was absent. */
  readonly meta: Params;
  /** The same as JSON text, as it is stored. */
  readonly json: string;
  /** One entry per filter field, in the fields' order. */
  readonly columns: ReadonlyMap<string, ColumnValue>;
}

/** What a citation shows of a document. */
export interface DocumentCitation {
  readonly title?: string;
  readonly uri?: string;
  readonly language?: string;
}

/**
 * A meta value as the field's typed column holds it; a missing or null value is null.
 *
 * @returns undefined when the value does not fit; nothing is coerced, and a list with a null in it does not fit
 */
export function columnValue(field: FilterField, value: unknown): ColumnValue | undefined {
  if (value === undefined || value === null) return null;
  if (!field.array) return storableScalar(field.type, value);
  if (!Array.isArray(value)) return undefined;
  const elements: FilterScalar[] = [];
  for (const item of value) {
    const element = storableScalar(field.type, item);
    if (element === undefined) return undefined;
    elements.push(element);
  }
  return elements;
}

/** A keyword is the key of an index, whose entries hold some 2,700 bytes with the tenant's and the corpus's name. */
const MAX_KEYWORD_BYTES = 1_024;

function storableScalar(type: FieldType, value: unknown): FilterScalar | undefined {
  const scalar = scalarOf(type, value);
  return type === "keyword" && typeof scalar === "string" && utf8Bytes(scalar) > MAX_KEYWORD_BYTES ? undefined : scalar;
}

/**
 * Checks a document's meta on its way in, and reads the filter fields from it.
 *
 * @param meta any JSON value, however deep; null and undefined are an empty meta
 * @param path params path of meta, such as `documents[0].meta`; an advertised field's name is added, a caller's key never
 * @throws RpcError -32602 for a shape, key or value that is not allowed or an advertised field of the wrong type; -32013 when
 *   meta as a whole is too large
 * @see DESIGN rulings 4, 14, 15
 */
export function checkMeta(meta: unknown, fields: FilterFields, limits: MetaLimits, path: string): CheckedMeta {
  const given = meta ?? {};
  if (!isObject(given)) throw invalidParams({ field: path, detail: "meta is an object" });
  const isExact = checkTree(given, limits, path);
  const json = JSON.stringify(given);
  if (utf8Bytes(json) > limits.maxMetaBytes) {
    throw payloadTooLarge({
      field: path,
      detail: `meta has at most ${limits.maxMetaBytes} bytes as JSON (limits.maxMetaBytes)`,
    });
  }
  const columns = new Map<string, ColumnValue>();
  for (const field of fields.values()) {
    const value = columnValue(field, member(given, field.name));
    if (value === undefined) {
      const shape = field.array ? `a list whose every element is ${VALUE_SHAPE[field.type]}` : VALUE_SHAPE[field.type];
      throw invalidParams({ field: `${path}.${field.name}`, detail: `${field.name} is ${shape}` });
    }
    columns.set(field.name, value);
  }
  // After the fields, whose own path is the better answer.
  if (!isExact) {
    const detail = "meta integers are between -(2^53 - 1) and 2^53 - 1; send a longer one as a string";
    throw invalidParams({ field: path, detail });
  }
  return { meta: given, json, columns };
}

/**
 * Title, uri and language, as far as meta has usable ones. Whatever else meta holds never counts, and nothing is refused.
 *
 * A uri is cited when it is an absolute http or https URL or a URN, without white space and control characters.
 */
export function citationOf(meta: Params): DocumentCitation {
  const text = (key: string): string | undefined => {
    const value = member(meta, key);
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  const [title, uri, language] = [text("title"), text("uri"), text("language")];
  return {
    ...(title !== undefined && { title }),
    ...(uri !== undefined && isCitable(uri) && { uri }),
    ...(language !== undefined && { language }),
  };
}

/**
 * Walks with a stack of its own: the tree may be deeper than the call stack.
 *
 * @returns whether every number is still the one that was sent
 */
function checkTree(meta: Params, limits: MetaLimits, path: string): boolean {
  const refuse = (detail: string): never => {
    throw invalidParams({ field: path, detail });
  };
  let isExact = true;
  const pending: { readonly value: unknown; readonly depth: number }[] = [{ value: meta, depth: 1 }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value, depth } = next;
    if (typeof value === "string") {
      if (!isWellFormed(value) || hasNul(value)) refuse("meta strings are well-formed Unicode without U+0000");
      if (utf8Bytes(value) > limits.maxMetaValueBytes) {
        refuse(`a meta string has at most ${limits.maxMetaValueBytes} bytes (limits.maxMetaValueBytes)`);
      }
    } else if (typeof value === "number") {
      // JSON.parse reads 1e400 as Infinity, which would be stored as null.
      if (!Number.isFinite(value)) refuse("meta numbers are finite");
      isExact &&= !wasChanged(value);
    } else if (typeof value === "object" && value !== null) {
      if (depth > limits.maxMetaDepth) refuse(`meta nests at most ${limits.maxMetaDepth} deep (limits.maxMetaDepth)`);
      for (const [key, child] of Object.entries(value)) {
        if (!Array.isArray(value)) checkKey(key, limits, refuse);
        pending.push({ value: child, depth: depth + 1 });
      }
    } else if (value !== null && typeof value !== "boolean") {
      refuse("meta holds JSON values only");
    }
  }
  return isExact;
}

/** Read as a double, 1234567890123456789 has already become another number. From 1e21 on nobody writes all the digits. */
const wasChanged = (value: number): boolean =>
  Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) < 1e21;

function checkKey(key: string, limits: MetaLimits, refuse: (detail: string) => never): void {
  if (key === "" || key === "__proto__" || !isWellFormed(key) || hasNul(key)) {
    refuse("a meta key is non-empty, well-formed Unicode without U+0000, and not __proto__");
  }
  if (utf8Bytes(key) > limits.maxMetaKeyBytes) {
    refuse(`a meta key has at most ${limits.maxMetaKeyBytes} bytes (limits.maxMetaKeyBytes)`);
  }
}

const CITABLE = /^(?:https?:\/\/[^/?#]|urn:[a-z0-9][a-z0-9-]{0,31}:.)/i;
const WHITE_SPACE_OR_CONTROL = /[\s\u0000-\u001f\u007f]/;

const isCitable = (uri: string): boolean => CITABLE.test(uri) && !WHITE_SPACE_OR_CONTROL.test(uri) && URL.canParse(uri);
