/**
 * The inverted index's rows. A block holds a term's postings in 4096 consecutive chunk numbers, as bytes that grow by appending
 * at the end, so that a write concatenates and never reads.
 *
 * `packed`: one big-endian uint32 a posting: the chunk's offset in the block (12 bits), the term's frequency in it (8 bits) and
 * the chunk's length in terms (12 bits). A frequency or length that doesn't fit is stored as the field's greatest value, and
 * `wide` has both in full: offset (uint16), frequency (uint32), length (uint32), big-endian, 10 bytes.
 */

const BLOCK_BITS = 12;
/** Chunk numbers in a block. */
export const BLOCK_SIZE = 1 << BLOCK_BITS;

const MAX_FREQUENCY = 0xff;
const LENGTH_BITS = 12;
const OFFSET_SHIFT = 20;
const MAX_LENGTH = 0xfff;
/** Lengths that a packed posting tells apart: 0 and up. */
export const LENGTHS = MAX_LENGTH + 1;
const POSTING_BYTES = 4;
const WIDE_BYTES = 10;

/** What the index keeps of one chunk. */
export interface ChunkTerms {
  readonly chunkNo: number;
  /** Length of the chunk in terms: the sum of its counts. */
  readonly length: number;
  readonly counts: ReadonlyMap<string, number>;
}

/** A row of `pgrcp.postings`, less its owner. */
export interface PostingBlock {
  readonly term: string;
  /** chunk_no >> 12. */
  readonly block: number;
  readonly packed: Uint8Array;
  readonly wide: Uint8Array;
}

/** A row as scoring reads it. Bytes are in base64, because not every block that was read is decoded. */
export interface TermBlock {
  readonly term: string;
  readonly block: number;
  /** Postings in it. */
  readonly n: number;
  /** Undefined where none of them can be ranked and all of them are in the version. */
  readonly packed: string | undefined;
  readonly wide: string;
}

export const blockOf = (chunkNo: number): number => chunkNo >>> BLOCK_BITS;
export const firstChunkOf = (block: number): number => block << BLOCK_BITS;
export const postingsIn = (block: PostingBlock): number => block.packed.length / POSTING_BYTES;

/** The postings of chunks that have no numbers yet, by term. */
export class GatheredTerms {
  /** Of a term: the nth chunk, how often it holds the term, the next such chunk, and so on. */
  readonly #places = new Map<string, number[]>();
  readonly #lengths: number[] = [];

  /** @param nth of the chunks, more than that of the one before */
  add(nth: number, { length, counts }: Omit<ChunkTerms, "chunkNo">): void {
    this.#lengths[nth] = length;
    for (const [term, frequency] of counts) {
      const places = this.#places.get(term);
      if (places === undefined) this.#places.set(term, [nth, frequency]);
      else places.push(nth, frequency);
    }
  }

  /**
   * Packs them into one block for each term and each 4096 chunk numbers. That is what is left to do once numbers are known, which is under
   * a lock: a fraction of what gathering costs.
   *
   * @param firstChunk the number of chunk 0
   * @returns ordered by term, then block, so that concurrent writers lock rows in one order
   */
  pack(firstChunk: number): PostingBlock[] {
    const rows: PostingBlock[] = [];
    for (const term of [...this.#places.keys()].sort()) {
      const places = this.#places.get(term) ?? [];
      for (let from = 0; from < places.length; ) {
        const block = blockOf(firstChunk + (places[from] ?? 0));
        const end = firstChunkOf(block + 1) - firstChunk;
        let to = from + 2;
        while (to < places.length && (places[to] ?? 0) < end) to += 2;
        rows.push({ term, block, ...this.#bytesOf(places, from, to, firstChunk - firstChunkOf(block)) });
        from = to;
      }
    }
    return rows;
  }

  #bytesOf(places: readonly number[], from: number, to: number, shift: number): Pick<PostingBlock, "packed" | "wide"> {
    const packed = Buffer.allocUnsafe(((to - from) / 2) * POSTING_BYTES);
    let wide = NO_BYTES;
    for (let at = from, byte = 0; at < to; at += 2, byte += POSTING_BYTES) {
      const nth = places[at] ?? 0;
      const frequency = places[at + 1] ?? 0;
      const length = this.#lengths[nth] ?? 0;
      const offset = nth + shift;
      const shownFrequency = Math.min(frequency, MAX_FREQUENCY);
      const shownLength = Math.min(length, MAX_LENGTH);
      packed.writeUInt32BE(((offset << OFFSET_SHIFT) | (shownFrequency << LENGTH_BITS) | shownLength) >>> 0, byte);
      if (isClipped(shownFrequency, shownLength)) wide = Buffer.concat([wide, wideBytes(offset, frequency, length)]);
    }
    return { packed, wide };
  }
}

const NO_BYTES = Buffer.alloc(0);

/** As `GatheredTerms` packs them. @param chunks in ascending order of number, none twice */
export function packPostings(chunks: readonly ChunkTerms[]): PostingBlock[] {
  const gathered = new GatheredTerms();
  for (const chunk of chunks) gathered.add(chunk.chunkNo, chunk);
  return gathered.pack(0);
}

/**
 * Calls `visit` for each posting, in the order of writing, with the true frequency and length.
 *
 * @param offset of the chunk in the block
 */
export function forEachPosting(
  block: PostingBlock,
  visit: (offset: number, frequency: number, length: number) => void,
): void {
  const { packed } = block;
  const wide = block.wide.length === 0 ? undefined : readWide(block.wide);
  for (let at = 0; at < packed.length; at += POSTING_BYTES) {
    const high = ((packed[at] ?? 0) << 8) | (packed[at + 1] ?? 0);
    const low = ((packed[at + 2] ?? 0) << 8) | (packed[at + 3] ?? 0);
    const offset = high >>> 4;
    const frequency = ((high & 0xf) << 4) | (low >>> 12);
    const length = low & MAX_LENGTH;
    const full = isClipped(frequency, length) ? wide?.get(offset) : undefined;
    if (full === undefined) visit(offset, frequency, length);
    else visit(offset, full.frequency, full.length);
  }
}

const IS_LITTLE_ENDIAN = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

/** Reads one block after the other as numbers, into the same memory: to ask for it takes longer than to fill it. */
export class PostingReader {
  readonly #postings = new Uint32Array(BLOCK_SIZE);
  readonly #bytes = Buffer.from(this.#postings.buffer);

  /** @returns postings in the order of writing, for the functions below; good until the next block is read */
  read({ packed = "" }: TermBlock): Uint32Array {
    const size = this.#bytes.write(packed, "base64");
    if (IS_LITTLE_ENDIAN) this.#bytes.subarray(0, size).swap32();
    return this.#postings.subarray(0, size / POSTING_BYTES);
  }
}

export function decodeBlock({ term, block, packed = "", wide }: Omit<TermBlock, "n">): PostingBlock {
  return { term, block, packed: Buffer.from(packed, "base64"), wide: Buffer.from(wide, "base64") };
}

/** Frequencies and lengths that do not fit into a packed posting, by the offset of the chunk. */
export const wideOf = ({ wide }: TermBlock): ReadonlyMap<number, Counts> =>
  wide === "" ? NO_COUNTS : readWide(Buffer.from(wide, "base64"));

interface Counts {
  readonly frequency: number;
  readonly length: number;
}

const NO_COUNTS: ReadonlyMap<number, Counts> = new Map();

export const offsetOf = (posting: number): number => posting >>> OFFSET_SHIFT;

/**
 * Adds weight · frequency / (frequency + the norm of the length) to the score of each chunk, found by its offset. It stands here, for
 * taking a posting apart by what another module exports takes twice as long as all the rest.
 */
export function addPostings(
  postings: Uint32Array,
  weight: number,
  lengthNorms: Float64Array,
  scores: Float64Array,
): void {
  for (let index = 0; index < postings.length; index++) {
    const posting = postings[index] ?? 0;
    const offset = posting >>> OFFSET_SHIFT;
    const frequency = (posting >>> LENGTH_BITS) & MAX_FREQUENCY;
    const norm = lengthNorms[posting & MAX_LENGTH] ?? 0;
    scores[offset] = (scores[offset] ?? 0) + (weight * frequency) / (frequency + norm);
  }
}

/** Those of the postings that are of some chunks. Both are in ascending order of offset. */
export function postingsOf(postings: Uint32Array, offsets: readonly number[]): Uint32Array {
  const found = new Uint32Array(offsets.length);
  let count = 0;
  let from = 0;
  for (const offset of offsets) {
    let end = postings.length;
    while (from < end) {
      const middle = (from + end) >>> 1;
      if ((postings[middle] ?? 0) >>> OFFSET_SHIFT < offset) from = middle + 1;
      else end = middle;
    }
    const posting = postings[from];
    if (posting === undefined) break;
    if (posting >>> OFFSET_SHIFT === offset) found[count++] = posting;
  }
  return found.subarray(0, count);
}

/** The block less the postings of some chunks; the others keep their order and their bytes. */
export function withoutChunks(block: PostingBlock, gone: { has(chunkNo: number): boolean }): PostingBlock {
  const first = firstChunkOf(block.block);
  const stays = (bytes: Uint8Array, size: number, offsetAt: (view: DataView, at: number) => number): Uint8Array => {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const kept: Uint8Array[] = [];
    for (let at = 0; at < bytes.length; at += size)
      if (!gone.has(first + offsetAt(view, at))) kept.push(bytes.subarray(at, at + size));
    return kept.length * size === bytes.length ? bytes : Buffer.concat(kept);
  };
  return {
    ...block,
    packed: stays(block.packed, POSTING_BYTES, (view, at) => view.getUint16(at) >>> 4),
    wide: stays(block.wide, WIDE_BYTES, (view, at) => view.getUint16(at)),
  };
}

const isClipped = (frequency: number, length: number): boolean => frequency === MAX_FREQUENCY || length === MAX_LENGTH;

function wideBytes(offset: number, frequency: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(WIDE_BYTES);
  bytes.writeUInt16BE(offset, 0);
  bytes.writeUInt32BE(frequency, 2);
  bytes.writeUInt32BE(length, 6);
  return bytes;
}

function readWide(wide: Uint8Array): Map<number, Counts> {
  const view = new DataView(wide.buffer, wide.byteOffset, wide.byteLength);
  const entries = new Map<number, Counts>();
  for (let at = 0; at < wide.length; at += WIDE_BYTES) {
    entries.set(view.getUint16(at), { frequency: view.getUint32(at + 2), length: view.getUint32(at + 6) });
  }
  return entries;
}
