import { BLOCK_SIZE, blockOf, type PostingBlock, postingsIn, type TermBlock } from "../../src/catalog/posting-block.ts";
import { ChunkSet } from "../../src/retrieval/chunk-set.ts";

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");

/** Blocks as the database gives them to scoring. */
export const termBlocks = (blocks: readonly PostingBlock[]): TermBlock[] =>
  blocks.map((block) => ({
    term: block.term,
    block: block.block,
    n: postingsIn(block),
    packed: base64(block.packed),
    wide: base64(block.wide),
  }));

/** The set of these chunk numbers. */
export function chunkSet(chunkNos: readonly number[]): ChunkSet {
  const byBlock = Map.groupBy(chunkNos, blockOf);
  return new ChunkSet(
    [...byBlock].map(([block, members]) => {
      const bytes = Buffer.alloc(members.length * 2);
      for (const [index, chunkNo] of members.entries()) bytes.writeUInt16BE(chunkNo % BLOCK_SIZE, index * 2);
      return { block, offsets: bytes.toString("base64") };
    }),
  );
}
