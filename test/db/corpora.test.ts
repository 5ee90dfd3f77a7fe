import { afterAll, beforeEach, describe, expect, test } from "vitest";
import type { Corpus, CorpusName } from "../../src/catalog/corpus.ts";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { checkSpace, checkStoredSpaces } from "../../src/db/check-space.ts";
import type { Database } from "../../src/db/database.ts";
import { ErrorCode } from "../../src/protocol/errors.ts";
import { createCorpus, findCorpus } from "../../src/sql/corpora.ts";
import { sql } from "../../src/sql/sql.ts";
import { createTenant } from "../../src/sql/tenants.ts";
import { accessTo } from "../support/access.ts";
import { openTestDatabase } from "../support/database.ts";
import { limits, run, tenant } from "./rows.ts";

const { admin, database, operator, close } = await openTestDatabase();
afterAll(close);

let tenants = 0;
let corpus: Corpus;
beforeEach(() => {
  tenants += 1;
  corpus = {
    tenantId: tenant(`c${tenants}`),
    name: "default" as CorpusName,
    language: "english",
    space: { identity: "model-a", dimension: 384 },
    screening: "flag",
    placement: "shared",
  };
});

const create = (made: Corpus) =>
  database.write("adder", accessTo(made.tenantId), limits(), async (transaction) => [
    await transaction.query(createTenant(made.tenantId)),
    await transaction.query(createCorpus(made)),
  ]);
const write = (written: Corpus) =>
  operator.write((transaction) =>
    transaction.query(run(sql`update pgrcp.corpora set version = 1 where tenant_id = ${written.tenantId}`)),
  );
const move = (placed: Corpus, language: string) =>
  operator.write((transaction) =>
    transaction.query(run(sql`update pgrcp.corpora set language = ${language} where tenant_id = ${placed.tenantId}`)),
  );

test("the adder creates tenant and corpus once, and the reader finds the corpus", async () => {
  expect(await create(corpus)).toEqual([[corpus.tenantId], [corpus]]);
  expect(await create({ ...corpus, language: "german" })).toEqual([[], []]);

  const find = findCorpus(corpus.tenantId, corpus.name);
  expect(await database.read("reader", accessTo(corpus.tenantId), [find], limits())).toEqual([
    [{ ...corpus, unwritten: true }],
  ]);
});

test("of ten that create the same corpus at once, one does", async () => {
  const made = await Promise.all(Array.from({ length: 10 }, () => create(corpus)));

  expect(made.filter(([, created]) => created?.length === 1)).toHaveLength(1);
});

describe("the corpus store", () => {
  test("keeps what it found for ten seconds, then asks again", async () => {
    await create(corpus);
    await write(corpus);
    let now = 0;
    const store = new CachedCorpusStore(database, () => now);
    const find = () => store.find("reader", accessTo(corpus.tenantId), corpus.name, limits());
    await find();
    await move(corpus, "german");

    now = 9_999;
    expect((await find())?.language).toBe("english");
    now = 10_000;
    expect((await find())?.language).toBe("german");
  });

  test("does not keep a corpus that was never written to, whose language may still change", async () => {
    await create(corpus);
    const store = new CachedCorpusStore(database, () => 0);
    const find = () => store.find("reader", accessTo(corpus.tenantId), corpus.name, limits());
    await find();
    await move(corpus, "german");

    expect((await find())?.language).toBe("german");
  });

  test("asks again after it was told to forget", async () => {
    await create(corpus);
    await write(corpus);
    const store = new CachedCorpusStore(database);
    const find = () => store.find("reader", accessTo(corpus.tenantId), corpus.name, limits());
    await find();
    await move(corpus, "german");

    store.forget(corpus.tenantId);

    expect((await find())?.language).toBe("german");
  });

  test("does not keep an answer that was on its way when it was told to forget", async () => {
    await create(corpus);
    await write(corpus);
    const store = new CachedCorpusStore(database);
    const find = () => store.find("reader", accessTo(corpus.tenantId), corpus.name, limits());
    const early = find();
    store.forget(corpus.tenantId);
    await early;
    await move(corpus, "german");

    expect((await find())?.language).toBe("german");
  });

  test("does not keep that a corpus is missing", async () => {
    const store = new CachedCorpusStore(database);
    const find = () => store.find("reader", accessTo(corpus.tenantId), corpus.name, limits());

    expect(await find()).toBeUndefined();
    await create(corpus);
    expect(await find()).toEqual({ ...corpus, unwritten: true });
  });

  test.each(["reader", "adder", "deleter"] as const)(
    "asks as the role that it is told, such as the %s",
    async (role) => {
      await create(corpus);
      const asked: string[] = [];
      const recorded: Pick<Database, "read"> = {
        read: (as, ...rest) => {
          asked.push(as);
          return database.read(as, ...rest);
        },
      };
      const store = new CachedCorpusStore(recorded);

      expect(await store.find(role, accessTo(corpus.tenantId), corpus.name, limits())).toEqual({
        ...corpus,
        unwritten: true,
      });
      expect(asked).toEqual([role]);
    },
  );

  test("gives no tenant another's corpus of the same name", async () => {
    await create(corpus);
    const store = new CachedCorpusStore(database);
    await store.find("reader", accessTo(corpus.tenantId), corpus.name, limits());

    expect(await store.find("reader", accessTo("somebody-else"), corpus.name, limits())).toBeUndefined();
  });
});

test.each([
  ["another model", { identity: "model-b", dimension: 384 }],
  ["another dimension", { identity: "model-a", dimension: 768 }],
])("a corpus of %s is refused for good", (_, space) => {
  expect(() => checkSpace({ ...corpus, space }, { identity: "model-a", dimension: 384 })).toThrow(
    expect.objectContaining({
      code: ErrorCode.BackendUnavailable,
      data: expect.objectContaining({ retryable: false }),
    }),
  );
});

test("a corpus of the configured model is accepted", () => {
  expect(() => checkSpace(corpus, { identity: "model-a", dimension: 384 })).not.toThrow();
});

describe("at start, stored corpora", () => {
  const configured = { identity: "model-a", dimension: 384 };
  beforeEach(async () => {
    await admin.query(run(sql`delete from pgrcp.corpora`));
    await create(corpus);
  });

  test("of the configured model are accepted, and so are none", async () => {
    expect(await checkStoredSpaces(operator, configured)).toEqual([]);
    await admin.query(run(sql`delete from pgrcp.corpora`));
    expect(await checkStoredSpaces(operator, configured)).toEqual([]);
  });

  test.each([
    ["another model", { identity: "model-b", dimension: 384 }, "model-b of 384 dimensions"],
    ["another dimension", { identity: "model-a", dimension: 768 }, "model-a of 768 dimensions"],
  ])("of %s are refused", async (_, space, name) => {
    await create({ ...corpus, name: "other" as CorpusName, space });

    expect(await checkStoredSpaces(operator, configured)).toEqual([
      {
        severity: "error",
        line: `corpus other of tenant ${corpus.tenantId} was embedded with ${name}, and the configured model is model-a of 384 dimensions`,
        remedy: expect.stringMatching(/^set models.embedding back; or .*`pgrcp documents export`/),
      },
    ]);
  });

  test("are named by the first of them and counted", async () => {
    const found = await checkStoredSpaces(operator, { identity: "model-c", dimension: 8 });
    await create({ ...corpus, name: "second" as CorpusName });
    const [finding] = await checkStoredSpaces(operator, { identity: "model-c", dimension: 8 });

    expect(found).toHaveLength(1);
    expect(finding?.line).toContain("corpus default of tenant");
    expect(finding?.line).toContain("dimensions (and so were 1 more), and");
  });
});
