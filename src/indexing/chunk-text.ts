import { cutPiece } from "./cut-piece.ts";

/** A piece of a text, with offsets in Unicode code points of that text. */
export interface TextChunk {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

export interface ChunkLimits {
  /** Model tokens of a chunk, special tokens included; Infinity = one chunk. What the model reads besides is the caller's to subtract. */
  readonly maxTokens: number;
  /** Model tokens that a chunk may repeat from the end of the one before. */
  readonly overlapTokens: number;
  /** As in EmbeddingModel. */
  countTokens(texts: readonly string[]): Promise<readonly number[]>;
}

/** Part of a text by UTF-16 offsets, without white space at its ends, and its tokens without the special ones. */
interface Piece {
  readonly start: number;
  readonly end: number;
  readonly tokens: number;
  /** False for a part of an over-long sentence. */
  readonly whole: boolean;
}

/** Texts with more UTF-16 units than this for each token allowed are not even tried as one chunk. */
const UNITS_PER_TOKEN = 8;

const sentences = new Intl.Segmenter("en", { granularity: "sentence" });

/**
 * Divides a text into chunks that the model reads whole.
 *
 * A text that fits, and one of white space alone, is one chunk and stays as it is. Others are divided between sentences (a line
 * break ends one), an over-long sentence between words, an over-long word between characters. A chunk begins with as many whole
 * sentences of the one before as `overlapTokens` allows. White space around a chunk belongs to none; every other character is in
 * at least one.
 *
 * Tokens are counted for all sentences at once and summed: exact for tokenizers that never join across white space.
 *
 * @returns in the text's order, at least one
 */
export async function chunkText(text: string, limits: ChunkLimits): Promise<readonly TextChunk[]> {
  const { maxTokens, overlapTokens } = limits;
  if (maxTokens === Number.POSITIVE_INFINITY || text.trim() === "") return [wholeOf(text)];
  if (text.length <= maxTokens * UNITS_PER_TOKEN) {
    const [tokens = 0] = await limits.countTokens([text]);
    if (tokens <= maxTokens) return [wholeOf(text)];
  }

  const spans = sentencesOf(text);
  const [special = 0, ...counts] = await limits.countTokens([
    "",
    ...spans.map(({ start, end }) => text.slice(start, end)),
  ]);
  const budget = maxTokens - special;
  if (budget < 1) throw new Error("a chunk must have room for at least one token of its own");
  const pieces = spans.map((span, index): Piece => ({ ...span, tokens: (counts[index] ?? 0) - special, whole: true }));
  if (pieces.reduce((sum, piece) => sum + piece.tokens, 0) <= budget) return [wholeOf(text)];

  const fitting = await cutOverlong(text, pieces, budget, special, limits);
  return withCodePoints(text, packPieces(fitting, budget, overlapTokens));
}

const wholeOf = (text: string): TextChunk => ({ text, start: 0, end: codePoints(text, 0, text.length) });

function sentencesOf(text: string): { start: number; end: number }[] {
  const found: { start: number; end: number }[] = [];
  for (const { segment, index } of sentences.segment(text)) {
    const start = index + segment.length - segment.trimStart().length;
    const end = index + segment.trimEnd().length;
    if (start < end) found.push({ start, end });
  }
  return found;
}

/** Cuts pieces over the budget until each fits or is a single character, counting all new parts of a round at once. */
async function cutOverlong(
  text: string,
  pieces: readonly Piece[],
  budget: number,
  special: number,
  { countTokens }: ChunkLimits,
): Promise<readonly Piece[]> {
  const isOverlong = ({ start, end, tokens }: Piece): boolean =>
    tokens > budget && (end - start > 2 || codePoints(text, start, end) > 1);
  let current = pieces;
  while (current.some(isOverlong)) {
    const parts = current.map((piece) =>
      isOverlong(piece) ? cutPiece(text, piece, partsFor(piece, budget)) : undefined,
    );
    const texts = parts.flatMap((cut) => cut ?? []).map(({ start, end }) => text.slice(start, end));
    const counts = await countTokens(texts);
    let counted = 0;
    current = current.flatMap((piece, index): Piece | Piece[] => {
      const cut = parts[index];
      if (cut === undefined) return piece;
      return cut.map((part) => ({ ...part, tokens: (counts[counted++] ?? 0) - special, whole: false }));
    });
  }
  return current;
}

/** A fourth of the budget each, so that chunks made of them are nearly full. */
const partsFor = (piece: Piece, budget: number): number => Math.max(2, Math.ceil((4 * piece.tokens) / budget));

/** Puts as many pieces into each chunk as fit. */
function packPieces(pieces: readonly Piece[], budget: number, overlapTokens: number): { start: number; end: number }[] {
  const spans: { start: number; end: number }[] = [];
  // Even a piece without tokens takes a place, so that an overlap repeats no more pieces than it has tokens.
  const cost = pieces.map((piece) => Math.max(1, piece.tokens));
  const costOf = (index: number): number => cost[index] ?? 0;
  const emit = (first: number, end: number): void => {
    const [from, to] = [pieces[first], pieces[end - 1]];
    if (from !== undefined && to !== undefined) spans.push({ start: from.start, end: to.end });
  };

  let first = 0;
  let tokens = 0;
  for (let next = 0; next < pieces.length; next++) {
    if (next > first && tokens + costOf(next) > budget) {
      emit(first, next);
      const room = Math.min(overlapTokens, budget - costOf(next));
      let begin = next;
      tokens = 0;
      while (begin - 1 > first && pieces[begin - 1]?.whole && tokens + costOf(begin - 1) <= room)
        tokens += costOf(--begin);
      first = begin;
    }
    tokens += costOf(next);
  }
  emit(first, pieces.length);
  return spans;
}

/** Starts ascend and so do ends, so each is counted from the one before it. */
function withCodePoints(text: string, spans: readonly { start: number; end: number }[]): TextChunk[] {
  let start = { unit: 0, point: 0 };
  let end = start;
  const advance = (from: { unit: number; point: number }, unit: number) => ({
    unit,
    point: from.point + codePoints(text, from.unit, unit),
  });
  return spans.map((span) => {
    start = advance(start, span.start);
    end = advance(end, span.end);
    return { text: text.slice(span.start, span.end), start: start.point, end: end.point };
  });
}

function codePoints(text: string, from: number, to: number): number {
  let count = 0;
  for (let index = from; index < to; count++) index += (text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1;
  return count;
}
