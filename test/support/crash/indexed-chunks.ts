import { tokenize } from "../../../src/catalog/tokenize.ts";
import { type ChunkRow, type CorpusRows, isLiveAt } from "./corpus-rows.ts";

/** A chunk with what its document's text says it is. */
export interface IndexedChunk extends ChunkRow {
  readonly text: string;
  /** The title's, then the text's, repeated ones each time. */
  readonly trueTerms: readonly string[];
}

/** Texts are tokenised again and again, once a crash, and never change. */
const tokenized = new Map<string, readonly string[]>();

function termsOf(text: string): readonly string[] {
  const known = tokenized.get(text) ?? tokenize(text, "english");
  tokenized.set(text, known);
  return known;
}

/** Every chunk of the corpus, read anew from the texts; `chunkProblems` reports one without a document. */
export function indexedChunks(rows: CorpusRows): IndexedChunk[] {
  const titles = new Map(rows.documents.map(({ id, added, title }) => [`${added} ${id}`, title]));
  const bodies = new Map(rows.texts.map(({ id, added, body }) => [`${added} ${id}`, [...body]]));
  return rows.chunks.map((chunk) => {
    const key = `${chunk.added} ${chunk.id}`;
    const text = (bodies.get(key) ?? []).slice(chunk.start, chunk.end).join("");
    return { ...chunk, text, trueTerms: [...termsOf(titles.get(key) ?? ""), ...termsOf(text)] };
  });
}

export const liveChunks = (rows: CorpusRows, chunks: readonly IndexedChunk[]): IndexedChunk[] =>
  chunks.filter((chunk) => isLiveAt(chunk, rows.corpus?.version ?? 0));

/** No document with only some of its chunks: they are counted, numbered, live as long as it is, and leave out white space only. */
export function chunkProblems(rows: CorpusRows, chunks: readonly IndexedChunk[]): string[] {
  const bodies = new Map(rows.texts.map(({ id, added, body }) => [`${added} ${id}`, [...body]]));
  const byDocument = Map.groupBy(chunks, ({ id, added }) => `${added} ${id}`);
  const problems: string[] = [];
  for (const { id, added, removed, chunkCount } of rows.documents) {
    const key = `${added} ${id}`;
    const own = (byDocument.get(key) ?? []).toSorted((a, b) => a.ordinal - b.ordinal);
    byDocument.delete(key);
    const name = `${id} of version ${added}`;
    if (own.length !== chunkCount) problems.push(`${name} has ${own.length} chunks of ${chunkCount}`);
    if (own.some(({ ordinal }, index) => ordinal !== index)) problems.push(`${name} has chunks out of order`);
    if (own.some((chunk) => chunk.removed !== removed)) problems.push(`${name} has chunks that live on without it`);
    if (own.some((chunk) => chunk.terms !== chunk.trueTerms.length))
      problems.push(`${name} has a chunk of wrong length`);
    const isCovered = (offset: number) => own.some(({ start, end }) => start <= offset && offset < end);
    if (bodies.get(key)?.some((character, offset) => character.trim() !== "" && !isCovered(offset)))
      problems.push(`${name} has text in no chunk`);
  }
  if (byDocument.size > 0) problems.push(`${byDocument.size} documents are not there but have chunks`);
  if (chunks.some(({ number }, index) => number !== index)) problems.push("chunk numbers have gaps");
  return problems;
}
