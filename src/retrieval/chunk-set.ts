import { BLOCK_SIZE, blockOf } from "../catalog/posting-block.ts";

/** A set of chunk numbers, one bit each, in pages of a posting block: a million take 125 kB. */
export class ChunkSet {
  readonly #pages = new Map<number, Uint8Array>();

  constructor(chunkNos: Iterable<number> = []) {
    for (const chunkNo of chunkNos) {
      const block = blockOf(chunkNo);
      let page = this.#pages.get(block);
      if (page === undefined) {
        page = new Uint8Array(BLOCK_SIZE / 8);
        this.#pages.set(block, page);
      }
      const offset = chunkNo % BLOCK_SIZE;
      page[offset >>> 3] = (page[offset >>> 3] ?? 0) | (1 << (offset & 7));
    }
  }

  has(chunkNo: number): boolean {
    return hasOffset(this.page(blockOf(chunkNo)), chunkNo % BLOCK_SIZE);
  }

  /** The members in a block, for `hasOffset`; undefined when there is none. */
  page(block: number): Uint8Array | undefined {
    return this.#pages.get(block);
  }
}

/** Whether a page of a ChunkSet holds the chunk with this offset in its block. */
export const hasOffset = (page: Uint8Array | undefined, offset: number): boolean =>
  page !== undefined && ((page[offset >>> 3] ?? 0) & (1 << (offset & 7))) !== 0;
