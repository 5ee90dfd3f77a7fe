import { invalidParams, optionUnsupported, payloadTooLarge } from "../protocol/errors.ts";
import { isObject, member, type Params } from "../protocol/params.ts";
import { isWellFormed, utf8Bytes } from "../protocol/text.ts";

/**
 * Reads `query`: a string, one text block or an array of them (RCP §4.8). U+0000 is a break between words (DESIGN ruling 15).
 *
 * @throws RpcError -32602 for a wrong shape, -32005 `query.type` for another modality, -32013 over `maxBytes`
 */
export function parseQuery(params: Params, maxBytes: number): string {
  const value = member(params, "query");
  const text = Array.isArray(value)
    ? value.map((block, index) => blockText(block, `query[${index}]`)).join("\n")
    : typeof value === "string"
      ? value
      : blockText(value, "query");
  if (!isWellFormed(text))
    throw invalidParams({ field: "query", detail: "must be well-formed Unicode: it holds a lone surrogate" });
  if (utf8Bytes(text) > maxBytes)
    throw payloadTooLarge({
      field: "query",
      detail: `a query is at most ${maxBytes} bytes in UTF-8 (limits.maxQueryBytes)`,
    });
  return text.replaceAll("\u0000", " ");
}

const TYPES: ReadonlySet<unknown> = new Set(["image", "audio", "blob"]);

function blockText(block: unknown, field: string): string {
  const refuse = (name: string, detail: string) => invalidParams({ field: name, detail });
  if (!isObject(block)) throw refuse(field, "must be a string, a text block or an array of text blocks");
  const type = member(block, "type");
  if (member(block, "data") !== undefined && member(block, "uri") !== undefined)
    throw refuse(field, "a block carries data or uri, never both");
  if (TYPES.has(type)) throw optionUnsupported({ option: "query.type", detail: "only text blocks are advertised" });
  if (type === undefined) throw refuse(field, "a block needs a type");
  if (type !== "text") throw refuse(`${field}.type`, 'must be "text"');
  if (member(block, "uri") !== undefined) throw refuse(`${field}.uri`, "a text block carries text, not a uri");
  const text = member(block, "text");
  if (typeof text !== "string") throw refuse(`${field}.text`, "must be a string");
  return text;
}
