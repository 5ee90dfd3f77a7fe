import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { FieldType } from "../../src/catalog/corpus.ts";
import type { ResolvedFilter } from "../../src/plan/filter.ts";
import { filterFields } from "../../src/plan/filter-fields.ts";
import { resolveFilter } from "../../src/plan/resolve-filter.ts";
import { RpcError } from "../../src/protocol/errors.ts";
import { filterToSql } from "../../src/sql/filter.ts";
import { evaluateFilter } from "../support/evaluate-filter.ts";
import { expandVector } from "../support/expand-vector.ts";
import { type FilterRows, openFilterRows } from "../support/filter-rows.ts";

interface Entry {
  readonly id: string;
  readonly filter: unknown;
  readonly expect: {
    readonly code: number;
    readonly match?: string[];
    readonly field?: string;
    readonly option?: string;
  };
}

interface VectorFile {
  readonly fixture: {
    readonly filter: { readonly fields: Record<string, FieldType>; readonly operators: readonly string[] };
    readonly arrayFields: readonly string[];
    readonly limits: { maxDepth: number; maxNodes: number; maxInItems: number; maxStringBytes: number };
    readonly corpus: readonly { readonly id: string; readonly meta: Record<string, unknown> }[];
  };
  readonly entries: readonly Entry[];
}

const { fixture, entries }: VectorFile = JSON.parse(
  readFileSync(new URL("data/filters.json", import.meta.url), "utf8"),
);
const valid = entries.filter((entry) => entry.expect.code === 0);
const invalid = entries.filter((entry) => entry.expect.code !== 0);

const fields = filterFields(
  Object.fromEntries(
    Object.entries(fixture.filter.fields).map(([name, type]) => [
      name,
      fixture.arrayFields.includes(name) ? (`${type}[]` as const) : type,
    ]),
  ),
);
const operators = new Set(fixture.filter.operators);
const limits = {
  maxDepth: fixture.limits.maxDepth,
  maxNodes: fixture.limits.maxNodes,
  maxListLength: fixture.limits.maxInItems,
  maxValueBytes: fixture.limits.maxStringBytes,
};

function resolve(filter: unknown): ResolvedFilter {
  const resolved = resolveFilter(expandVector(filter), fields, operators, limits);
  if (resolved === undefined) throw new Error("the filter is absent");
  return resolved;
}

function refusal(filter: unknown): RpcError {
  try {
    resolve(filter);
  } catch (error) {
    if (error instanceof RpcError) return error;
    throw error;
  }
  throw new Error("the filter was accepted");
}

test("the file holds both kinds of filters", () => {
  expect([entries.length, valid.length, invalid.length]).toEqual([240, 63, 177]);
});

describe("RCP §8: refused as the vectors say", () => {
  test.each(invalid.map((entry) => [entry.id, entry] as const))("%s", (_, entry) => {
    const { code, data } = refusal(entry.filter);
    expect({ code, field: data.field, option: data.option }).toEqual({
      code: entry.expect.code,
      field: entry.expect.field,
      option: entry.expect.option,
    });
  });

  test.each(invalid.map((entry) => [entry.id, entry] as const))("%s is not told its own text", (_, entry) => {
    const error = refusal(entry.filter);
    const said = JSON.stringify([error.message, { ...error.data, option: undefined }]);
    for (const text of ownTexts(expandVector(entry.filter))) expect(said).not.toContain(text);
    expect(said.length).toBeLessThan(1_000);
  });
});

describe("RCP §8: matched in memory as the vectors say", () => {
  test.each(valid.map((entry) => [entry.id, entry] as const))("%s", (_, entry) => {
    const filter = resolve(entry.filter);
    expect(fixture.corpus.filter(({ meta }) => evaluateFilter(filter, meta)).map(({ id }) => id)).toEqual(
      entry.expect.match,
    );
  });
});

describe("RCP §8: matched by SQL as the vectors say", () => {
  let databases: readonly FilterRows[] = [];
  beforeAll(async () => {
    databases = await openFilterRows(fields, [
      ...fixture.corpus.map((document) => ({ tenant: "ours", ...document })),
      ...fixture.corpus.map(({ id, meta }) => ({ tenant: "theirs", id: id.replace("d", "x"), meta })),
    ]);
  });
  afterAll(async () => {
    for (const database of databases) await database.close();
  });

  test.each(valid.map((entry) => [entry.id, entry] as const))("%s", async (_, entry) => {
    const predicate = filterToSql(resolve(entry.filter));
    for (const database of databases) {
      expect(await database.matching("ours", [predicate]), database.name).toEqual([entry.expect.match]);
    }
  });
});

/** A caller's strings, but for the names that the server itself advertises and words too short to be told apart. */
function ownTexts(filter: unknown): string[] {
  const texts: string[] = [];
  const pending: unknown[] = [filter];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value === "string" && !fields.has(value) && !operators.has(value) && value.length > 3)
      texts.push(value.slice(0, 20));
    else if (typeof value === "object" && value !== null) pending.push(...Object.values(value));
  }
  return texts;
}
