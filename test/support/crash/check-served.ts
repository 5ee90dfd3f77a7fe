import { tokenize } from "../../../src/catalog/tokenize.ts";
import type { SeededRandom } from "../seeded-random.ts";
import type { CorpusRows } from "./corpus-rows.ts";
import { COMMON_WORD, randomWord } from "./generated-corpus.ts";
import type { IndexedChunk } from "./indexed-chunks.ts";
import { TermStatistics } from "./term-statistics.ts";

const QUERIES = 8;
/** Sums in another order differ in their last bits. */
const RELATIVE_ERROR = 1e-9;

interface Hit {
  readonly text: string;
  readonly scores: { readonly sparse: number };
  readonly citation: { readonly start: number; readonly end: number };
  readonly chunk: { readonly docId: string; readonly index: number };
}

interface Retrieved {
  readonly hits: readonly Hit[];
  readonly indexVersion: string;
}

/**
 * What the server answers, against the rows: the word that every chunk has finds every live chunk with its text, and the scores of
 * that query and of random ones are those of BM25 over the live texts.
 */
export async function servedProblems(
  server: { readonly url: string; readonly readToken: string },
  rows: CorpusRows,
  live: readonly IndexedChunk[],
  random: SeededRandom,
): Promise<string[]> {
  const statistics = new TermStatistics(live);
  const queries = [[COMMON_WORD], ...Array.from({ length: QUERIES }, () => randomQuery(random))];
  const problems: string[] = [];
  for (const words of queries) {
    const query = words.join(" ");
    const { hits, indexVersion } = await retrieve(server, query);
    if (indexVersion !== rows.versions.at(-1)?.token) problems.push("another version is served than the last");
    const expected = statistics.scores(tokenize(query, "english"));
    if (words[0] === COMMON_WORD && expected.size !== live.length)
      problems.push(`${live.length - expected.size} chunks lack the common word`);
    if (hits.length !== expected.size) problems.push(`"${query}" finds ${hits.length} chunks of ${expected.size}`);
    const found = new Map(hits.map((hit) => [`${hit.chunk.docId}#${hit.chunk.index}`, hit]));
    for (const [chunk, score] of expected) {
      const hit = found.get(`${chunk.id}#${chunk.ordinal}`);
      if (hit === undefined) problems.push(`"${query}" does not find ${chunk.id}#${chunk.ordinal}`);
      else if (!isChunk(hit, chunk)) problems.push(`${chunk.id}#${chunk.ordinal} is served with another text`);
      else if (Math.abs(hit.scores.sparse - score) > RELATIVE_ERROR * score)
        problems.push(`"${query}" scores ${chunk.id}#${chunk.ordinal} ${hit.scores.sparse} instead of ${score}`);
    }
  }
  return problems;
}

const isChunk = ({ text, citation }: Hit, chunk: IndexedChunk): boolean =>
  text === chunk.text && citation.start === chunk.start && citation.end === chunk.end;

const randomQuery = (random: SeededRandom): string[] => [
  ...new Set(Array.from({ length: random.integer(1, 3) }, () => randomWord(random))),
];

async function retrieve(
  { url, readToken }: { readonly url: string; readonly readToken: string },
  query: string,
): Promise<Retrieved> {
  const params = { query, mode: "sparse", k: 10_000 };
  const response = await fetch(`${url}/retrieve`, {
    method: "POST",
    headers: { authorization: `Bearer ${readToken}`, "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "retrieve", params }),
  });
  const { result, error } = (await response.json()) as { readonly result?: Retrieved; readonly error?: unknown };
  if (result === undefined) throw new Error(`retrieve was refused: ${JSON.stringify(error)}`);
  return result;
}
