import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TenantId } from "../../src/catalog/corpus.ts";
import type { Database, OperatorDatabase } from "../../src/db/database.ts";
import { collectVersions } from "../../src/maintenance/collect-versions.ts";
import { filterFields } from "../../src/plan/filter-fields.ts";
import type { RpcError } from "../../src/protocol/errors.ts";
import { compile, noRows, type Sql, sql } from "../../src/sql/sql.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type Caller, callerOf, freshTenant } from "../support/method-caller.ts";
import { SeededRandom, testSeed } from "../support/seeded-random.ts";

/** Retention: what was superseded long enough ago is gone for good, and everything else answers as it did. */

const FIELDS = { year: "int" } as const;
const config = { filter: { fields: FIELDS }, indexing: { chunkTokens: 16, overlapTokens: 4 } };

let opened: TestDatabase;
beforeAll(async () => {
  opened = await openTestDatabase({ fields: filterFields(FIELDS) });
});
afterAll(() => opened.close());

/** What no login may: an audit record is not written over. */
const byOwner = (statement: Sql) => opened.admin.query(compile(statement, noRows));
const rowsOf = (statement: Sql) => opened.operator.read(compile(statement, (row) => row));
const count = async (statement: Sql) => (await rowsOf(statement))[0]?.n as number;
const collect = (keptHours = 24) => Array.fromAsync(collectVersions(opened.operator, keptHours));
const oldBy = (tenantId: TenantId, hours: number, upTo: number) =>
  byOwner(
    sql`update pgrcp.corpus_versions set committed_at = now() - make_interval(hours => ${hours}::int) where tenant_id = ${tenantId} and version <= ${upTo}::bigint`,
  );
const codeOf = async (result: Promise<unknown>) => {
  const error = (await result.catch((thrown: unknown) => thrown)) as RpcError;
  return [error.code, error.data?.retryable];
};

const QUERIES = ["amber", "basalt coral", "dune ember fjord", "garnet"];
const MODES = ["dense", "sparse", "hybrid"] as const;
const QUESTIONS = QUERIES.flatMap((query) => MODES.map((mode) => ({ query, mode, k: 50, candidateK: 60 })));

/** Every question's hits. */
const answersOf = (caller: Caller, indexVersion?: string) =>
  Promise.all(QUESTIONS.map(async (question) => (await caller.retrieve({ ...question, indexVersion })).hits));

const WORDS = ["amber", "basalt", "coral", "dune", "ember", "fjord", "garnet", "heron"];

async function randomHistory(caller: Caller, versions: number): Promise<string[]> {
  const random = new SeededRandom(testSeed());
  const text = () =>
    Array.from({ length: random.integer(3, 40) }, () => random.pick(WORDS)).join(" ") +
    (random.fraction() < 0.1 ? " heron".repeat(300) : "");
  const tokens: string[] = [];
  while (tokens.length < versions) {
    const ids = Array.from({ length: random.integer(1, 4) }, () => `d${random.integer(0, 9)}`);
    if (random.fraction() < 0.3) await caller.delete(ids);
    else await caller.add(ids.map((id) => ({ id, text: text(), meta: { year: random.integer(2000, 2009) } })));
    const { indexVersion } = await caller.retrieve({ query: "amber", k: 1 });
    if (indexVersion !== undefined && tokens.at(-1) !== indexVersion) tokens.push(indexVersion);
  }
  return tokens;
}

describe("what is collected", () => {
  test("versions superseded before the time that is kept, and the rows that only they had", async () => {
    const tenantId = freshTenant();
    const caller = callerOf(opened.database, tenantId, { config });
    const first = await caller.add([
      { id: "a", text: "amber" },
      { id: "b", text: "basalt" },
    ]);
    const second = await caller.add([{ id: "a", text: "amber coral" }]);
    await caller.delete(["b"]);
    const third = (await caller.retrieve({ query: "amber" })).indexVersion;
    // Versions 1 and 2 are old; 2 was the newest one when the kept time began, so it stays.
    await oldBy(tenantId, 25, 2);

    expect(await collect()).toEqual([{ tenant: tenantId, corpus: "default", versions: 1, documents: 1, chunks: 1 }]);

    expect(await codeOf(caller.retrieve({ query: "amber", indexVersion: first._meta.indexVersion }))).toEqual([
      -32010,
      false,
    ]);
    expect(await caller.ids({ query: "basalt", mode: "sparse", indexVersion: second._meta.indexVersion })).toEqual([
      "b",
    ]);
    expect(await caller.ids({ query: "amber", indexVersion: third })).toEqual(["a"]);
    // The audit trail keeps its rows; the replaced text is erased, the deleted one still belongs to version 2.
    expect(await count(sql`select count(*) as n from pgrcp.corpus_versions where tenant_id = ${tenantId}`)).toBe(3);
    expect(
      await rowsOf(sql`select body from pgrcp.document_texts where tenant_id = ${tenantId} order by body collate "C"`),
    ).toEqual([{ body: "amber coral" }, { body: "basalt" }]);

    // Another day, and the deleted one is erased, too.
    await oldBy(tenantId, 25, 3);
    expect(await collect()).toEqual([{ tenant: tenantId, corpus: "default", versions: 1, documents: 1, chunks: 1 }]);
    expect(await rowsOf(sql`select body from pgrcp.document_texts where tenant_id = ${tenantId}`)).toEqual([
      { body: "amber coral" },
    ]);
    expect(await rowsOf(sql`select term, n from pgrcp.postings where tenant_id = ${tenantId} order by term`)).toEqual([
      { term: "amber", n: 1 },
      { term: "coral", n: 1 },
    ]);
    expect(await collect()).toEqual([]);
  });

  test("never the newest version, however old", async () => {
    const tenantId = freshTenant();
    const caller = callerOf(opened.database, tenantId, { config });
    const { _meta } = await caller.add([{ id: "a", text: "amber" }]);
    await oldBy(tenantId, 10_000, 1);
    expect(await collect()).toEqual([]);
    expect(await caller.ids({ query: "amber", indexVersion: _meta.indexVersion })).toEqual(["a"]);
  });

  test("only what is older than asked for", async () => {
    const tenantId = freshTenant();
    const caller = callerOf(opened.database, tenantId, { config });
    for (const text of ["amber", "basalt", "coral"]) await caller.add([{ id: "a", text }]);
    await oldBy(tenantId, 30, 2);
    expect(await collect(31)).toEqual([]);
    expect(await collect(29)).toMatchObject([{ versions: 1, documents: 1 }]);
  });
});

test("after a random history everything that is kept answers as it did, and postings are those of its chunks", async () => {
  const tenantId = freshTenant();
  const caller = callerOf(opened.database, tenantId, { config });
  const other = callerOf(opened.database, freshTenant(), { config });
  await other.add([{ id: "d1", text: "amber basalt" }]);
  const tokens = await randomHistory(caller, 20);
  const before = new Map<string, unknown>();
  for (const token of tokens) before.set(token, await answersOf(caller, token));
  const others = await answersOf(other);
  const horizon = 12;
  await oldBy(tenantId, 48, horizon);

  const [collected] = await collect();

  expect(collected).toMatchObject({ versions: horizon - 1 });
  for (const [index, token] of tokens.entries()) {
    if (index + 1 < horizon) expect(await codeOf(answersOf(caller, token))).toEqual([-32010, false]);
    else expect(await answersOf(caller, token)).toEqual(before.get(token));
  }
  expect(await answersOf(caller)).toEqual(before.get(tokens.at(-1) ?? ""));
  expect(await answersOf(other)).toEqual(others);
  expect(
    await count(
      sql`select count(*) as n from pgrcp.chunks where tenant_id = ${tenantId} and removed_version <= ${horizon}::bigint`,
    ),
  ).toBe(0);
  expect(
    await count(
      sql`select count(*) as n from pgrcp.postings where tenant_id = ${tenantId} and (n = 0 or octet_length(packed) <> 4 * n)`,
    ),
  ).toBe(0);
});

test("beside writers and pinned readers: an answer is whole, or the version is gone", async () => {
  const tenantId = freshTenant();
  const caller = callerOf(opened.database, tenantId, { config });
  const tokens = await randomHistory(caller, 16);
  const whole = new Map<string, unknown>();
  for (const token of tokens) whole.set(token, await answersOf(caller, token));
  await oldBy(tenantId, 48, 12);
  let isDone = false;
  let isCollected = false;
  let gone = 0;
  let answered = 0;
  const reader = async () => {
    // Round after round while it is collected, and one more over what is left.
    for (let isLastRound = false; !isLastRound; ) {
      isLastRound = isCollected;
      for (const token of tokens) {
        try {
          expect(await answersOf(caller, token)).toEqual(whole.get(token));
          answered += 1;
        } catch (error) {
          if ((error as RpcError).code !== -32010) throw error;
          gone += 1;
        }
      }
    }
  };
  const writer = async () => {
    for (let round = 0; !isDone; round += 1) await caller.add([{ id: `w${round % 5}`, text: `amber heron ${round}` }]);
  };
  const [, , collected] = await Promise.all([
    reader().finally(() => {
      isDone = true;
    }),
    writer(),
    collect().finally(() => {
      isCollected = true;
    }),
  ]);
  expect(collected).toMatchObject([{ versions: 11 }]);
  expect(gone).toBeGreaterThan(0);
  expect(answered).toBeGreaterThan(0);
  const newest = await answersOf(caller);
  const fresh = callerOf(opened.database, freshTenant(), { config });
  const texts = await rowsOf(
    sql`select d.doc_id as id, t.body as text, d.meta from pgrcp.documents d join pgrcp.document_texts t using (tenant_id, corpus, doc_id, added_version) where d.tenant_id = ${tenantId} and d.removed_version is null`,
  );
  await fresh.add(texts);
  // The same documents in a corpus without a past have the same scores.
  expect(newest).toEqual(await answersOf(fresh));
});

describe("at the worst moment", () => {
  /** The database, with something done before its `nth` read as the reader. */
  function interrupted(nth: number, work: () => Promise<unknown>): Database {
    let reads = 0;
    const { database } = opened;
    return {
      kind: database.kind,
      async read(role, access, statements, limits) {
        if (role === "reader" && ++reads === nth) await work();
        return await database.read(role, access, statements, limits);
      },
      readCorpus(_point, ...asked) {
        return this.read("reader", ...asked);
      },
      write: (role, access, limits, work) => database.write(role, access, limits, work),
      isReachable: (timeoutMs) => database.isReachable(timeoutMs),
      close: async () => {},
    };
  }

  async function replaced() {
    const tenantId = freshTenant();
    const caller = callerOf(opened.database, tenantId, { config });
    const documents = ["a", "b", "c", "d"].map((id) => ({ id, text: `amber ${id}` }));
    const { _meta } = await caller.add(documents);
    const answer = await caller.retrieve({ query: "amber", k: 2 });
    await caller.add(documents.map(({ id }) => ({ id, text: `coral ${id}` })));
    await caller.add([{ id: "e", text: "dune" }]);
    await oldBy(tenantId, 25, 2);
    return { tenantId, caller, first: _meta.indexVersion, answer };
  }

  // Its reads: the corpus, recall, the vectors of mmr, the hits.
  test.each([2, 3, 4])(
    "a pinned answer that has read its version %i times already is not given with holes",
    async (nth) => {
      const { tenantId, first } = await replaced();
      const reader = callerOf(
        interrupted(nth, () => collect()),
        tenantId,
        { config },
      );
      const pinned = reader.retrieve({ query: "amber", indexVersion: first, mmr: {} });
      expect(await codeOf(pinned)).toEqual([-32010, false]);
    },
  );

  test("a page of a version that was collected meanwhile has expired", async () => {
    const { caller, answer } = await replaced();
    await collect();
    const page = caller.retrieve({ query: "amber", k: 2, cursor: answer.nextCursor });
    expect(await codeOf(page)).toEqual([-32015, undefined]);
  });

  test("a writer that comes between reading and writing over a posting loses none", async () => {
    const { tenantId, caller } = await replaced();
    let written: Promise<unknown> | undefined;
    const { operator } = opened;
    const hurried: OperatorDatabase = {
      read: (statement) => operator.read(statement),
      stream: (statement, batch) => operator.stream(statement, batch),
      close: async () => {},
      write: (work) =>
        operator.write((transaction) =>
          work({
            ...transaction,
            async query(statement) {
              const rows = await transaction.query(statement);
              if (written === undefined && statement.text.includes("encode(packed")) {
                written = caller.add([{ id: "f", text: "amber amber" }]);
                await new Promise((resolve) => setTimeout(resolve, 300));
              }
              return rows;
            },
          }),
        ),
    };
    await Array.fromAsync(collectVersions(hurried, 24));
    await written;
    expect(await caller.ids({ query: "amber", mode: "sparse" })).toEqual(["f"]);
    expect(await rowsOf(sql`select n from pgrcp.postings where tenant_id = ${tenantId} and term = 'amber'`)).toEqual([
      { n: 1 },
    ]);
  });
});
