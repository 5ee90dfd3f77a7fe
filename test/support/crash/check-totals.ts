import type { CorpusRows, Lifetime, Totals } from "./corpus-rows.ts";
import type { IndexedChunk } from "./indexed-chunks.ts";

/** The totals kept with each version, against those that the rows and their texts come to. */
export function totalsProblems(rows: CorpusRows, chunks: readonly IndexedChunk[]): string[] {
  const size = rows.versions.length + 1;
  const liveDocuments = runningSum(rows.documents, size, () => 1);
  const liveChunks = runningSum(chunks, size, () => 1);
  const liveLength = runningSum(chunks, size, ({ trueTerms }) => trueTerms.length);
  const nextChunk = runningSum(
    chunks.map((chunk) => ({ ...chunk, removed: null })),
    size,
    () => 1,
  );
  const problems = rows.versions.flatMap((stored, index) => {
    const version = index + 1;
    const counted = {
      liveDocuments: liveDocuments[version] ?? 0,
      liveChunks: liveChunks[version] ?? 0,
      liveLength: liveLength[version] ?? 0,
      nextChunk: nextChunk[version] ?? 0,
    };
    return sameTotals(stored, counted) ? [] : [`version ${version} has totals other than its rows`];
  });
  const last = rows.versions.at(-1);
  const { corpus } = rows;
  const agree =
    corpus === undefined ? last === undefined : last?.version === corpus.version && sameTotals(last, corpus);
  return agree ? problems : [...problems, "the corpus's totals are not those of its last version"];
}

const sameTotals = (a: Totals, b: Totals): boolean =>
  a.liveDocuments === b.liveDocuments &&
  a.liveChunks === b.liveChunks &&
  a.liveLength === b.liveLength &&
  a.nextChunk === b.nextChunk;

/** What the rows that are live at each version come to. */
function runningSum<Row extends Lifetime>(rows: readonly Row[], size: number, weight: (row: Row) => number): number[] {
  const changes = new Array<number>(size).fill(0);
  for (const row of rows) {
    changes[row.added] = (changes[row.added] ?? 0) + weight(row);
    if (row.removed !== null) changes[row.removed] = (changes[row.removed] ?? 0) - weight(row);
  }
  let sum = 0;
  return changes.map((change) => {
    sum += change;
    return sum;
  });
}
