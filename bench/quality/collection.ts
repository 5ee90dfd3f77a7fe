import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { type JudgedQuery, loadDataset } from "../../src/cli/eval-dataset.ts";
import { relevantCount } from "../../src/cli/eval-metrics.ts";

export interface Document {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

export interface Collection {
  readonly name: string;
  /** Of catalog/languages.ts. */
  readonly language: string;
  readonly documents: readonly Document[];
  /** Those with a relevant document. */
  readonly queries: readonly JudgedQuery[];
}

/** A folder with corpus.jsonl of {id, title, text}, queries.jsonl and qrels.tsv. */
export async function loadCollection(folder: string, language: string): Promise<Collection> {
  const lines = (await readFile(join(folder, "corpus.jsonl"), "utf8")).split("\n").filter((line) => line !== "");
  const queries = await loadDataset(folder);
  return {
    name: basename(folder),
    language,
    documents: lines.map((line): Document => JSON.parse(line)),
    queries: queries.filter(({ judgements }) => relevantCount(judgements) > 0),
  };
}

/** Every eighth document and all that are relevant to a query: what embedding a collection once more would take too long for. */
export function eighthOf(collection: Collection): Collection {
  const relevant = new Set(
    collection.queries.flatMap(({ judgements }) =>
      [...judgements].flatMap(([docId, grade]) => (grade > 0 ? [docId] : [])),
    ),
  );
  const documents = collection.documents.filter(({ id }, index) => index % 8 === 0 || relevant.has(id));
  return { ...collection, name: `${collection.name}/8`, documents };
}
