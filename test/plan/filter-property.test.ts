import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { FilterField } from "../../src/catalog/corpus.ts";
import type { ResolvedFilter } from "../../src/plan/filter.ts";
import { FILTER_OPERATORS, resolveFilter } from "../../src/plan/resolve-filter.ts";
import { filterToSql } from "../../src/sql/filter.ts";
import { evaluateFilter } from "../support/evaluate-filter.ts";
import { EVERY_FIELD, FILTER_LIMITS } from "../support/every-field.ts";
import { type FilterRows, openFilterRows } from "../support/filter-rows.ts";
import { isAllowed, randomFilter, randomMeta, STATES, type State, stateOf } from "../support/random-filter.ts";
import { SeededRandom, testSeed } from "../support/seeded-random.ts";

const TREES = 6_000;
const MAX_DEPTH = 6;
const ROWS = 48;
const TREES_PER_ROUND_TRIP = 60;
const LEAST_MET = 20;

const seed = testSeed();
const random = new SeededRandom(seed);
const rows = Array.from({ length: ROWS }, (_, index) => ({
  tenant: "t",
  id: `r${index}`,
  meta: randomMeta(random),
}));
const trees = Array.from({ length: TREES }, (_, index) => resolve(randomFilter(random, 1 + (index % MAX_DEPTH))));

let databases: readonly FilterRows[] = [];
beforeAll(async () => {
  databases = await openFilterRows(EVERY_FIELD, rows);
});
afterAll(async () => {
  for (const database of databases) await database.close();
});

function resolve(filter: unknown): ResolvedFilter {
  const resolved = resolveFilter(filter, EVERY_FIELD, FILTER_OPERATORS, FILTER_LIMITS);
  if (resolved === undefined) throw new Error("the filter is absent");
  return resolved;
}

const fromMemory = (tree: ResolvedFilter): string[] =>
  rows.filter(({ meta }) => evaluateFilter(tree, meta)).map(({ id }) => id);

/** Trees on which the database and memory disagree. */
async function disagreements(
  database: FilterRows,
  toSql: typeof filterToSql,
  some: readonly ResolvedFilter[],
): Promise<ResolvedFilter[]> {
  const wrong: ResolvedFilter[] = [];
  for (let start = 0; start < some.length; start += TREES_PER_ROUND_TRIP) {
    const batch = some.slice(start, start + TREES_PER_ROUND_TRIP);
    const answers = await database.matching("t", batch.map(toSql));
    for (const [index, tree] of batch.entries()) {
      if (JSON.stringify(answers[index]) !== JSON.stringify(fromMemory(tree))) wrong.push(tree);
    }
  }
  return wrong;
}

test("memory, the embedded database and Postgres give one answer to every filter", async () => {
  console.log(`seed ${seed} (PGRCP_TEST_SEED), ${TREES} trees of depth 1 to ${MAX_DEPTH}, ${ROWS} rows`);
  for (const database of databases) {
    const wrong = await disagreements(database, filterToSql, trees);
    console.log(`${database.name}: ${TREES} trees, ${wrong.length} disagreements`);
    expect(wrong.slice(0, 3), `${database.name}, seed ${seed}`).toEqual([]);
  }
});

test("every operator met every type with a missing field, null and an empty list, and decided the answer", () => {
  const met = new Map<string, number>();
  for (const tree of trees) countDecisions(tree, met);
  const table: string[][] = [["operator", "state", ...[...EVERY_FIELD.values()].map(declaration)]];
  const tooFew: string[] = [];
  for (const op of FILTER_OPERATORS) {
    for (const state of STATES.filter((state) => state !== "value")) {
      const cells = [...EVERY_FIELD.values()].map((field) => {
        if (!isAllowed(op, field)) return "refused";
        if (state === "empty" && !field.array) return "-";
        const count = met.get(key(op, field, state)) ?? 0;
        if (count < LEAST_MET) tooFew.push(`${key(op, field, state)}: ${count}`);
        return String(count);
      });
      table.push([op, state, ...cells]);
    }
  }
  console.log(table.map((line) => line.map((cell) => cell.padEnd(9)).join(" ")).join("\n"));
  expect(tooFew, `seed ${seed}`).toEqual([]);
});

const MUTANTS = [
  { name: "without the guard of leaves that ask for a value", from: ") is true`", to: ")`" },
  { name: "with ne and nin as plain negations", from: /sql`\((\$\{[^`]*\})\) is not true`/g, to: "sql`not ($1)`" },
] as const;

test.each(MUTANTS)("a compiler $name gives other answers", async ({ from, to }) => {
  const mutant = await loadMutant(from, to);
  for (const database of databases) {
    const wrong = await disagreements(database, mutant, trees.slice(0, 600));
    console.log(`${database.name}: ${wrong.length} of 600 trees disagree`);
    expect(wrong.length, `${database.name}, seed ${seed}`).toBeGreaterThan(0);
  }
});

/** filterToSql of a patched copy of its source, kept outside the project. */
async function loadMutant(from: string | RegExp, to: string): Promise<typeof filterToSql> {
  const source = new URL("../../src/sql/filter.ts", import.meta.url);
  const text = await readFile(source, "utf8");
  const patched = text.replaceAll(from, to);
  if (patched === text) throw new Error("the patch does not apply");
  const folder = await mkdtemp(join(tmpdir(), "pgrcp-mutant-"));
  try {
    const copy = join(folder, "filter.ts");
    const imports = (_: string, path: string) => `from ${JSON.stringify(new URL(path, source).href)}`;
    await writeFile(copy, patched.replaceAll(/from "(\.[^"]*)"/g, imports));
    const mutant: { filterToSql: typeof filterToSql } = await import(pathToFileURL(copy).href);
    return mutant.filterToSql;
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Counts each leaf once per state in which it decided a row's answer: had it been the opposite, so had the tree. */
function countDecisions(tree: ResolvedFilter, met: Map<string, number>): void {
  const decided = new Map<ResolvedFilter, Set<string>>();
  for (const { meta } of rows) {
    for (const leaf of deciding(tree, meta)) {
      const op = leaf.kind === "exists" || leaf.kind === "contains" ? leaf.kind : leaf.op;
      const keys = decided.get(leaf) ?? new Set();
      decided.set(leaf, keys.add(key(op, leaf.field, stateOf(leaf.field, meta))));
    }
  }
  for (const keys of decided.values()) for (const name of keys) met.set(name, (met.get(name) ?? 0) + 1);
}

type Leaf = Exclude<ResolvedFilter, { kind: "and" | "or" | "not" }>;

function deciding(tree: ResolvedFilter, meta: Readonly<Record<string, unknown>>): readonly Leaf[] {
  switch (tree.kind) {
    case "not":
      return deciding(tree.of, meta);
    case "and":
    case "or": {
      // A child decides when all its siblings are neutral: true beside `and`, false beside `or`.
      const other = tree.of.filter((child) => evaluateFilter(child, meta) !== (tree.kind === "and"));
      if (other.length > 1) return [];
      return (other.length === 1 ? other : tree.of).flatMap((child) => deciding(child, meta));
    }
    default:
      return [tree];
  }
}

const declaration = (field: FilterField): string => `${field.type}${field.array ? "[]" : ""}`;
const key = (op: string, field: FilterField, state: State): string => `${op} ${field.name} ${state}`;
