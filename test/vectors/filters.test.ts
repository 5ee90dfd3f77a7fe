import { readFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { FieldType } from "../../src/catalog/corpus.ts";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import type { ResolvedFilter } from "../../src/plan/filter.ts";
import { filterFields } from "../../src/plan/filter-fields.ts";
import { resolveFilter } from "../../src/plan/resolve-filter.ts";
import { RpcError } from "../../src/protocol/errors.ts";
import type { Hit } from "../../src/protocol/wire.ts";
import { filterToSql } from "../../src/sql/filter.ts";
import { countEntries } from "../support/count-entries.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { evaluateFilter } from "../support/evaluate-filter.ts";
import { deepText, expandVector } from "../support/expand-vector.ts";
import { type FilterRows, openFilterRows } from "../support/filter-rows.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";
import { expectAlive, expectStanding } from "../support/standing-assertions.ts";
import { expectValidResponse } from "../support/validate-response.ts";

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

countEntries("filters.json", entries);

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

describe("RCP §8: answered over HTTP as the vectors say", () => {
  let database: TestDatabase;
  let server: RcpServer;
  let token: string;
  beforeAll(async () => {
    database = await openTestDatabase({ fields });
    server = await startRcpServer({
      config: {
        rateLimit: { enabled: false },
        filter: {
          ...{ maxDepth: limits.maxDepth, maxNodes: limits.maxNodes },
          ...{ maxListLength: limits.maxListLength, maxValueBytes: limits.maxValueBytes },
          fields: Object.fromEntries([...fields.values()].map((one) => [one.name, one.type + (one.array ? "[]" : "")])),
        },
      },
      handlers: HANDLERS,
      database: database.database,
      corpora: new CachedCorpusStore(database.database),
    });
    for (const [tenant, letter] of [
      ["ours", "d"],
      ["theirs", "x"],
    ] as const) {
      const writer = await server.token({ tenant, credentials: ["add"] });
      const documents = fixture.corpus.map(({ id, meta }) => ({ id: id.replace("d", letter), text: "amber", meta }));
      expect((await server.call("index/add", { documents }, { token: writer })).body?.error).toBeUndefined();
    }
    token = await server.token({ tenant: "ours" });
  });
  afterAll(async () => {
    await server.close();
    await database.close();
  });
  afterEach(() => expectAlive(server, token));

  test.each(entries.map((entry) => [entry.id, entry] as const))("%s", async (_, entry) => {
    const params = { query: "amber", k: 100, filter: expandVector(entry.filter) };

    const message = `{"jsonrpc":"2.0","id":1,"method":"retrieve","params":${deepText(params)}}`;
    const { status, text, body } = await server.post("/rcp/retrieve", message, { token });

    expect(status).toBe(200);
    expectStanding(text, { payload: params, token, known: [...fields.keys()], foreign: ['"x1', '"x2', '"x7'] });
    expectValidResponse("retrieve", body);
    const { code, match, field, option } = entry.expect;
    const { data } = body?.error ?? {};
    expect([body?.error?.code ?? 0, data?.field, data?.option]).toEqual([code, field, option]);
    const hits = (body?.result?.hits ?? []) as readonly Hit[];
    if (match !== undefined) expect(hits.map(({ id }) => id).sort()).toEqual(match);
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
