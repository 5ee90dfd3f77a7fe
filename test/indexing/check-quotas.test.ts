import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CorpusName, TenantId } from "../../src/catalog/corpus.ts";
import { purgeDocuments } from "../../src/maintenance/purge.ts";
import { restoreSource, revokeSource } from "../../src/maintenance/sources.ts";
import { listTenants, setQuotas } from "../../src/maintenance/tenants.ts";
import { createCorpus } from "../../src/sql/corpora.ts";
import { createTenant } from "../../src/sql/tenants.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { callerOf, freshTenant } from "../support/method-caller.ts";
import { testEmbeddingModel } from "../support/test-embedding.ts";

let opened: TestDatabase;
beforeAll(async () => {
  opened = await openTestDatabase();
});
afterAll(() => opened.close());

const THREE = { quotas: { documents: 3 } };
const caller = (tenantId: TenantId, config: object, corpus?: string) =>
  callerOf(opened.database, tenantId, { config, ...(corpus !== undefined && { corpus }) });
const named = (...ids: readonly string[]) => ids.map((id) => ({ id, text: `amber ${id}` }));
const over = (detail: string) => ({ code: -32013, data: { detail } });
const noDocuments = (limit: number, room: number) =>
  over(`the tenant may keep ${limit} documents (quotas.documents); there is room for ${room} more`);
const noBytes = (limit: number, room: number) =>
  over(`the tenant may keep ${limit} bytes of text (quotas.textBytes); there is room for ${room} more`);
const keptBy = async (tenantId: TenantId) => {
  const row = (await listTenants(opened.operator)).find(({ tenant }) => tenant === tenantId);
  return [row?.documents, row?.textBytes];
};

async function withCorpora(...names: readonly string[]): Promise<TenantId> {
  const tenantId = freshTenant();
  const { space } = testEmbeddingModel();
  const settings = { tenantId, space, language: "english", screening: "flag", placement: "shared" } as const;
  await opened.operator.write(async (transaction) => {
    await transaction.query(createTenant(tenantId));
    for (const name of names) await transaction.query(createCorpus({ ...settings, name: name as CorpusName }));
  });
  return tenantId;
}

describe("a quota of documents", () => {
  test("is full to the last document; one more is refused whole, naming the quota and the room", async () => {
    const { add, ids } = caller(freshTenant(), THREE);
    await add(named("a", "b"));

    await expect(add(named("c", "d"))).rejects.toMatchObject(noDocuments(3, 1));

    expect((await ids({ query: "amber" })).toSorted()).toEqual(["a", "b"]);
    await add(named("c"));
    await expect(add(named("d"))).rejects.toMatchObject(noDocuments(3, 0));
  });

  test("counts what an add replaces as gone, and what is deleted", async () => {
    const writer = caller(freshTenant(), THREE);
    await writer.add(named("a", "b", "c"));
    await writer.add(named("b", "c"));
    await expect(writer.add(named("c", "d"))).rejects.toMatchObject(noDocuments(3, 0));

    await writer.delete(["a"]);

    await writer.add(named("c", "d"));
  });

  test("is one for all corpora of its tenant, and no other tenant's", async () => {
    const tenantId = await withCorpora("one", "two");
    await caller(tenantId, THREE, "one").add(named("a", "b"));

    await expect(caller(tenantId, THREE, "two").add(named("a", "b"))).rejects.toMatchObject(noDocuments(3, 1));

    await caller(freshTenant(), THREE).add(named("a", "b", "c"));
  });

  test("is not passed by adds to several corpora at the same time", async () => {
    const corpora = ["one", "two", "three", "four"];
    const tenantId = await withCorpora(...corpora);

    const added = await Promise.allSettled(
      corpora.map((corpus) => caller(tenantId, THREE, corpus).add(named("a", "b"))),
    );

    expect(added.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const one of added) if (one.status === "rejected") expect(one.reason).toMatchObject(noDocuments(3, 1));
    expect(await keptBy(tenantId)).toEqual([2, 14]);
  });
});

describe("a quota of bytes of text", () => {
  test("counts UTF-8, and a replacement by its difference; what shrinks passes", async () => {
    const writer = caller(freshTenant(), { quotas: { textBytes: 10 } });
    await writer.add([{ id: "a", text: "\u{1F600} é" }]); // 4 + 1 + 2

    await expect(writer.add([{ id: "b", text: "four" }])).rejects.toMatchObject(noBytes(10, 3));
    await writer.add([{ id: "b", text: "for" }]);
    await expect(writer.add([{ id: "b", text: "four" }])).rejects.toMatchObject(noBytes(10, 0));
    await writer.add([{ id: "a", text: "a" }]);
    await writer.add([{ id: "b", text: "four" }]);
  });

  test("goes by what is live after documents were replaced, revoked, restored and purged", async () => {
    const tenantId = freshTenant();
    const writer = caller(tenantId, {});
    await writer.add([{ id: "a", text: "12345" }]);
    await writer.add([
      { id: "a", text: "123" },
      { id: "b", text: "1234567" },
    ]);
    expect(await keptBy(tenantId)).toEqual([2, 10]);
    await Array.fromAsync(revokeSource(opened.operator, tenantId, "api"));
    expect(await keptBy(tenantId)).toEqual([0, 0]);
    await Array.fromAsync(restoreSource(opened.operator, tenantId, "api"));
    expect(await keptBy(tenantId)).toEqual([2, 10]);
    await purgeDocuments(opened.operator, { tenant: tenantId, corpus: "default" }, ["a"]);
    expect(await keptBy(tenantId)).toEqual([1, 7]);
    await writer.delete(["b"]);
    expect(await keptBy(tenantId)).toEqual([0, 0]);
  });
});

describe("a tenant's own quotas", () => {
  test("stand in for both that are configured, until those hold again", async () => {
    const tenantId = freshTenant();
    const writer = caller(tenantId, { quotas: { documents: 1, textBytes: 7 } });
    await writer.add(named("a"));

    await setQuotas(opened.operator, tenantId, { documents: 2, textBytes: null });
    await writer.add(named("b"));
    await expect(writer.add(named("c"))).rejects.toMatchObject(noDocuments(2, 0));
    await setQuotas(opened.operator, tenantId, { documents: null, textBytes: null });
    await writer.add(named("c"));
    await setQuotas(opened.operator, tenantId, null);
    await expect(writer.add(named("d"))).rejects.toMatchObject(noDocuments(1, 0));
  });

  test("below what there is refuse what grows and nothing else", async () => {
    const tenantId = freshTenant();
    const writer = caller(tenantId, {});
    await writer.add(named("a", "b"));
    await setQuotas(opened.operator, tenantId, { documents: 0, textBytes: 0 });

    await expect(writer.add(named("c"))).rejects.toMatchObject(noDocuments(0, 0));
    await expect(writer.add([{ id: "a", text: "longer than it was" }])).rejects.toMatchObject(noBytes(0, 0));
    await writer.add(named("a"));
  });
});
