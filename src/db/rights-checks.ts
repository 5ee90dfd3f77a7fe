import { readFile } from "node:fs/promises";
import type { TableFacts } from "./catalog-facts.ts";
import { error, type Finding } from "./finding.ts";

/** Row level security, policies, grants and triggers against the list that is committed beside the migrations. */

const RIGHTS_FILE = new URL("../../migrations/rights.txt", import.meta.url);
const MODEL_PARTITION = "pgrcp.chunks_shared";
const REMEDY = "undo what was changed by hand (`pgrcp doctor` lists it), or restore the schema";

export async function expectedRights(): Promise<readonly string[]> {
  return (await readFile(RIGHTS_FILE, "utf8")).split(/\r?\n/).filter((line) => line !== "");
}

export function checkTables(tables: readonly TableFacts[]): readonly Finding[] {
  return tables.flatMap(({ table, partition, secured, granted }) => [
    ...(secured ? [] : [error(`row level security is not enabled and forced on ${table}`, REMEDY)]),
    ...(partition && granted
      ? [error(`somebody has a grant on the partition ${table}`, `revoke all on ${table} from them`)]
      : []),
  ]);
}

/** Every partition of chunks has the policies of the first one, under its own name. */
function renamed(lines: readonly string[], table: string): readonly string[] {
  const [from, to] = [MODEL_PARTITION, table].map((name) => name.slice("pgrcp.".length));
  return lines
    .filter((line) => line.startsWith(`${MODEL_PARTITION} `))
    .map((line) => line.replaceAll(from ?? "", () => to ?? ""));
}

/** @returns one finding per line that is missing or should not be there */
export function checkRights(
  expected: readonly string[],
  found: readonly string[],
  tables: readonly TableFacts[],
): readonly Finding[] {
  const partitions = tables.filter(({ partition, table }) => partition && table !== MODEL_PARTITION);
  const wanted = new Set([...expected, ...partitions.flatMap(({ table }) => renamed(expected, table))]);
  const present = new Set(found);
  return [
    ...[...wanted].filter((line) => !present.has(line)).map((line) => error(`missing: ${line}`, REMEDY)),
    ...[...present].filter((line) => !wanted.has(line)).map((line) => error(`not expected: ${line}`, REMEDY)),
  ];
}
