import type { Ranked } from "./load-hits.ts";

/** A ranked list as `pgrcp_state` keeps it: five little-endian doubles a place; NaN stands for a score that there is not. */

const NUMBERS = 5;
const BYTES = NUMBERS * Float64Array.BYTES_PER_ELEMENT;

export function packEntries(ranked: readonly Ranked[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(ranked.length * BYTES));
  for (const [place, { chunkNo, score, dense, sparse, rerank }] of ranked.entries()) {
    const numbers = [chunkNo, score, dense ?? Number.NaN, sparse ?? Number.NaN, rerank ?? Number.NaN];
    for (const [index, number] of numbers.entries()) view.setFloat64(place * BYTES + index * 8, number, true);
  }
  return new Uint8Array(view.buffer);
}

export function unpackEntries({ buffer, byteOffset, byteLength }: Uint8Array): Ranked[] {
  const view = new DataView(buffer, byteOffset, byteLength);
  const at = (place: number, index: number) => view.getFloat64(place * BYTES + index * 8, true);
  return Array.from({ length: byteLength / BYTES }, (_, place) => {
    const rerank = known(at(place, 4));
    return {
      chunkNo: at(place, 0),
      score: at(place, 1),
      dense: known(at(place, 2)),
      sparse: known(at(place, 3)),
      ...(rerank !== undefined && { rerank }),
    };
  });
}

const known = (number: number): number | undefined => (Number.isNaN(number) ? undefined : number);
