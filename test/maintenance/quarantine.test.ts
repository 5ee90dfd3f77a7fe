import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CREDENTIALS } from "../../src/auth/principal.ts";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { listAudit } from "../../src/maintenance/audit.ts";
import { showDocument } from "../../src/maintenance/documents.ts";
import { quarantineSuspected } from "../../src/maintenance/quarantine.ts";
import { restoreSource, revokeSource } from "../../src/maintenance/sources.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import { compile, sql } from "../../src/sql/sql.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { freshTenant } from "../support/method-caller.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";

/** What callers suspect over HTTP, and what the operator's command makes of it (DESIGN section 6). */

let db: TestDatabase;
let server: RcpServer;
beforeAll(async () => {
  db = await openTestDatabase();
  server = await startRcpServer({
    config: {
      auth: { combinedTokens: true },
      rateLimit: { enabled: false },
      indexing: { chunkTokens: 16, overlapTokens: 4 },
    },
    handlers: HANDLERS,
    database: db.database,
    corpora: new CachedCorpusStore(db.database),
  });
});
afterAll(async () => {
  await server.close();
  await db.close();
});

const AFTER = 3;
const quarantine = (tenant: string, options: { after?: number; dryRun?: boolean } = {}) =>
  Array.fromAsync(
    quarantineSuspected(db.operator, options.after ?? AFTER, { tenant, dryRun: options.dryRun ?? false }),
  );

/** A tenant with two documents; callers go by the name of their subject. */
async function corpusOf(tenant = freshTenant()) {
  const as = (subject: string) => server.token({ tenant, subject, credentials: CREDENTIALS });
  const call = async (method: string, params: object, subject = "writer") =>
    (await server.call(method, params, { token: await as(subject) })).body;
  const add = (id: string, text: string) => call("index/add", { documents: [{ id, text, meta: { kept: true } }] });
  const suspect = async (hitId: string, ...subjects: readonly string[]) => {
    for (const subject of subjects) await call("feedback", { signals: [{ hitId, poisonSuspected: true }] }, subject);
  };
  const ids = async (mode: string, indexVersion?: string) => {
    const body = await call("retrieve", { query: "amber", mode, k: 10, unit: "document", indexVersion });
    return ((body?.result?.hits ?? []) as { readonly chunk: { readonly docId: string } }[])
      .map((hit) => hit.chunk.docId)
      .toSorted();
  };
  const answers = async () => [await ids("dense"), await ids("sparse"), await ids("hybrid")];
  await add("good", "amber is a resin");
  await add("bad", `amber first. ${"One sentence follows another here. ".repeat(8)}`);
  return { tenant, call, add, suspect, ids, answers };
}

const allThree = (...ids: readonly string[]) => [ids, ids, ids];
const countsOf = async (tenant: string) =>
  await db.operator.read(
    compile(
      sql`select c.live_documents as documents, c.live_chunks as chunks, c.live_length as length,
  (select count(*) from pgrcp.chunks k where k.tenant_id = c.tenant_id and k.removed_version is null) as chunk_rows,
  (select sum(terms) from pgrcp.chunks k where k.tenant_id = c.tenant_id and k.removed_version is null)::bigint as terms
from pgrcp.corpora c where c.tenant_id = ${tenant}`,
      (row) => row,
    ),
  );

describe("feedback.poisonSuspected", () => {
  test("callers alone, however many, change nothing: only the command does", async () => {
    const { suspect, answers } = await corpusOf();

    await suspect("bad#1", "a", "b", "c", "d", "e");

    expect(await answers()).toEqual(allThree("bad", "good"));
  });

  test("of one principal less than the operator's number is nothing, and of one principal twice counts once", async () => {
    const { tenant, suspect, answers } = await corpusOf();
    await suspect("bad#0", "a", "b", "b");
    await suspect("bad#1", "b");

    expect(await quarantine(tenant)).toEqual([]);

    expect(await answers()).toEqual(allThree("bad", "good"));
  });

  test("of as many principals takes the document out of every answer and count, whichever chunks they named", async () => {
    const { tenant, suspect, answers, call } = await corpusOf();
    const before = (await call("retrieve", { query: "amber" }))?.result?.indexVersion;
    const [whole] = await countsOf(tenant);
    const chunks = Number(whole?.chunks) - 1;
    expect(chunks).toBeGreaterThan(1);
    await suspect("bad#0", "a");
    await suspect("bad#1", "b");
    await suspect("bad", "c");
    const documents = [{ id: "bad", callers: 3 }];

    expect(await quarantine(tenant, { dryRun: true })).toEqual([{ tenant, corpus: "default", documents, done: null }]);
    expect(await answers()).toEqual(allThree("bad", "good"));
    expect(await quarantine(tenant)).toEqual([{ tenant, corpus: "default", documents, done: { chunks, versions: 1 } }]);

    expect(await answers()).toEqual(allThree("good"));
    // "amber is a resin" is four terms of one chunk. A quarantined document is still the corpus's.
    expect(await countsOf(tenant)).toEqual([{ documents: 2, chunks: 1, length: 4, chunk_rows: 1, terms: 4 }]);
    const pinned = await call("retrieve", { query: "amber", indexVersion: before });
    expect(pinned?.error?.code).toBe(-32010);
    const shown = await showDocument(db.operator, { tenant, corpus: "default" }, "bad");
    expect(shown).toMatchObject({ quarantined: true, chunks: 0, subject: "writer", meta: { kept: true }, version: 3 });
    expect(shown.text).toMatch(/^amber first\. One sentence/);
    const audit = await Array.fromAsync(listAudit(db.operator, tenant, "2000-01-01T00:00:00Z"));
    expect(audit.at(-1)).toMatchObject({ action: "quarantine", subject: "operator", count: 1, version: 3 });
    expect(await quarantine(tenant)).toEqual([]);
  });

  test("leaves versions that never held the text to be asked for", async () => {
    const { tenant, suspect, add, ids, call } = await corpusOf();
    const before = (await call("retrieve", { query: "amber" }))?.result?.indexVersion as string;
    await add("late", "amber too");
    await suspect("late", "a", "b", "c");

    expect(await quarantine(tenant)).toMatchObject([{ done: { chunks: 1, versions: 1 } }]);

    expect(await ids("hybrid", before)).toEqual(["bad", "good"]);
  });

  test("of another tenant that names the same id changes nothing", async () => {
    const [mine, theirs] = [await corpusOf(), await corpusOf()];
    await mine.suspect("bad", "a", "b");
    await theirs.suspect("bad", "c", "d", "e");

    expect(await quarantine(mine.tenant)).toEqual([]);
    expect(await quarantine(theirs.tenant)).toHaveLength(1);

    expect(await mine.answers()).toEqual(allThree("bad", "good"));
    expect(await theirs.answers()).toEqual(allThree("good"));
  });

  test("counts for the text that was there: one that is written after it is clean", async () => {
    const { tenant, suspect, add, answers } = await corpusOf();
    await suspect("bad", "a", "b", "c");
    await add("bad", "amber as it should be");
    expect(await quarantine(tenant)).toEqual([]);

    await suspect("bad", "a", "b", "c");
    expect(await quarantine(tenant)).toHaveLength(1);
    await add("bad", "amber once more");

    expect(await quarantine(tenant)).toEqual([]);
    expect(await answers()).toEqual(allThree("bad", "good"));
  });

  test("names the document by its hit: of an id that ends in a number, only the last number is off", async () => {
    const { tenant, suspect, add } = await corpusOf();
    await add("bad#7", "amber of its own");

    await suspect("bad#7#0", "a", "b", "c");

    expect(await quarantine(tenant)).toMatchObject([{ documents: [{ id: "bad#7", callers: 3 }] }]);
  });

  test("takes out the document that a hit of a whole document named, not the one that its id seems to be a chunk of", async () => {
    const { tenant, suspect, add, call } = await corpusOf();
    await add("bad#7", "topaz of its own");
    const found = await call("retrieve", { query: "topaz", mode: "sparse", unit: "document" });
    expect(found?.result?.hits).toMatchObject([{ id: "bad#7#0", chunk: { docId: "bad#7" } }]);

    await suspect("bad#7#0", "a", "b", "c");

    expect(await quarantine(tenant)).toMatchObject([{ documents: [{ id: "bad#7", callers: 3 }] }]);
  });

  test("keeps the document out when its source is revoked and restored", async () => {
    const { tenant, suspect, answers } = await corpusOf();
    await suspect("bad", "a", "b", "c");
    await quarantine(tenant);
    const { source } = await showDocument(db.operator, { tenant, corpus: "default" }, "bad");

    await Array.fromAsync(revokeSource(db.operator, tenant, source));
    expect(await answers()).toEqual(allThree());
    await Array.fromAsync(restoreSource(db.operator, tenant, source));

    expect(await answers()).toEqual(allThree("good"));
    expect(await countsOf(tenant)).toEqual([{ documents: 2, chunks: 1, length: 4, chunk_rows: 1, terms: 4 }]);
  });

  test("past its time counts no longer", async () => {
    const { tenant, suspect } = await corpusOf();
    await suspect("bad", "a", "b", "c");
    await db.admin.query(
      compile(
        sql`update pgrcp_state.feedback set expires_at = now() where tenant_id = ${tenant} and subject = 'c'`,
        (row) => row,
      ),
    );

    expect(await quarantine(tenant)).toEqual([]);
    expect(await quarantine(tenant, { after: 2 })).toHaveLength(1);
  });
});

test("without the operator's number the command refuses, and for all tenants it looks at each", async () => {
  const [one, two] = [await corpusOf(), await corpusOf()];
  for (const { suspect } of [one, two]) await suspect("bad", "a", "b", "c");
  const off = quarantineSuspected(db.operator, undefined, { dryRun: false });
  await expect(Array.fromAsync(off)).rejects.toThrow("feedback.quarantineAfter is not set");

  const rows = await Array.fromAsync(quarantineSuspected(db.operator, AFTER, { dryRun: true }));

  const tenants = rows.map((row) => row.tenant);
  expect(tenants).toEqual(expect.arrayContaining([one.tenant, two.tenant]));
});
