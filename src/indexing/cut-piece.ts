/** Part of a text by UTF-16 offsets. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Text on each side of a wished cut in which boundaries are looked for: segmenting all of a long text for each cut would be quadratic. */
const WINDOW = 128;

const words = new Intl.Segmenter("en", { granularity: "word" });
const characters = new Intl.Segmenter("en", { granularity: "grapheme" });

const isSpace = (text: string, index: number): boolean => text.charAt(index).trim() === "";

/**
 * Cuts a span into about `parts` equal ones, between words where there is a boundary near, else between the characters that a
 * reader sees, else between code points.
 *
 * @returns in order, each without white space at its ends, none empty; more than one if the span has two code points or more
 */
export function cutPiece(text: string, span: Span, parts: number): Span[] {
  const length = Math.max(1, Math.floor((span.end - span.start) / parts));
  const cut: Span[] = [];
  for (let start = span.start; start < span.end; ) {
    const end = span.end - start <= length ? span.end : boundaryNear(text, start, start + length, span.end);
    const trimmed = trimSpan(text, start, end);
    if (trimmed.start < trimmed.end) cut.push(trimmed);
    start = end;
  }
  return cut;
}

/** Where to end the part that begins at `from`: at or before `target` if possible, always after `from`. */
function boundaryNear(text: string, from: number, target: number, end: number): number {
  for (let index = target; index > from; index--) if (isSpace(text, index) || isSpace(text, index - 1)) return index;
  const windowStart = Math.max(from, target - WINDOW);
  const window = text.slice(windowStart, Math.min(end, target + WINDOW));
  const word = nearest(words, window, target - windowStart);
  if (word !== undefined) return windowStart + word;
  const furthest = Math.min(end, target + 3 * (target - from));
  for (let index = target; index < furthest; index++) if (isSpace(text, index)) return index;
  const character = nearest(characters, window, target - windowStart);
  if (character !== undefined) return windowStart + character;
  const splitsPair = (text.codePointAt(target - 1) ?? 0) > 0xffff;
  return splitsPair ? target + 1 : target;
}

/** The last boundary inside the window up to `target`, or the first one after it. Its ends are no boundaries: the text goes on. */
function nearest(segmenter: Intl.Segmenter, window: string, target: number): number | undefined {
  let before: number | undefined;
  for (const { index } of segmenter.segment(window)) {
    if (index === 0) continue;
    if (index > target) return before ?? index;
    before = index;
  }
  return before;
}

function trimSpan(text: string, start: number, end: number): Span {
  const part = text.slice(start, end);
  const from = end - part.trimStart().length;
  return { start: from, end: Math.max(from, start + part.trimEnd().length) };
}
