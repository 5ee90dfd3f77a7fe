import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Judgements } from "./eval-metrics.ts";
import { CommandFailure, ExitCode } from "./exit.ts";

/** A test collection in BEIR's layout: queries.jsonl beside qrels.tsv or qrels/test.tsv. */

export interface JudgedQuery {
  readonly id: string;
  readonly text: string;
  readonly judgements: Judgements;
}

/**
 * Loads the queries that have judgements, in the file's order.
 *
 * @throws CommandFailure naming the file and line that cannot be used
 */
export async function loadDataset(folder: string): Promise<readonly JudgedQuery[]> {
  const queriesFile = join(folder, "queries.jsonl");
  const queries = parseQueries(await read(queriesFile), queriesFile);
  const qrels = await readFirst([join(folder, "qrels.tsv"), join(folder, "qrels", "test.tsv")]);
  const judgements = parseQrels(qrels.text, qrels.file);
  const judged: JudgedQuery[] = [];
  for (const [id, text] of queries) {
    const found = judgements.get(id);
    if (found !== undefined) judged.push({ id, text, judgements: found });
  }
  if (judged.length > 0) return judged;
  throw new CommandFailure(
    ExitCode.usage,
    `no query of ${queriesFile} is judged in ${qrels.file}`,
    "the first column of the judgements must hold the queries' ids",
  );
}

const LAYOUT = "a test collection holds queries.jsonl and qrels.tsv (or qrels/test.tsv)";

async function read(file: string): Promise<string> {
  return await readFile(file, "utf8").catch((error: unknown) => {
    throw new CommandFailure(ExitCode.usage, `${file} cannot be read`, LAYOUT, { cause: error });
  });
}

async function readFirst(files: readonly string[]): Promise<{ readonly file: string; readonly text: string }> {
  for (const file of files) {
    const text = await readFile(file, "utf8").catch(() => undefined);
    if (text !== undefined) return { file, text };
  }
  throw new CommandFailure(ExitCode.usage, `neither ${files.join(" nor ")} can be read`, LAYOUT);
}

const badLine = (file: string, index: number, shape: string) =>
  new CommandFailure(ExitCode.usage, `${file}, line ${index + 1}, is not what it must be`, `each line holds ${shape}`);

/** Query texts by id. `_id` is BEIR's own spelling. */
export function parseQueries(text: string, file: string): ReadonlyMap<string, string> {
  const queries = new Map<string, string>();
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const query = parseQuery(line);
    if (query === undefined) throw badLine(file, index, "one JSON object with id and text");
    queries.set(query.id, query.text);
  }
  return queries;
}

function parseQuery(line: string): { readonly id: string; readonly text: string } | undefined {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== "object" || value === null) return undefined;
    const { id, _id, text } = value as Readonly<Record<string, unknown>>;
    const name = id ?? _id;
    if ((typeof name !== "string" && typeof name !== "number") || typeof text !== "string") return undefined;
    return { id: String(name), text };
  } catch {
    return undefined;
  }
}

/** Judgements by query id. A first line without a number in its third column is the head. */
export function parseQrels(text: string, file: string): ReadonlyMap<string, Judgements> {
  const byQuery = new Map<string, Map<string, number>>();
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const [query, document, score] = line.split("\t").map((cell) => cell.trim());
    const grade = score === undefined || score === "" ? Number.NaN : Number(score);
    if (index === 0 && score !== undefined && Number.isNaN(grade)) continue;
    if (!query || !document || Number.isNaN(grade))
      throw badLine(file, index, "query id, document id and score, between tabs");
    const judgements = byQuery.get(query) ?? new Map<string, number>();
    byQuery.set(query, judgements.set(document, grade));
  }
  return byQuery;
}
