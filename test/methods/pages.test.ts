import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { TenantId } from "../../src/catalog/corpus.ts";
import { cachedQueries } from "../../src/models/cached-queries.ts";
import { filterFields } from "../../src/plan/filter-fields.ts";
import type { RpcError } from "../../src/protocol/errors.ts";
import type { Hit, RetrieveResult } from "../../src/protocol/wire.ts";
import { compile, noRows, sql } from "../../src/sql/sql.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type Caller, callerOf, freshTenant } from "../support/method-caller.ts";
import { testEmbeddingModel } from "../support/test-embedding.ts";

/** Pages of a ranked list (RCP §10). */

const FIELDS = { n: "int" } as const;
const config = { filter: { fields: FIELDS }, indexing: { chunkTokens: 16, overlapTokens: 0 } };

let opened: TestDatabase;
beforeAll(async () => {
  opened = await openTestDatabase({ fields: filterFields(FIELDS) });
});
afterAll(() => opened.close());

const WORDS = ["apple", "pear", "plum", "slate", "marble"];
const documents = Array.from({ length: 40 }, (_, n) => ({
  id: `d${n}`,
  text: `${WORDS[n % 5]} ${WORDS[n % 3]} ${WORDS[n % 4]} number ${n}`,
  meta: { n },
}));

async function filled(options: Parameters<typeof callerOf>[2] = {}) {
  const tenantId = freshTenant();
  const caller = callerOf(opened.database, tenantId, { config, ...options });
  await caller.add(documents);
  return { tenantId, caller };
}

const refusal = async (result: Promise<unknown>) => {
  const error = (await result.catch((thrown: unknown) => thrown)) as RpcError;
  return { code: error.code, field: error.data?.field };
};
const NOT_OURS = { code: -32602, field: "cursor" };

/** All pages of a question, each asked for with the cursor of the one before. @param between runs before each page but the first */
async function pagesOf(caller: Caller, question: object, between: () => Promise<unknown> = async () => {}) {
  const pages: RetrieveResult[] = [];
  for (let cursor: string | undefined; pages.length === 0 || cursor !== undefined; ) {
    if (cursor !== undefined) await between();
    const page: RetrieveResult = await caller.retrieve({ ...question, ...(cursor !== undefined && { cursor }) });
    pages.push(page);
    cursor = page.nextCursor;
    expect(pages.length).toBeLessThan(50);
  }
  return pages;
}

const QUESTIONS = [
  { mode: "dense" },
  { mode: "sparse" },
  { mode: "hybrid" },
  { mode: "hybrid", fusion: { method: "rrf" } },
  { mode: "hybrid", unit: "document" },
  { mode: "dense", mmr: { lambda: 0.4 } },
  { mode: "hybrid", includeVectors: true, includeText: false },
  { mode: "hybrid", filter: { field: "n", op: "gte", value: 10 } },
  { mode: "hybrid", minScore: 0.3 },
] as const;

describe("the union of all pages is one large page", () => {
  test.each(QUESTIONS)("%j, while another client writes", async (options) => {
    const { tenantId, caller } = await filled();
    const writer = callerOf(opened.database, tenantId, { config, principal: { subject: "writer" } });
    const question = { query: "apple plum marble", candidateK: 40, ...options };
    const large = await caller.retrieve({ ...question, k: 40 });
    expect(large.nextCursor).toBeUndefined();

    let round = 0;
    const pages = await pagesOf(caller, { ...question, k: 7 }, async () => {
      round += 1;
      await writer.add([{ id: `new${round}`, text: "apple plum marble apple" }]);
      await writer.add([{ id: `d${round}`, text: "apple plum marble", meta: { n: 99 } }]);
      await writer.delete([`d${39 - round}`]);
    });

    expect(pages.flatMap(({ hits }) => hits)).toEqual(large.hits);
    expect(pages.length).toBe(Math.ceil(large.hits.length / 7));
    expect(pages.length).toBeGreaterThan(1);
    for (const { indexVersion, usage } of pages) {
      expect(indexVersion).toBe(large.indexVersion);
      expect(usage).toMatchObject({ candidates: large.usage.candidates, strategy: large.usage.strategy });
    }
  });

  test("with a budget of tokens each page is packed by itself, and goes on where the last one ended", async () => {
    const { caller } = await filled();
    const question = { query: "apple", mode: "dense", candidateK: 40 };
    const large = await caller.retrieve({ ...question, k: 40 });
    const pages = await pagesOf(caller, { ...question, k: 7, tokenBudget: 15 });
    expect(pages.flatMap(({ hits }) => hits)).toEqual(large.hits);
    // 5 words and 2 special tokens each
    expect(pages.every(({ usage }) => usage.tokens === 14)).toBe(true);
  });

  test.each(["document", "chunk"])("with more text of each %s than one answer holds", async (unit) => {
    const { caller } = await filled({ config: { ...config, limits: { maxHitCharacters: 100 } } });
    const question = { query: "apple", mode: "dense", candidateK: 40, unit, k: 40 };
    const pages = await pagesOf(caller, question);
    expect(new Set(pages.flatMap(({ hits }) => hits.map(({ id }) => id))).size).toBe(40);
    for (const { hits } of pages) {
      const characters = hits.reduce((sum, { text = "" }) => sum + text.length, 0);
      expect(characters).toBeLessThanOrEqual(100);
      expect(hits.length).toBeGreaterThan(1);
    }
    // Without texts there is nothing to bound.
    expect((await caller.retrieve({ ...question, includeText: false })).hits).toHaveLength(40);
  });

  test.each(["document", "chunk"])("a %s longer than one answer holds is shown all the same, alone", async (unit) => {
    const { caller } = await filled({ config: { ...config, limits: { maxHitCharacters: 1 } } });
    const { hits, nextCursor } = await caller.retrieve({ query: "apple", unit });
    expect(hits).toMatchObject([{ text: expect.stringContaining("apple") }]);
    expect(nextCursor).toBeDefined();
  });

  test("a budget that nothing fits into has no next page, which could be no other", async () => {
    const { caller } = await filled();
    expect(await caller.retrieve({ query: "apple", tokenBudget: 1 })).not.toHaveProperty("nextCursor");
  });
});

test("the model is asked once for all pages where queries are remembered, and a page can be asked for again", async () => {
  const tenantId = freshTenant();
  let asked = 0;
  const model = testEmbeddingModel();
  const embed: typeof model.embed = (texts, kind, signal) => {
    asked += 1;
    return model.embed(texts, kind, signal);
  };
  const caller = callerOf(opened.database, tenantId, {
    config,
    embedding: cachedQueries({ ...model, embed }, 1_000_000),
  });
  await caller.add(documents);
  const question = { query: "apple", k: 3 };
  const { nextCursor: cursor } = await caller.retrieve(question);
  const before = asked;
  const second = await caller.retrieve({ ...question, cursor });
  const again = await caller.retrieve({ ...question, cursor });
  expect(asked).toBe(before);
  expect(again.hits).toEqual(second.hits);
});

test("a list that one page holds has no cursor, and nor has any where pages are off", async () => {
  const { caller } = await filled();
  expect(await caller.retrieve({ query: "apple", mode: "dense", k: 40 })).not.toHaveProperty("nextCursor");
  const { caller: off } = await filled({ config: { ...config, capabilities: { pagination: false } } });
  expect(await off.retrieve({ query: "apple", k: 3 })).not.toHaveProperty("nextCursor");
});

const listsOf = (tenantId: TenantId) =>
  opened.operator.read(
    compile(
      sql`select count(*) as n from pgrcp_state.ranked_lists where tenant_id = ${tenantId}`,
      (row) => row.n as number,
    ),
  );

test("a list that can be found anew is not kept, and one of a trajectory only where it has a second page", async () => {
  const { tenantId, caller } = await filled();
  const question = { query: documents[39]?.text, mode: "dense", minScore: 0.999 };
  expect((await caller.retrieve({ query: "apple", k: 3 })).nextCursor).toBeDefined();
  expect((await caller.retrieve({ ...question, unit: "document", sessionId: "a" })).hits).toHaveLength(1);
  expect((await caller.retrieve({ ...question, tokenBudget: 100, sessionId: "b" })).hits).toHaveLength(1);
  expect((await caller.retrieve({ ...question, tokenBudget: 1, sessionId: "c" })).hits).toHaveLength(0);
  await caller.retrieve({ query: "", tokenBudget: 100, sessionId: "d" });
  expect(await listsOf(tenantId)).toEqual([0]);
  await caller.retrieve({ query: "apple", unit: "document", sessionId: "e" });
  expect(await listsOf(tenantId)).toEqual([1]);
});

test("of a list by vectors that may come out otherwise a second time, pages have each chunk once, and nothing is kept", async () => {
  const model = testEmbeddingModel();
  let asked = 0;
  /** Each time another way off. */
  const embed: typeof model.embed = async (texts, kind, signal) => {
    const vectors = await model.embed(texts, kind, signal);
    if (kind === "query") asked += 1;
    return vectors.map((vector) => vector.map((x, at) => (kind === "query" && at === asked ? 0.9 : x)));
  };
  const { tenantId, caller } = await filled({ embedding: { ...model, embed, isRepeatable: false } });
  const question = { query: "apple plum", mode: "dense", k: 7 };
  for (const params of [question, { ...question, candidateK: 40 }, { ...question, mode: "hybrid" }]) {
    const ids = (await pagesOf(caller, params)).flatMap(({ hits }) => hits.map(({ id }) => id));
    expect(ids.toSorted()).toEqual(documents.map(({ id }) => id).toSorted());
  }
  expect(asked).toBe(18);
  expect(await listsOf(tenantId)).toEqual([0]);
  await caller.retrieve({ ...question, unit: "document" });
  expect(await listsOf(tenantId)).toEqual([1]);
});

test("first pages that make the tenant's key at the same moment have one key", async () => {
  const { caller } = await filled();
  const question = { query: "apple", k: 3 };
  const firsts = await Promise.all(Array.from({ length: 8 }, () => caller.retrieve(question)));
  const seconds = await Promise.all(
    firsts.map(({ nextCursor }) => caller.retrieve({ ...question, cursor: nextCursor })),
  );
  for (const { hits } of seconds) expect(hits).toEqual(seconds[0]?.hits);
});

test("of one caller's lists the newest are kept, and nobody else's are dropped for them", async () => {
  const settings = { ...config, retrieval: { maxListsPerPrincipal: 2 } };
  const { tenantId, caller } = await filled({ config: settings });
  const other = callerOf(opened.database, tenantId, { config: settings, principal: { subject: "another" } });
  const question = { query: "apple", k: 3, sessionId: "trajectory" };
  const { nextCursor: others } = await other.retrieve(question);
  const { nextCursor: first } = await caller.retrieve(question);
  const { nextCursor: second } = await caller.retrieve(question);
  const { nextCursor: third } = await caller.retrieve(question);
  expect(await listsOf(tenantId)).toEqual([3]);
  expect(await refusal(caller.retrieve({ ...question, cursor: first }))).toEqual({ code: -32015, field: undefined });
  for (const cursor of [second, third]) expect((await caller.retrieve({ ...question, cursor })).hits).toHaveLength(3);
  expect((await other.retrieve({ ...question, cursor: others })).hits).toHaveLength(3);
});

test("a cursor outlives a deploy with other caps of retrieval", async () => {
  const { tenantId, caller } = await filled();
  const question = { query: "apple", k: 3 };
  const { nextCursor: cursor } = await caller.retrieve(question);
  const deployed = {
    ...config,
    retrieval: { defaultCandidateK: 20, maxCandidateK: 30, maxK: 25 },
    limits: { maxHitCharacters: 50_000 },
  };
  const after = callerOf(opened.database, tenantId, { config: deployed });
  expect((await after.retrieve({ ...question, cursor })).hits).toEqual(
    (await caller.retrieve({ ...question, cursor })).hits,
  );
});

describe("a cursor is refused", () => {
  const question = { query: "apple", k: 3 };

  test("with other params, by another caller, in another corpus, by another tenant", async () => {
    const { tenantId, caller } = await filled();
    const { nextCursor: cursor } = await caller.retrieve(question);
    const elsewhere = callerOf(opened.database, tenantId, { config, principal: { subject: "another" } });
    const { caller: stranger } = await filled();
    await stranger.retrieve(question);
    const nobody = callerOf(opened.database, freshTenant(), { config });
    for (const ask of [
      () => caller.retrieve({ ...question, query: "pear", cursor }),
      () => caller.retrieve({ ...question, k: 4, cursor }),
      () => caller.retrieve({ ...question, seed: 1, cursor }),
      () => elsewhere.retrieve({ ...question, cursor }),
      () => stranger.retrieve({ ...question, cursor }),
      () => nobody.retrieve({ ...question, cursor }),
    ])
      expect(await refusal(ask())).toEqual(NOT_OURS);
    expect((await caller.retrieve({ ...question, cursor })).hits).toHaveLength(3);
  });

  test("whatever a foreign row says: the signature is looked at, not only the row", async () => {
    const question = { query: "apple", k: 3, sessionId: "trajectory" };
    const { tenantId, caller } = await filled();
    const { nextCursor: cursor } = await caller.retrieve(question);
    const bob = callerOf(opened.database, tenantId, { config, principal: { subject: "bob" } });
    await bob.retrieve(question);
    await opened.operator.write((transaction) =>
      transaction.query(
        compile(
          sql`update pgrcp_state.ranked_lists set owner_hash = (select owner_hash from pgrcp_state.ranked_lists where tenant_id = ${tenantId} order by expires_at desc limit 1) where tenant_id = ${tenantId}`,
          noRows,
        ),
      ),
    );
    expect(await refusal(bob.retrieve({ ...question, cursor }))).toEqual(NOT_OURS);
  });

  const run = (statement: ReturnType<typeof sql>) =>
    opened.operator.write((transaction) => transaction.query(compile(statement, noRows)));
  const EXPIRED = { code: -32015, field: undefined };

  test("as expired once its kept list is gone", async () => {
    const question = { query: "apple", k: 3, sessionId: "trajectory" };
    const { tenantId, caller } = await filled();
    const { nextCursor: cursor } = await caller.retrieve(question);
    await run(sql`update pgrcp_state.ranked_lists set expires_at = now() where tenant_id = ${tenantId}`);
    expect(await refusal(caller.retrieve({ ...question, cursor }))).toEqual(EXPIRED);
    // The next list takes the expired one away.
    await caller.retrieve(question);
    expect(await refusal(caller.retrieve({ ...question, cursor }))).toEqual(EXPIRED);
    expect(await listsOf(tenantId)).toEqual([1]);
  });

  test("as expired once its version is gone", async () => {
    const { tenantId, caller } = await filled();
    const { nextCursor: cursor } = await caller.retrieve(question);
    await caller.add([{ id: "later", text: "apple" }]);
    await run(sql`update pgrcp.corpus_versions set token = null where tenant_id = ${tenantId} and version = 1`);
    expect(await refusal(caller.retrieve({ ...question, cursor }))).toEqual(EXPIRED);
  });

  test("as expired after cursorTtlSeconds, and not before", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    try {
      const { caller } = await filled();
      const { nextCursor: cursor } = await caller.retrieve(question);
      vi.setSystemTime(Date.now() + 299_000);
      expect((await caller.retrieve({ ...question, cursor })).hits).toHaveLength(3);
      vi.setSystemTime(Date.now() + 3_000);
      expect(await refusal(caller.retrieve({ ...question, cursor }))).toEqual(EXPIRED);
    } finally {
      vi.useRealTimers();
    }
  });
});

test("chunks that were withdrawn since are left out", async () => {
  const { tenantId, caller } = await filled();
  const question = { query: "apple", mode: "dense", k: 10, candidateK: 40 };
  const large = await caller.retrieve({ ...question, k: 40 });
  const first = await caller.retrieve({ ...question, sessionId: "trajectory" });
  const gone = large.hits[12];
  await opened.operator.write((transaction) =>
    transaction.query(
      compile(
        sql`delete from pgrcp.chunks where tenant_id = ${tenantId} and doc_id = ${gone?.chunk.docId ?? ""}`,
        noRows,
      ),
    ),
  );
  const second = await caller.retrieve({ ...question, sessionId: "trajectory", cursor: first.nextCursor });
  const without = (hits: readonly Hit[]) => hits.filter(({ id }) => id !== gone?.id);
  expect(second.hits).toEqual(without(large.hits.slice(10, 20)));
  expect(second.hits).toHaveLength(9);
});
