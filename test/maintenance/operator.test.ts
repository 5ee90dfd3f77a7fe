import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { FilterFields } from "../../src/catalog/corpus.ts";
import { listAudit } from "../../src/maintenance/audit.ts";
import { createCorpus, listCorpora, setLanguage } from "../../src/maintenance/corpora.ts";
import { exportDocuments, listDocuments, showDocument } from "../../src/maintenance/documents.ts";
import { listFeedback } from "../../src/maintenance/feedback.ts";
import { createTenant, listTenants } from "../../src/maintenance/tenants.ts";
import { parseRequestPath } from "../../src/rpc/request-path.ts";
import { compile, noRows, sql } from "../../src/sql/sql.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";

const space = { identity: "test@4", dimension: 4 };
const loadSpace = async () => space;
const fields: FilterFields = new Map([
  ["year", { name: "year", type: "int", array: false, column: "f_year" }],
  ["tags", { name: "tags", type: "keyword", array: true, column: "f_tags" }],
]);

let db: TestDatabase;
beforeAll(async () => {
  db = await openTestDatabase({ fields });
});
afterAll(() => db.close());

interface Stored {
  readonly id: string;
  readonly text: string;
  readonly meta?: object;
  readonly title?: string;
  readonly year?: number;
  readonly removed?: boolean;
  readonly quarantined?: boolean;
  readonly source?: string;
}

/** Writes rows as a server does, one chunk each; a quarantined document has none. */
async function store(tenant: string, corpus: string, documents: readonly Stored[]): Promise<void> {
  await db.operator.write(async (transaction) => {
    for (const [index, document] of documents.entries()) {
      const { id, text, meta = {}, title = null, year = null, removed, quarantined = false, source = "api" } = document;
      const closed = removed === true ? 2 : null;
      await transaction.query(
        compile(
          sql`insert into pgrcp.documents (tenant_id, corpus, doc_id, added_version, removed_version, title, source, issuer, subject, trust, injection_suspected, quarantined, meta, chunk_count)
values (${tenant}, ${corpus}, ${id}, 1, ${closed}, ${title}, ${source}, 'i', 's', 'untrusted', ${quarantined}, ${quarantined}, ${JSON.stringify(meta)}::json, 1)`,
          noRows,
        ),
      );
      await transaction.query(
        compile(
          sql`insert into pgrcp.document_texts (tenant_id, corpus, doc_id, added_version, body) values (${tenant}, ${corpus}, ${id}, 1, ${text})`,
          noRows,
        ),
      );
      if (quarantined) continue;
      await transaction.query(
        compile(
          sql`insert into pgrcp.chunks (tenant_id, corpus, placement, chunk_no, doc_id, ordinal, added_version, removed_version, terms, start_offset, end_offset, embedding, f_year)
values (${tenant}, ${corpus}, 'shared', ${index}, ${id}, 0, 1, ${closed}, 1, 0, 1, '[1,0,0,0]', ${year})`,
          noRows,
        ),
      );
    }
  });
}

async function newCorpus(tenant: string, corpus = "default"): Promise<void> {
  await createTenant(db.operator, db.config, tenant);
  await createCorpus(db.operator, db.config, { tenant, corpus }, loadSpace);
}

describe("tenants", () => {
  test("a tenant is made once, and making it again is no error", async () => {
    expect(await createTenant(db.operator, db.config, "acme")).toBe(true);
    expect(await createTenant(db.operator, db.config, "acme")).toBe(false);

    const [acme] = (await listTenants(db.operator)).filter((row) => row.tenant === "acme");
    expect(acme).toMatchObject({ corpora: 0, documents: 0, chunks: 0 });
    expect(acme?.createdAt).toMatch(/^\d{4}-\d\d-\d\dT/);
  });

  test.each(["", "Acme", "a b", "-a", "a\n", "a".repeat(64)])(
    "%j is refused, because no token could carry it",
    async (id) => {
      await expect(createTenant(db.operator, db.config, id)).rejects.toMatchObject({ name: "Refusal", exitCode: 2 });
    },
  );
});

describe("corpora", () => {
  test("a corpus takes the configured defaults and the model's space", async () => {
    await createTenant(db.operator, db.config, "defaults");

    const row = await createCorpus(db.operator, db.config, { tenant: "defaults", corpus: "default" }, loadSpace);

    expect(row).toMatchObject({
      tenant: "defaults",
      corpus: "default",
      language: "english",
      screening: "flag",
      model: "test@4",
      dimension: 4,
      placement: "shared",
      version: 0,
      documents: 0,
      chunks: 0,
    });
  });

  test("language and screening are kept, and a list names one tenant's corpora or all", async () => {
    await createTenant(db.operator, db.config, "many");
    const make = (corpus: string) =>
      createCorpus(
        db.operator,
        db.config,
        { tenant: "many", corpus, language: "german", screening: "refuse" },
        loadSpace,
      );
    await make("b");
    await make("a");

    const mine = await listCorpora(db.operator, "many");
    expect(mine.map((row) => [row.corpus, row.language, row.screening])).toEqual([
      ["a", "german", "refuse"],
      ["b", "german", "refuse"],
    ]);
    expect((await listCorpora(db.operator, undefined)).length).toBeGreaterThan(2);
  });

  test("tenants and corpora are listed with what is live in them", async () => {
    await newCorpus("counted");
    await newCorpus("counted", "notes");
    await db.operator.write((transaction) =>
      transaction.query(
        compile(
          sql`update pgrcp.corpora set live_documents = 2, live_text_bytes = 9, live_chunks = 5, version = 1 where tenant_id = 'counted' and corpus = 'notes'`,
          noRows,
        ),
      ),
    );

    const tenants = (await listTenants(db.operator)).filter(({ tenant }) => tenant === "counted");
    const corpora = await listCorpora(db.operator, "counted");

    expect(tenants).toMatchObject([{ corpora: 2, documents: 2, textBytes: 9, chunks: 5, ownQuotas: null }]);
    expect(corpora.map(({ corpus, version, documents, chunks }) => [corpus, version, documents, chunks])).toEqual([
      ["default", 0, 0, 0],
      ["notes", 1, 2, 5],
    ]);
  });

  test.each([
    ["a", true],
    ["0-_", true],
    ["a".repeat(63), true],
    ["rcp", true],
    ["a".repeat(64), false],
    ["", false],
    ["-a", false],
    ["_a", false],
    ["A", false],
    ["ä", false],
    ["a.b", false],
    ["a/b", false],
    ["a b", false],
    ["a\n", false],
    ["%61", false],
  ])("a corpus can be named %j and stand in a path: %s", async (corpus, allowed) => {
    await createTenant(db.operator, db.config, "namer");

    const made = await createCorpus(db.operator, db.config, { tenant: "namer", corpus }, loadSpace).then(
      () => true,
      (error: unknown) => {
        expect(error).toMatchObject({ name: "Refusal", message: "no path can carry this corpus name" });
        return false;
      },
    );

    expect([made, parseRequestPath(`/corpora/${corpus}/rcp`)?.corpus]).toEqual([allowed, allowed ? corpus : undefined]);
  });

  test("a corpus that is there, a bad name, an unknown tenant and an unknown language are refused", async () => {
    await newCorpus("strict");
    const make = (settings: object) =>
      createCorpus(db.operator, db.config, { tenant: "strict", corpus: "x", ...settings }, loadSpace);

    await expect(make({ corpus: "default" })).rejects.toThrow(/there already, with language english/);
    await expect(make({ corpus: "A/b" })).rejects.toThrow(/name/);
    await expect(make({ tenant: "nobody" })).rejects.toThrow(/no such tenant/);
    await expect(make({ language: "klingon" })).rejects.toMatchObject({
      remedy: /^choose one of .*english, esperanto/,
    });
    await expect(make({ language: "Germann" })).rejects.toMatchObject({ remedy: /^did you mean german\? / });
    await expect(listCorpora(db.operator, "nobody")).rejects.toThrow(/no such tenant/);
  });

  test("a corpus that was never written to takes another language, and that is on record", async () => {
    await newCorpus("speaker");

    const row = await setLanguage(db.operator, { tenant: "speaker", corpus: "default", language: "french" });

    expect(row).toMatchObject({ corpus: "default", language: "french" });
    const records = await Array.fromAsync(listAudit(db.operator, "speaker", "2000-01-01T00:00:00Z"));
    expect(records.at(-1)).toMatchObject({ action: "set-language", corpus: "default", detail: "french" });
  });

  test("one that was written to keeps its language, though it is empty again, and the refusal names the way out", async () => {
    await newCorpus("settled");
    await db.operator.write((transaction) =>
      transaction.query(compile(sql`update pgrcp.corpora set version = 2 where tenant_id = 'settled'`, noRows)),
    );
    const set = (settings: object) =>
      setLanguage(db.operator, { tenant: "settled", corpus: "default", language: "french", ...settings });

    await expect(set({})).rejects.toMatchObject({
      message: "the corpus was already written to, with language english",
      remedy: /corpora create --language french, .*documents export/,
    });
    await expect(set({ language: "frensh" })).rejects.toMatchObject({ remedy: /^did you mean french\? / });
    await expect(set({ corpus: "nothing" })).rejects.toThrow(/no such corpus/);
    await expect(set({ tenant: "nobody" })).rejects.toThrow(/no such tenant/);
    expect(await listCorpora(db.operator, "settled")).toMatchObject([{ language: "english" }]);
  });
});

describe("documents", () => {
  test("a list has the live documents of this corpus alone, in byte order, and can be narrowed", async () => {
    await newCorpus("lister");
    await newCorpus("lister", "other");
    await newCorpus("stranger");
    await store("lister", "default", [
      { id: "b", text: "t", title: "B", source: "crawler" },
      { id: "\u{10000}", text: "t" },
      { id: "\uffff", text: "t" },
      { id: "a", text: "t", quarantined: true },
      { id: "gone", text: "t", removed: true },
    ]);
    await store("lister", "other", [{ id: "o", text: "t" }]);
    await store("stranger", "default", [{ id: "s", text: "t" }]);
    const ids = async (more: object = {}) =>
      (await Array.fromAsync(listDocuments(db.operator, { tenant: "lister", corpus: "default", ...more }))).map(
        (row) => row.id,
      );

    expect(await ids()).toEqual(["a", "b", "\uffff", "\u{10000}"]);
    expect(await ids({ limit: 2 })).toEqual(["a", "b"]);
    expect(await ids({ source: "crawler" })).toEqual(["b"]);
    expect(await ids({ quarantined: true })).toEqual(["a"]);
    expect(await ids({ suspected: true })).toEqual(["a"]);
  });

  test("what does not fit a field's type is listed by that field, and a missing or null value fits", async () => {
    await newCorpus("misfits");
    await store("misfits", "default", [
      { id: "fits", text: "t", meta: { year: 2024 }, year: 2024 },
      { id: "text", text: "t", meta: { year: "2024" } },
      { id: "null", text: "t", meta: { year: null } },
      { id: "none", text: "t", meta: { other: 1 } },
      { id: "list", text: "t", meta: { year: [1] } },
    ]);
    const listing = { tenant: "misfits", corpus: "default" };

    const unfit = await Array.fromAsync(listDocuments(db.operator, { ...listing, unfit: "year" }));

    expect(unfit.map((row) => row.id)).toEqual(["list", "text"]);
    await expect(Array.fromAsync(listDocuments(db.operator, { ...listing, unfit: "nope" }))).rejects.toThrow(
      /filter field/,
    );
  });

  test("one document is shown whole", async () => {
    await newCorpus("shower");
    await store("shower", "default", [{ id: "a", text: "the text", title: "T", meta: { title: "T", x: [1] } }]);
    const address = { tenant: "shower", corpus: "default" };

    expect(await showDocument(db.operator, address, "a")).toMatchObject({
      id: "a",
      title: "T",
      text: "the text",
      meta: { title: "T", x: [1] },
      source: "api",
      issuer: "i",
      subject: "s",
      tokenId: null,
      trust: "untrusted",
      version: 1,
      chunks: 1,
    });
    await expect(showDocument(db.operator, address, "b")).rejects.toThrow(/no such document/);
    await expect(showDocument(db.operator, { ...address, corpus: "c" }, "a")).rejects.toThrow(/no such corpus/);
  });

  test("an export has every live document in import's shape, over more than one piece", async () => {
    await newCorpus("exporter");
    const texts = Array.from({ length: 120 }, (_, i) => `text ${i} \u0000é\u2028\n`.replace("\u0000", "\ufffd"));
    await store("exporter", "default", [
      ...texts.map((text, i) => ({ id: `d${String(i).padStart(3, "0")}`, text, meta: { z: i, a: { n: null } } })),
      { id: "gone", text: "t", removed: true },
      { id: "quarantined", text: "q", quarantined: true, title: "Q", meta: { title: "Q" } },
    ]);

    const exported = await Array.fromAsync(exportDocuments(db.operator, { tenant: "exporter", corpus: "default" }));

    expect(exported).toHaveLength(121);
    expect(JSON.stringify(exported[7])).toBe(
      JSON.stringify({ id: "d007", text: "text 7 \ufffdé\u2028\n", meta: { z: 7, a: { n: null } } }),
    );
    expect(exported.at(-1)).toEqual({ id: "quarantined", title: "Q", text: "q", meta: { title: "Q" } });
  });
});

describe("feedback", () => {
  const signal = (place: number, subject: string, hitId: string, said: Readonly<Record<string, unknown>>, days = 1) =>
    compile(
      sql`insert into pgrcp_state.feedback (tenant_id, call_id, place, corpus, issuer, subject, client, hit_id, used, helpful, reward, injection_suspected, expires_at)
select 'heard', '00000000-0000-4000-8000-000000000001', ${place}, 'default', 'i', ${subject}, 'c', ${hitId}, used, helpful, reward, injection_suspected, now() + make_interval(days => ${days}::int)
from json_populate_record(null::pgrcp_state.feedback, ${JSON.stringify(said)}::json)`,
      noRows,
    );

  test("is listed by hit, and counts callers: whoever speaks often has one vote, and one mean", async () => {
    await createTenant(db.operator, db.config, "heard");
    await db.operator.write(async (transaction) => {
      const signals = [
        signal(1, "a", "liked", { used: true, helpful: true, reward: 1 }),
        signal(2, "a", "liked", { used: true, helpful: true, reward: 0 }),
        signal(3, "b", "liked", { helpful: false, reward: -0.5 }),
        signal(4, "b", "feared", { injection_suspected: true }),
        signal(5, "c", "mentioned", {}),
        signal(6, "c", "past its time", { injection_suspected: true }, -1),
      ];
      for (const one of signals) await transaction.query(one);
    });

    const none = {
      poisonSuspected: 0,
      injectionSuspected: 0,
      used: 0,
      cited: 0,
      helpful: 0,
      unhelpful: 0,
      reward: null,
    };
    const common = { corpus: "default", lastAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) };
    // (1 + 0) / 2 of one caller and -0.5 of the other.
    const liked = { signals: 3, callers: 2, used: 1, helpful: 1, unhelpful: 1, reward: 0 };
    const all = [
      { ...common, ...none, hitId: "feared", signals: 1, callers: 1, injectionSuspected: 1 },
      { ...common, ...none, hitId: "liked", ...liked },
      { ...common, ...none, hitId: "mentioned", signals: 1, callers: 1 },
    ];
    expect(await listFeedback(db.operator, "heard", 10)).toEqual(all);
    expect(await listFeedback(db.operator, "heard", 1)).toEqual(all.slice(0, 1));
    await expect(listFeedback(db.operator, "unheard", 10)).rejects.toThrow("there is no such tenant");
  });
});
