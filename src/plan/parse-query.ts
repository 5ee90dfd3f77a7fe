import { invalidParams, payloadTooLarge } from "../protocol/errors.ts";
import { member, type Params } from "../protocol/params.ts";
import { isWellFormed, utf8Bytes } from "../protocol/text.ts";
import { blockText } from "./content-text.ts";

/**
 * Reads `query`: a string, one text block or an array of them (RCP §4.8). U+0000 is a break between words (DESIGN ruling 15).
 *
 * @throws RpcError -32602 for a wrong shape, -32005 `query.type` for another modality, -32013 over `maxBytes`
 */
export function parseQuery(params: Params, maxBytes: number): string {
  const value = member(params, "query");
  const text = Array.isArray(value)
    ? value.map((block, index) => queryText(block, `query[${index}]`)).join("\n")
    : typeof value === "string"
      ? value
      : queryText(value, "query");
  if (!isWellFormed(text))
    throw invalidParams({ field: "query", detail: "must be well-formed Unicode: it holds a lone surrogate" });
  if (utf8Bytes(text) > maxBytes)
    throw payloadTooLarge({
      field: "query",
      detail: `a query is at most ${maxBytes} bytes in UTF-8 (limits.maxQueryBytes)`,
    });
  return text.replaceAll("\u0000", " ");
}

const queryText = (block: unknown, field: string): string =>
  blockText(block, field, "query.type", "a string, a text block or an array of text blocks");

/**
 * Reads a `query` that a model is asked about, which there must be something in.
 *
 * @throws RpcError as `parseQuery`; -32602 for one of white space alone
 */
export function parseQuestion(params: Params, maxBytes: number): string {
  const query = parseQuery(params, maxBytes);
  if (query.trim() === "") throw invalidParams({ field: "query", detail: "must hold more than white space" });
  return query;
}
