import { afterAll, expect, test } from "vitest";
import { ErrorCode } from "../../src/protocol/errors.ts";
import type { Sql } from "../../src/sql/sql.ts";
import { sql } from "../../src/sql/sql.ts";
import { accessTo } from "../support/access.ts";
import { openTestDatabase } from "../support/database.ts";
import { closeChunks, closeDocument, insertChunk, insertDocument, limits, rows, run, seed } from "./rows.ts";

const { database, operator, admin, close } = await openTestDatabase();
afterAll(close);

let tenants = 0;
/** A tenant of its own with the live document `doc` of version 1. */
async function newTenant(): Promise<string> {
  tenants += 1;
  await seed(operator, `t${tenants}`);
  return `t${tenants}`;
}

const as = (role: "adder" | "deleter", id: string, ...statements: Sql[]) =>
  database.write(role, accessTo(id), limits(), async (transaction) => {
    for (const statement of statements) await transaction.query(run(statement));
  });

const bytes = (hex: string) => new Uint8Array(Buffer.from(hex, "hex"));

const refused = { code: ErrorCode.Unauthorized };

const states = (id: string) =>
  admin.query(
    rows(sql`select 'document' as kind, added_version, removed_version from pgrcp.documents where tenant_id = ${id}
union all select 'chunk', added_version, removed_version from pgrcp.chunks where tenant_id = ${id} order by 1 desc, 2`),
  );

test("the deleter closes a document and its chunks", async () => {
  const id = await newTenant();

  await as("deleter", id, closeDocument(id, "doc", 2), closeChunks(id, "doc", 2));

  expect(await states(id)).toEqual([
    { kind: "document", added_version: 1, removed_version: 2 },
    { kind: "chunk", added_version: 1, removed_version: 2 },
  ]);
});

test("the adder replaces a document and its chunks in one transaction", async () => {
  const id = await newTenant();

  await as(
    "adder",
    id,
    closeDocument(id, "doc", 2),
    insertDocument(id, "doc", 2),
    closeChunks(id, "doc", 2),
    insertChunk(id, "doc", 2, 1),
  );

  expect(await states(id)).toEqual([
    { kind: "document", added_version: 1, removed_version: 2 },
    { kind: "document", added_version: 2, removed_version: null },
    { kind: "chunk", added_version: 1, removed_version: 2 },
    { kind: "chunk", added_version: 2, removed_version: null },
  ]);
});

test("the adder cannot close a document that it does not replace", async () => {
  const id = await newTenant();

  await expect(as("adder", id, closeDocument(id, "doc", 2))).rejects.toMatchObject(refused);
  expect(await states(id)).toEqual([
    { kind: "document", added_version: 1, removed_version: null },
    { kind: "chunk", added_version: 1, removed_version: null },
  ]);
});

test("the adder cannot close chunks of a document that it does not replace", async () => {
  const id = await newTenant();

  await expect(as("adder", id, closeChunks(id, "doc", 2))).rejects.toMatchObject(refused);
});

test("the adder cannot close one document by inserting another", async () => {
  const id = await newTenant();

  const statements = [closeDocument(id, "doc", 2), insertDocument(id, "other", 2)];

  await expect(as("adder", id, ...statements)).rejects.toMatchObject(refused);
});

test("the adder cannot delete by inserting a document that is closed already", async () => {
  const id = await newTenant();

  const statements = [closeDocument(id, "doc", 2), insertDocument(id, "doc", 2, 3)];

  await expect(as("adder", id, ...statements)).rejects.toMatchObject(refused);
});

test("neither writer can reopen or move what is closed", async () => {
  const id = await newTenant();
  await as("deleter", id, closeDocument(id, "doc", 2), closeChunks(id, "doc", 2));
  const where = sql`where tenant_id = ${id} and removed_version = 2`;

  for (const role of ["adder", "deleter"] as const) {
    await as(role, id, sql`update pgrcp.documents set removed_version = null ${where}`);
    await as(role, id, sql`update pgrcp.chunks set removed_version = 3 ${where}`);
  }

  expect(await states(id)).toEqual([
    { kind: "document", added_version: 1, removed_version: 2 },
    { kind: "chunk", added_version: 1, removed_version: 2 },
  ]);
});

test("an open row can become nothing but closed", async () => {
  const id = await newTenant();

  const same = sql`update pgrcp.documents set removed_version = null where tenant_id = ${id}`;

  await expect(as("deleter", id, same)).rejects.toMatchObject(refused);
});

test("each writer records only its own kind of version", async () => {
  const id = await newTenant();
  const version = (action: string) =>
    sql`insert into pgrcp.corpus_versions (tenant_id, corpus, version, token, issuer, subject, action, live_documents, live_chunks, live_length, next_chunk)
values (${id}, 'default', 2, 'v2', 'iss', 'sub', ${action}, 0, 0, 0, 1)`;

  await expect(as("adder", id, version("delete"))).rejects.toMatchObject(refused);
  await expect(as("deleter", id, version("add"))).rejects.toMatchObject(refused);
  await as("deleter", id, version("delete"));
});

test("the deleter cannot insert a document, nor read one's text, title or vector", async () => {
  const id = await newTenant();

  await expect(as("deleter", id, insertDocument(id, "new", 2))).rejects.toMatchObject(refused);
  await expect(as("deleter", id, sql`select body from pgrcp.document_texts`)).rejects.toMatchObject(refused);
  await expect(as("deleter", id, sql`select title from pgrcp.documents`)).rejects.toMatchObject(refused);
  await expect(as("deleter", id, sql`select embedding from pgrcp.chunks`)).rejects.toMatchObject(refused);
});

test("the adder appends to a term's postings, and can neither shorten nor overwrite them", async () => {
  const id = await newTenant();
  const set = (assignments: Sql) => sql`update pgrcp.postings set ${assignments} where tenant_id = ${id}`;
  const posting = rows(sql`select n, packed, wide from pgrcp.postings where tenant_id = ${id}`);

  // The seeded posting is 00001003 with nothing wide.
  await as("adder", id, set(sql`n = 2, packed = packed || '\\x00101003', wide = '\\x0a0b'`));
  const appended = [{ n: 2, packed: bytes("0000100300101003"), wide: bytes("0a0b") }];
  expect(await admin.query(posting)).toEqual(appended);

  for (const damage of [
    sql`n = 0, packed = ''`,
    sql`n = 1, packed = '\\x00001003'`,
    sql`packed = '\\x0010100300001003'`,
    sql`n = 3, packed = '\\x000000000000100300101003'`,
    sql`wide = ''`,
    sql`wide = '\\x0a0c'`,
  ]) {
    await expect(as("adder", id, set(damage))).rejects.toMatchObject(refused);
  }
  expect(await admin.query(posting)).toEqual(appended);
});

test("the operator, who collects what is past retention, may shorten postings", async () => {
  const id = await newTenant();

  await operator.write((transaction) =>
    transaction.query(run(sql`update pgrcp.postings set n = 0, packed = '' where tenant_id = ${id}`)),
  );

  expect(await admin.query(rows(sql`select n from pgrcp.postings where tenant_id = ${id}`))).toEqual([{ n: 0 }]);
});
