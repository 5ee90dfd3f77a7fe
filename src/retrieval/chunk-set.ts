import { BLOCK_SIZE } from "../catalog/posting-block.ts";

/** The members of a set of chunks in one posting block. */
export interface ChunkPage {
  readonly block: number;
  /** Their offsets in the block, each a big-endian uint16, in base64. */
  readonly offsets: string;
}

/** A set of chunk numbers. A page becomes one bit a chunk when it is first asked for. */
export class ChunkSet {
  readonly #pages: Map<number, string | Uint8Array>;

  /** @param pages no block twice */
  constructor(pages: readonly ChunkPage[]) {
    this.#pages = new Map(pages.map(({ block, offsets }) => [block, offsets]));
  }

  /** The members in a block, for `hasOffset`; undefined when there is none. */
  page(block: number): Uint8Array | undefined {
    const page = this.#pages.get(block);
    if (typeof page !== "string") return page;
    const bits = bitsOf(page);
    this.#pages.set(block, bits);
    return bits;
  }
}

function bitsOf(offsets: string): Uint8Array {
  const bits = new Uint8Array(BLOCK_SIZE / 8);
  const bytes = Buffer.from(offsets, "base64");
  for (let at = 0; at < bytes.length; at += 2) {
    const offset = bytes.readUInt16BE(at);
    bits[offset >>> 3] = (bits[offset >>> 3] ?? 0) | (1 << (offset & 7));
  }
  return bits;
}

/** Whether a page of a ChunkSet holds the chunk with this offset in its block. */
export const hasOffset = (page: Uint8Array | undefined, offset: number): boolean =>
  page !== undefined && ((page[offset >>> 3] ?? 0) & (1 << (offset & 7))) !== 0;
