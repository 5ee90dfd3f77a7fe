/**
 * Measures a built-in model on a test collection: how well its cosine ranks, and how fast it embeds.
 *
 *     node scripts/measure-model.ts MODEL_DIRECTORY COLLECTION_DIRECTORY
 *
 * The collection has corpus.jsonl {id, title, text}, queries.jsonl {id, text} and qrels.tsv (query-id, corpus-id, score). A
 * document is its title, a line break and its text, cut at the model's longest input; every cosine is computed exactly.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { loadBuiltinModel } from "../src/models/builtin-model.ts";

const EMBED_BATCH = 32;
const PROGRESS_EVERY_MS = 10_000;

interface Text {
  readonly id: string;
  readonly title?: string;
  readonly text: string;
}

/** Grade of each relevant document, by query. */
type Judgements = ReadonlyMap<string, ReadonlyMap<string, number>>;

const [modelDirectory, collection] = process.argv.slice(2);
if (modelDirectory === undefined || collection === undefined) {
  console.error("usage: node scripts/measure-model.ts MODEL_DIRECTORY COLLECTION_DIRECTORY");
  process.exit(2);
}
const corpus = await readLines(join(collection, "corpus.jsonl"));
const queries = await readLines(join(collection, "queries.jsonl"));
const judgements = await readJudgements(join(collection, "qrels.tsv"));

const loading = performance.now();
const model = await loadBuiltinModel({ directory: modelDirectory, threads: 0 });
const loadMs = performance.now() - loading;
const forever = new AbortController().signal;

const documents: Float32Array[] = [];
const started = performance.now();
let reported = started;
for (let at = 0; at < corpus.length; at += EMBED_BATCH) {
  const batch = corpus.slice(at, at + EMBED_BATCH).map(({ title, text }) => (title ? `${title}\n${text}` : text));
  documents.push(...(await model.embed(batch, "document", forever)));
  if (performance.now() - reported > PROGRESS_EVERY_MS) {
    reported = performance.now();
    console.error(`${documents.length} of ${corpus.length} documents`);
  }
}
const documentsPerSecond = (documents.length / (performance.now() - started)) * 1000;

let ndcg = 0;
let recall = 0;
const queryMs: number[] = [];
for (const query of queries) {
  const asked = performance.now();
  const [vector] = await model.embed([query.text], "query", forever);
  queryMs.push(performance.now() - asked);
  if (vector === undefined) throw new Error("the model gave no vector");
  const ranked = rank(vector, documents).map((place) => corpus[place]?.id ?? "");
  const grades = judgements.get(query.id) ?? new Map<string, number>();
  ndcg += ndcgAt10(ranked, grades) / queries.length;
  recall += ranked.slice(0, 100).filter((id) => grades.has(id)).length / grades.size / queries.length;
}
await model.close();

console.log(`model              ${model.space.identity}, ${model.maxTokens} tokens`);
console.log(`nDCG@10            ${ndcg.toFixed(4)}`);
console.log(`recall@100         ${recall.toFixed(4)}`);
console.log(`documents/second   ${documentsPerSecond.toFixed(1)}`);
console.log(`query, p50         ${median(queryMs).toFixed(1)} ms`);
console.log(`load               ${loadMs.toFixed(0)} ms`);

/** Places of all documents, nearest first; ties go to the earlier one. */
function rank(query: Float32Array, vectors: readonly Float32Array[]): number[] {
  const similarities = vectors.map((vector) => vector.reduce((sum, value, i) => sum + value * (query[i] ?? 0), 0));
  return similarities.map((_, place) => place).sort((a, b) => (similarities[b] ?? 0) - (similarities[a] ?? 0) || a - b);
}

function ndcgAt10(ranked: readonly string[], grades: ReadonlyMap<string, number>): number {
  const gain = (values: readonly number[]) =>
    values.slice(0, 10).reduce((sum, grade, place) => sum + grade / Math.log2(place + 2), 0);
  const best = gain([...grades.values()].sort((a, b) => b - a));
  return best === 0 ? 0 : gain(ranked.slice(0, 10).map((id) => grades.get(id) ?? 0)) / best;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

async function readLines(file: string): Promise<Text[]> {
  const lines = (await readFile(file, "utf8")).split("\n").filter((line) => line !== "");
  return lines.map((line): Text => JSON.parse(line));
}

async function readJudgements(file: string): Promise<Judgements> {
  const byQuery = new Map<string, Map<string, number>>();
  for (const line of (await readFile(file, "utf8")).split("\n").slice(1)) {
    const [query, document, grade] = line.split("\t");
    if (query === undefined || document === undefined || Number(grade) <= 0) continue;
    const grades = byQuery.get(query) ?? new Map<string, number>();
    byQuery.set(query, grades.set(document, Number(grade)));
  }
  return byQuery;
}
