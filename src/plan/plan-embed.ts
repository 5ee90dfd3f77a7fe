import { invalidParams, optionUnsupported } from "../protocol/errors.ts";
import { type Params, readBoolean, readString } from "../protocol/params.ts";
import { VECTOR_ENCODINGS, type VectorEncoding } from "../protocol/wire.ts";
import { nameInUse, readTexts } from "./content-text.ts";

export interface EmbedLimits {
  readonly maxInputsPerEmbed: number;
  readonly maxTextBytes: number;
}

export interface EmbedPlan {
  /** In the inputs' order. U+0000 became what retrieve and index/add make of it, so that vectors compare. */
  readonly texts: readonly string[];
  readonly kind: "query" | "document";
  readonly encoding: VectorEncoding;
}

/**
 * Reads embed params (RCP §7.3). `texts` is the older name of `inputs`; without a `kind`, inputs are documents.
 *
 * @throws RpcError -32602, -32005 for another modality or encoding, -32013 over a limit
 */
export function planEmbed(params: Params, limits: EmbedLimits): EmbedPlan {
  const texts = readTexts(params, nameInUse(params, "inputs", "texts"), {
    maxTexts: limits.maxInputsPerEmbed,
    setting: "limits.maxInputsPerEmbed",
    maxTextBytes: limits.maxTextBytes,
  });
  const kind = readString(params, "kind") ?? "document";
  if (kind !== "query" && kind !== "document")
    throw invalidParams({ field: "kind", detail: "must be query or document" });
  const instead = kind === "query" ? " " : "\uFFFD";
  return { texts: texts.map((text) => text.replaceAll("\u0000", instead)), kind, encoding: readEncoding(params) };
}

/** Under `strict: false` an encoding that is not on offer is answered in JSON, which every client reads (RCP §7.3.1). */
function readEncoding(params: Params): VectorEncoding {
  const asked = readString(params, "encoding");
  const offered = VECTOR_ENCODINGS.find((one) => one === asked);
  const strict = readBoolean(params, "strict") ?? true;
  if (asked !== undefined && offered === undefined && strict)
    throw optionUnsupported({
      option: "encoding",
      detail: `the encodings on offer are ${VECTOR_ENCODINGS.join(", ")}`,
    });
  return offered ?? "json";
}
