import { planEmbed } from "../plan/plan-embed.ts";
import type { VectorEncoding } from "../protocol/wire.ts";
import type { Handler } from "./handler.ts";

/** RCP §7.3. The encoding and the dimension are always said. */
export const embed: Handler = async (params, call, { embedding, offer }) => {
  const { texts, kind, encoding } = planEmbed(params, offer.embed);
  const vectors = await embedding.embed(texts, kind, call.signal, call.principal.tenantId);
  return { vectors: vectors.map(ENCODE[encoding]), encoding, dimension: embedding.space.dimension };
};

/** RCP §7.3.1: little-endian binary32, whatever this machine's own order. */
const ENCODE: Readonly<Record<VectorEncoding, (vector: Float32Array) => string | number[]>> = {
  json: (vector) => [...vector],
  "f32-base64": (vector) => {
    const bytes = Buffer.alloc(4 * vector.length);
    for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, 4 * index);
    return bytes.toString("base64");
  },
};
