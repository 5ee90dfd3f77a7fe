import { invalidParams, optionUnsupported, payloadTooLarge } from "../protocol/errors.ts";
import { isObject, member, type Params, readArray } from "../protocol/params.ts";
import { isWellFormed, utf8Bytes } from "../protocol/text.ts";
import { parseTextType, type TextType } from "../protocol/text-type.ts";

const OTHER_TYPES: ReadonlySet<unknown> = new Set(["image", "audio", "blob"]);

/**
 * The text of a Content block (RCP §4.8).
 *
 * @param field the block's place in the params
 * @param option what is not advertised when the block is of another modality, such as `query.type`
 * @param wanted what would be right in the block's place
 * @throws RpcError -32602 for a wrong shape or a uri, -32005 for another modality
 */
export function blockText(block: unknown, field: string, option: string, wanted: string): string {
  const refuse = (name: string, detail: string) => invalidParams({ field: name, detail });
  if (!isObject(block)) throw refuse(field, `must be ${wanted}`);
  const type = member(block, "type");
  if (member(block, "data") !== undefined && member(block, "uri") !== undefined)
    throw refuse(field, "a block carries data or uri, never both");
  if (OTHER_TYPES.has(type)) throw optionUnsupported({ option, detail: "only text blocks are advertised" });
  if (type === undefined) throw refuse(field, "a block needs a type");
  if (type !== "text") throw refuse(`${field}.type`, 'must be "text"');
  if (member(block, "uri") !== undefined) throw refuse(`${field}.uri`, "a text block carries text, not a uri");
  const text = member(block, "text");
  if (typeof text !== "string") throw refuse(`${field}.text`, "must be a string");
  return text;
}

/** A body that is still to be fetched (RCP §4.8). */
export interface BodyReference {
  readonly uri: string;
  readonly type: TextType;
  /** Of the uri in the params. */
  readonly field: string;
}

/**
 * A document's body: a string, a text block, or a blob block that names a text by its uri.
 *
 * @param field its place in the params
 * @throws RpcError -32602 for a wrong shape, and for a uri where nothing is fetched; -32005 for another modality or type
 */
export function readBody(body: unknown, field: string, offer: { readonly fetch: object | undefined }) {
  if (typeof body === "string") return body;
  if (!isObject(body)) throw invalidParams({ field, detail: "must be a string or a content block" });
  if (member(body, "type") !== "blob") return blockText(body, field, "documents.type", "a string or a content block");
  return readReference(body, field, offer);
}

function readReference(block: Params, field: string, offer: { readonly fetch: object | undefined }): BodyReference {
  const [mimeType, uri, data] = [member(block, "mimeType"), member(block, "uri"), member(block, "data")];
  if (data !== undefined && uri !== undefined)
    throw invalidParams({ field, detail: "a block carries data or uri, never both" });
  if (typeof mimeType !== "string")
    throw invalidParams({ field: `${field}.mimeType`, detail: "a blob needs a mimeType" });
  const type = parseTextType(mimeType);
  if (type === undefined) {
    const detail = "text/plain, text/markdown and text/html in UTF-8 are what a blob can be";
    throw optionUnsupported({ option: "documents.mimeType", detail });
  }
  if (data !== undefined)
    throw invalidParams({ field: `${field}.data`, detail: "text in place is a string or a text block" });
  if (typeof uri !== "string") throw invalidParams({ field: `${field}.uri`, detail: "must be a string" });
  if (offer.fetch === undefined)
    throw invalidParams({
      field: `${field}.uri`,
      detail: "this server fetches no bodies (fetch.enabled); send the text",
    });
  return { uri, type, field: `${field}.uri` };
}

/**
 * Which of a member's two names the params use; the first when neither is there.
 *
 * @throws RpcError -32602 when both are
 */
export function nameInUse(params: Params, name: string, otherName: string): string {
  if (member(params, otherName) === undefined) return name;
  if (member(params, name) === undefined) return otherName;
  throw invalidParams({ field: otherName, detail: `is another name for ${name}; send one of them` });
}

export interface TextListLimits {
  readonly maxTexts: number;
  /** The configuration key that holds `maxTexts`. */
  readonly setting: string;
  readonly maxTextBytes: number;
}

/**
 * Reads a list of strings and text blocks.
 *
 * @throws RpcError -32602 for a wrong shape, -32005 for another modality, -32013 over a limit; each names the member
 */
export function readTexts(params: Params, name: string, limits: TextListLimits): string[] {
  const { maxTexts, setting, maxTextBytes } = limits;
  const list = readArray(params, name);
  if (list.length > maxTexts)
    throw payloadTooLarge({ field: name, detail: `at most ${maxTexts} texts a call (${setting})` });
  return list.map((value, index) => {
    const field = `${name}[${index}]`;
    const text =
      typeof value === "string" ? value : blockText(value, field, `${name}.type`, "a string or a text block");
    if (!isWellFormed(text))
      throw invalidParams({ field, detail: "must be well-formed Unicode: it holds a lone surrogate" });
    if (utf8Bytes(text) > maxTextBytes)
      throw payloadTooLarge({
        field,
        detail: `a text is at most ${maxTextBytes} bytes in UTF-8 (limits.maxTextBytes)`,
      });
    return text;
  });
}
