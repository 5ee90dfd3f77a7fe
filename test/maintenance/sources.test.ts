import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CorpusName, TenantId } from "../../src/catalog/corpus.ts";
import type { Database, OperatorDatabase } from "../../src/db/database.ts";
import { collectVersions } from "../../src/maintenance/collect-versions.ts";
import { purgeDocuments } from "../../src/maintenance/purge.ts";
import { listSources, restoreSource, revokeSource } from "../../src/maintenance/sources.ts";
import { filterFields } from "../../src/plan/filter-fields.ts";
import type { RpcError } from "../../src/protocol/errors.ts";
import { createCorpus } from "../../src/sql/corpora.ts";
import { compile, noRows, type Sql, sql } from "../../src/sql/sql.ts";
import { createTenant } from "../../src/sql/tenants.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type Caller, callerOf, freshTenant } from "../support/method-caller.ts";
import { SeededRandom, testSeed } from "../support/seeded-random.ts";
import { testEmbeddingModel } from "../support/test-embedding.ts";

/** Taking a source out and back in, and erasing documents (DESIGN sections 4 and 6). */

const FIELDS = { year: "int" } as const;
const config = { filter: { fields: FIELDS }, indexing: { chunkTokens: 16, overlapTokens: 4 } };

let opened: TestDatabase;
beforeAll(async () => {
  opened = await openTestDatabase({ fields: filterFields(FIELDS) });
});
afterAll(() => opened.close());

const writer = (tenantId: TenantId, source: string, corpus?: string, database: Database = opened.database) =>
  callerOf(database, tenantId, { config, principal: { source, subject: source }, ...(corpus && { corpus }) });
const newCorpora = (tenantId: TenantId, ...names: string[]) =>
  opened.operator.write(async (transaction) => {
    await transaction.query(createTenant(tenantId));
    for (const name of names)
      await transaction.query(
        createCorpus({
          tenantId,
          name: name as CorpusName,
          language: "english",
          space: testEmbeddingModel().space,
          screening: "flag",
          placement: "shared",
        }),
      );
  });
const revoke = (tenantId: TenantId, source: string, database = opened.operator) =>
  Array.fromAsync(revokeSource(database, tenantId, source));
const restore = (tenantId: TenantId, source: string, database = opened.operator) =>
  Array.fromAsync(restoreSource(database, tenantId, source));
const purge = (tenantId: TenantId, ...ids: string[]) =>
  purgeDocuments(opened.operator, { tenant: tenantId, corpus: "default" }, ids);

/** The operator's database, with something done before its `nth` write. */
function beforeWrite(nth: number, work: () => Promise<unknown>): OperatorDatabase {
  let writes = 0;
  const { operator } = opened;
  return {
    read: (statement) => operator.read(statement),
    stream: (statement, batch) => operator.stream(statement, batch),
    close: async () => {},
    async write(transaction) {
      if (++writes === nth) await work();
      return await operator.write(transaction);
    },
  };
}

const rowsOf = (statement: Sql) => opened.operator.read(compile(statement, (row) => row));
const codeOf = async (result: Promise<unknown>) =>
  ((await result.catch((thrown: unknown) => thrown)) as RpcError | undefined)?.code;

const WORDS = ["amber", "basalt", "coral", "dune", "ember", "fjord", "garnet", "heron"];
const QUESTIONS = ["amber", "basalt coral", "dune ember fjord"].flatMap((query) => [
  { query, mode: "dense" },
  { query, mode: "sparse" },
  { query, mode: "hybrid" },
  { query, mode: "hybrid", unit: "document" },
  { query, mode: "hybrid", filter: { field: "year", op: "gte", value: 2005 } },
  { query, mode: "sparse", filter: { field: "year", op: "lt", value: 2005 } },
]);
const answersOf = (caller: Caller, indexVersion?: string) =>
  Promise.all(
    QUESTIONS.map(
      async (question) => (await caller.retrieve({ ...question, k: 50, candidateK: 60, indexVersion })).hits,
    ),
  );

const liveOf = (tenantId: TenantId) =>
  rowsOf(
    sql`select d.doc_id as id, t.body as text, d.meta, d.source from pgrcp.documents d join pgrcp.document_texts t using (tenant_id, corpus, doc_id, added_version) where d.tenant_id = ${tenantId} and d.removed_version is null`,
  );

/** What a corpus answers that has these documents and never had others; each under its own source, which hits show. */
async function freshAnswers(documents: readonly Readonly<Record<string, unknown>>[]) {
  const tenantId = freshTenant();
  for (const source of new Set(documents.map((document) => document.source as string)))
    await writer(tenantId, source).add(
      documents.filter((one) => one.source === source).map(({ id, text, meta }) => ({ id, text, meta })),
    );
  return await answersOf(writer(tenantId, "reader"));
}

/** Writes and deletes by `good` and `bad`; at least one document of each is live at the end. */
async function randomHistory(tenantId: TenantId) {
  const random = new SeededRandom(testSeed());
  const good = writer(tenantId, "good");
  const bad = writer(tenantId, "bad");
  const text = () => Array.from({ length: random.integer(3, 40) }, () => random.pick(WORDS)).join(" ");
  const document = (id: string) => ({ id, text: text(), meta: { year: random.integer(2000, 2009) } });
  for (let round = 0; round < 16; round += 1) {
    const ids = Array.from({ length: random.integer(1, 4) }, () => `d${random.integer(0, 9)}`);
    if (random.fraction() < 0.2) await good.delete(ids);
    else await (random.fraction() < 0.5 ? good : bad).add(ids.map(document));
  }
  await good.add([document("g")]);
  await bad.add([document("b")]);
  return { good, bad };
}

describe("a source that is revoked", () => {
  test("is in no answer, and every score is that of a corpus that never had it", async () => {
    const tenantId = freshTenant();
    const { good } = await randomHistory(tenantId);
    const others = (await liveOf(tenantId)).filter((document) => document.source === "good");

    const [change] = await revoke(tenantId, "bad");

    expect(change?.documents).toBeGreaterThan(0);
    expect(await answersOf(good)).toEqual(await freshAnswers(others));
    expect(
      await rowsOf(
        sql`select issuer, subject, action, live_documents from pgrcp.corpus_versions where tenant_id = ${tenantId} order by version desc limit 1`,
      ),
    ).toEqual([{ issuer: "pgrcp", subject: "operator", action: "revoke", live_documents: others.length }]);
  });

  test("comes back whole, with every score that it had", async () => {
    const tenantId = freshTenant();
    const { good } = await randomHistory(tenantId);
    const before = await answersOf(good);
    const counters = () =>
      rowsOf(
        sql`select live_documents, live_text_bytes, live_chunks, live_length from pgrcp.corpora where tenant_id = ${tenantId}`,
      );
    const counted = await counters();

    const [closed] = await revoke(tenantId, "bad");
    expect(await counters()).not.toEqual(counted);
    const [reopened] = await restore(tenantId, "bad");

    expect(reopened).toMatchObject({ documents: closed?.documents, chunks: closed?.chunks });
    expect(await answersOf(good)).toEqual(before);
    expect(await counters()).toEqual(counted);
    expect(await restore(tenantId, "bad")).toEqual([]);
  });

  test("takes the versions along that hold a chunk of it, and their cursors; the others stay", async () => {
    const tenantId = freshTenant();
    const [good, bad] = [writer(tenantId, "good"), writer(tenantId, "bad")];
    await good.add(["a", "b", "c"].map((id) => ({ id, text: `amber ${id}` })));
    const question = { query: "amber", mode: "sparse", k: 2 };
    const clean = await good.retrieve(question);
    await bad.add([{ id: "x", text: "amber x" }]);
    const held = await good.retrieve(question);
    // Replaced by somebody else: no longer live, and in the version before all the same.
    await good.add([{ id: "x", text: "coral x" }]);
    const after = await good.retrieve(question);

    expect(await revoke(tenantId, "bad")).toEqual([{ corpus: "default", documents: 0, chunks: 0, versions: 1 }]);

    const pin = (indexVersion: string | undefined) => good.retrieve({ ...question, indexVersion });
    const page = (cursor: string | undefined) => good.ids({ ...question, cursor });
    expect((await pin(clean.indexVersion)).hits).toEqual(clean.hits);
    expect(await codeOf(pin(held.indexVersion))).toBe(-32010);
    expect((await pin(after.indexVersion)).hits).toEqual(after.hits);
    expect(await page(clean.nextCursor)).toEqual(["c"]);
    expect(await codeOf(page(held.nextCursor))).toBe(-32015);
    expect(await page(after.nextCursor)).toEqual(["c"]);
    expect(await revoke(tenantId, "bad")).toEqual([]);
  });

  test("when it is back, versions that lacked it are withdrawn: they would show it", async () => {
    const tenantId = freshTenant();
    const [good, bad] = [writer(tenantId, "good"), writer(tenantId, "bad")];
    await bad.add([{ id: "x", text: "amber x" }]);
    await revoke(tenantId, "bad");
    const { _meta } = await good.add([{ id: "a", text: "amber a" }]);
    expect(await good.ids({ query: "amber", indexVersion: _meta.indexVersion })).toEqual(["a"]);

    await restore(tenantId, "bad");

    expect(await codeOf(good.retrieve({ query: "amber", indexVersion: _meta.indexVersion }))).toBe(-32010);
    const { hits, indexVersion } = await good.retrieve({ query: "amber" });
    expect(hits.map(({ id }) => id)).toEqual(["a", "x"]);
    expect(await good.ids({ query: "amber", indexVersion })).toEqual(["a", "x"]);
  });

  test("writes no more until it is restored", async () => {
    const tenantId = freshTenant();
    const [good, bad] = [writer(tenantId, "good"), writer(tenantId, "bad")];
    await good.add([{ id: "a", text: "amber a" }]);
    await bad.add([{ id: "x", text: "amber x" }]);
    await revoke(tenantId, "bad");

    expect(await codeOf(bad.add([{ id: "a", text: "amber poison" }]))).toBe(-32012);
    expect(await codeOf(writer(tenantId, "bad", "another").add([{ id: "y", text: "amber" }]))).toBe(-32012);
    expect(await good.ids({ query: "amber" })).toEqual(["a"]);

    await restore(tenantId, "bad");
    await bad.add([{ id: "y", text: "amber y" }]);
    expect(await good.ids({ query: "amber", mode: "sparse" })).toEqual(["a", "x", "y"]);
  });

  test("does not come back where its document was written again or deleted meanwhile", async () => {
    const tenantId = freshTenant();
    const [good, bad] = [writer(tenantId, "good"), writer(tenantId, "bad")];
    await bad.add(["kept", "rewritten", "deleted", "rewritten-deleted"].map((id) => ({ id, text: `amber ${id}` })));
    await revoke(tenantId, "bad");
    await good.add([
      { id: "rewritten", text: "amber anew" },
      { id: "rewritten-deleted", text: "amber anew" },
    ]);
    expect(await good.delete(["deleted", "rewritten-deleted"])).toBe(1);

    expect(await restore(tenantId, "bad")).toMatchObject([{ documents: 1, chunks: 1 }]);

    const hits = await good.hits({ query: "amber", mode: "sparse" });
    expect(hits.map(({ id }) => id).toSorted()).toEqual(["kept", "rewritten"]);
    expect(hits.find(({ id }) => id === "rewritten")?.text).toBe("amber anew");
  });

  test("that wrote over another revoked one's document leaves the newer one to be restored", async () => {
    const tenantId = freshTenant();
    const [first, second] = [writer(tenantId, "first"), writer(tenantId, "second")];
    await first.add([{ id: "x", text: "amber first" }]);
    await revoke(tenantId, "first");
    await second.add([{ id: "x", text: "amber second" }]);
    await revoke(tenantId, "second");

    expect(await restore(tenantId, "first")).toEqual([]);
    expect(await restore(tenantId, "second")).toMatchObject([{ documents: 1 }]);
    const [hit] = await second.hits({ query: "amber" });
    expect(hit?.text).toBe("amber second");
  });

  test("outlives retention, but for what was written again since", async () => {
    const tenantId = freshTenant();
    const [good, bad] = [writer(tenantId, "good"), writer(tenantId, "bad")];
    await bad.add(["x", "y"].map((id) => ({ id, text: `amber ${id}` })));
    await revoke(tenantId, "bad");
    await good.add([{ id: "y", text: "amber anew" }]);
    await good.add([{ id: "z", text: "basalt" }]);
    await opened.admin.query(
      compile(
        sql`update pgrcp.corpus_versions set committed_at = now() - interval '25 hours' where tenant_id = ${tenantId}`,
        noRows,
      ),
    );

    const collected = await Array.fromAsync(collectVersions(opened.operator, 24));
    expect(collected.filter(({ tenant }) => tenant === tenantId)).toMatchObject([{ documents: 1, chunks: 1 }]);

    await restore(tenantId, "bad");
    expect(await good.ids({ query: "amber", mode: "sparse" })).toEqual(["x", "y"]);
  });

  test("goes from every corpus of its tenant, and from no other tenant's", async () => {
    const [tenantId, other] = [freshTenant(), freshTenant()];
    const corpora = ["one", "two"];
    await newCorpora(tenantId, ...corpora);
    for (const corpus of corpora) await writer(tenantId, "bad", corpus).add([{ id: "x", text: "amber x" }]);
    await writer(other, "bad").add([{ id: "x", text: "amber x" }]);

    // The second corpus fails; the same command again does the rest.
    const cutOff = () => beforeWrite(3, () => Promise.reject(new Error("cut off")));
    await expect(revoke(tenantId, "bad", cutOff())).rejects.toThrow("cut off");
    const idsIn = (corpus: string) => writer(tenantId, "good", corpus).ids({ query: "amber" });
    expect(await Promise.all(corpora.map(idsIn))).toEqual([[], ["x"]]);
    expect(await revoke(tenantId, "bad")).toMatchObject([{ corpus: "two", documents: 1 }]);
    expect(await Promise.all(corpora.map(idsIn))).toEqual([[], []]);
    await writer(other, "bad").add([{ id: "y", text: "amber y" }]);
    expect(await writer(other, "good").ids({ query: "amber" })).toEqual(["x", "y"]);

    await expect(restore(tenantId, "bad", cutOff())).rejects.toThrow("cut off");
    expect(await restore(tenantId, "bad")).toMatchObject([{ corpus: "two", documents: 1 }]);
    expect(await Promise.all(corpora.map(idsIn))).toEqual([["x"], ["x"]]);
  });

  test("leaves nothing that it writes at the same time", async () => {
    const tenantId = freshTenant();
    const corpora = ["a1", "a2", "a3", "a4"];
    await newCorpora(tenantId, ...corpora);
    await writer(tenantId, "bad", "a1").add([{ id: "x", text: "amber x" }]);
    // The default corpus is made meanwhile; in the others the source writes for the first time.
    const untilRefused = async (corpus: string) => {
      const bad = writer(tenantId, "bad", corpus);
      for (let n = 0; n < 2_000; n += 1) await bad.add([{ id: `n${n}`, text: `amber ${n}` }]);
    };
    const writing = Promise.allSettled([...corpora, "default"].map(untilRefused));
    await Promise.all([revoke(tenantId, "bad"), writing]);

    for (const result of await writing) expect(result).toMatchObject({ status: "rejected", reason: { code: -32012 } });
    expect(await liveOf(tenantId)).toEqual([]);
    expect(await revoke(tenantId, "bad")).toEqual([]);
  });

  test("and restored before that is done comes back whole, and the other way round", async () => {
    const tenantId = freshTenant();
    const corpora = ["one", "two"];
    await newCorpora(tenantId, ...corpora);
    for (const corpus of corpora) await writer(tenantId, "bad", corpus).add([{ id: "x", text: "amber x" }]);

    // Writes: the revocation itself, then one a corpus.
    const overtaken = beforeWrite(3, () => restore(tenantId, "bad"));
    await expect(revoke(tenantId, "bad", overtaken)).rejects.toMatchObject({ name: "Refusal" });
    expect(await liveOf(tenantId)).toHaveLength(2);
    await writer(tenantId, "bad", "one").add([{ id: "y", text: "amber y" }]);

    await revoke(tenantId, "bad");
    const revokedAgain = beforeWrite(3, () => revoke(tenantId, "bad"));
    await expect(restore(tenantId, "bad", revokedAgain)).rejects.toMatchObject({ name: "Refusal" });
    expect(await liveOf(tenantId)).toEqual([]);
    expect(await codeOf(writer(tenantId, "bad", "one").add([{ id: "z", text: "amber z" }]))).toBe(-32012);
  });

  test("that the tenant never had is refused", async () => {
    const tenantId = freshTenant();
    await writer(tenantId, "bad").add([{ id: "x", text: "amber" }]);
    await expect(revoke(tenantId, "bda")).rejects.toMatchObject({ name: "Refusal" });
    await expect(restore(tenantId, "bda")).rejects.toMatchObject({ name: "Refusal" });
    await expect(revoke("nobody" as TenantId, "bad")).rejects.toMatchObject({ name: "Refusal" });
  });
});

test("sources are listed with what they wrote, live or revoked", async () => {
  const tenantId = freshTenant();
  await writer(tenantId, "b").add([{ id: "x", text: "amber" }]);
  const one = callerOf(opened.database, tenantId, { config, principal: { source: "a", subject: "one" } });
  const two = callerOf(opened.database, tenantId, { config, principal: { source: "a", subject: "two" }, corpus: "n" });
  await newCorpora(tenantId, "n");
  await one.add([{ id: "y", text: "basalt" }]);
  await one.add([{ id: "y", text: "coral" }]);
  await two.add([{ id: "z", text: "dune" }]);
  await revoke(tenantId, "b");

  const [a, b, ...rest] = await listSources(opened.operator, tenantId, undefined);
  expect(a).toMatchObject({ source: "a", issuers: 1, subjects: 2, documents: 2, chunks: 2, revokedAt: null });
  expect(b).toMatchObject({ source: "b", issuers: 1, subjects: 1, documents: 1, chunks: 1 });
  expect(Date.parse(b?.revokedAt ?? "")).toBeGreaterThanOrEqual(Date.parse(b?.lastWrittenAt ?? ""));
  expect(Date.parse(a?.lastWrittenAt ?? "")).toBeGreaterThan(Date.parse(a?.firstWrittenAt ?? ""));
  expect(rest).toEqual([]);
  expect(await listSources(opened.operator, tenantId, "n")).toMatchObject([
    { source: "a", subjects: 1, documents: 1 },
    { source: "b", documents: 0, firstWrittenAt: null },
  ]);
  await expect(listSources(opened.operator, tenantId, "none")).rejects.toMatchObject({ name: "Refusal" });
});

describe("a document that is purged", () => {
  test("leaves no row of any version, and every score is that of a corpus that never had it", async () => {
    const tenantId = freshTenant();
    const { good } = await randomHistory(tenantId);
    const gone = ["b", "d1", "d2", "d3"];
    const left = (await liveOf(tenantId)).filter((document) => !gone.includes(document.id as string));

    const { documents, chunks, unknown } = await purge(tenantId, ...gone, "never");

    expect(documents + unknown.length).toBe(5);
    expect(unknown).toContain("never");
    expect(chunks).toBeGreaterThan(0);
    expect(await answersOf(good)).toEqual(await freshAnswers(left));
    for (const table of [sql`documents`, sql`document_texts`, sql`chunks`])
      expect(
        await rowsOf(
          sql`select doc_id from pgrcp.${table} where tenant_id = ${tenantId} and doc_id = any(${gone}::text[])`,
        ),
      ).toEqual([]);
    // Postings are those of the chunks that are left: none less, none more.
    const [counted] = await rowsOf(
      sql`select (select sum(n)::bigint from pgrcp.postings where tenant_id = ${tenantId} and term = 'amber') as postings,
  (select count(*) from pgrcp.chunks c join pgrcp.document_texts t using (tenant_id, corpus, doc_id, added_version) where c.tenant_id = ${tenantId} and substr(t.body, c.start_offset + 1, c.end_offset - c.start_offset) like '%amber%') as chunks`,
    );
    expect(counted?.postings).toBe(counted?.chunks);
  });

  test("takes the versions along that hold it, and their cursors; the others stay", async () => {
    const tenantId = freshTenant();
    const caller = writer(tenantId, "good");
    await caller.add(["a", "b", "c"].map((id) => ({ id, text: `amber ${id}` })));
    const question = { query: "amber", mode: "sparse", k: 2 };
    const clean = await caller.retrieve(question);
    await caller.add([{ id: "x", text: "amber x" }]);
    const held = await caller.retrieve(question);
    await caller.delete(["x"]);
    const after = await caller.retrieve(question);

    expect(await purge(tenantId, "x", "x")).toEqual({ documents: 1, chunks: 1, versions: 1, unknown: [] });

    const pin = (indexVersion: string | undefined) => caller.retrieve({ ...question, indexVersion });
    expect((await pin(clean.indexVersion)).hits).toEqual(clean.hits);
    expect(await codeOf(pin(held.indexVersion))).toBe(-32010);
    expect((await pin(after.indexVersion)).hits).toEqual(after.hits);
    expect(await codeOf(caller.ids({ ...question, cursor: held.nextCursor }))).toBe(-32015);
    expect(await caller.ids({ ...question, cursor: clean.nextCursor })).toEqual(["c"]);
    expect(await purge(tenantId, "x")).toEqual({ documents: 0, chunks: 0, versions: 0, unknown: ["x"] });
    expect(
      await rowsOf(
        sql`select action from pgrcp.corpus_versions where tenant_id = ${tenantId} order by version desc limit 2`,
      ),
    ).toEqual([{ action: "purge" }, { action: "delete" }]);
  });

  test("does not come back with its source", async () => {
    const tenantId = freshTenant();
    const bad = writer(tenantId, "bad");
    await bad.add(["x", "y"].map((id) => ({ id, text: `amber ${id}` })));
    await revoke(tenantId, "bad");
    await purge(tenantId, "x");
    await restore(tenantId, "bad");
    expect(await bad.ids({ query: "amber" })).toEqual(["y"]);
  });

  // Its reads as the reader: the corpus, recall, the vectors of mmr, the hits.
  test.each([2, 3, 4])("leaves an answer that is at its read %i without it and not without an answer", async (nth) => {
    const tenantId = freshTenant();
    await writer(tenantId, "good").add(["x", "y"].map((id) => ({ id, text: `amber ${id}` })));
    let reads = 0;
    const interrupted: Database = {
      kind: opened.database.kind,
      async read(role, access, statements, limits) {
        if (role === "reader" && ++reads === nth) await purge(tenantId, "x");
        return await opened.database.read(role, access, statements, limits);
      },
      readCorpus(_point, ...asked) {
        return this.read("reader", ...asked);
      },
      write: (role, access, limits, work) => opened.database.write(role, access, limits, work),
      isReachable: (timeoutMs) => opened.database.isReachable(timeoutMs),
      close: async () => {},
    };
    const ids = await writer(tenantId, "good", undefined, interrupted).ids({ query: "amber", mmr: {} });
    expect(ids).toEqual(["y"]);
  });
});
