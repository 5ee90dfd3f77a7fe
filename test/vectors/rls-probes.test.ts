import { readdirSync, readFileSync } from "node:fs";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TenantId } from "../../src/catalog/corpus.ts";
import { compile, noRows, sql } from "../../src/sql/sql.ts";
import { accessTo } from "../support/access.ts";
import { countEntries } from "../support/count-entries.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { EVERY_FIELD } from "../support/every-field.ts";
import { type Caller, callerOf } from "../support/method-caller.ts";

interface Entry {
  readonly id: string;
  readonly kind: "catalog" | "dynamic" | "scenario";
  readonly name: string;
  readonly role: "superuser" | "read" | "add" | "delete";
  readonly sql: string;
  readonly expect: { readonly rows?: number; readonly output?: string; readonly sqlstate?: string };
}

const file = new URL("data/rls-probes.json", import.meta.url);
const entries: readonly Entry[] = JSON.parse(readFileSync(file, "utf8")).entries;
const of = (kind: Entry["kind"]) => entries.filter((entry) => entry.kind === kind);

const NAMES: Readonly<Record<string, string>> = {
  schema: "pgrcp",
  read: "pgrcp_reader",
  add: "pgrcp_adder",
  delete: "pgrcp_deleter",
  owner: "pgrcp_owner",
  documents: "documents",
};
const named = (sql: string) =>
  sql
    .replaceAll("app.tenant", "pgrcp.tenant_id")
    .replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => NAMES[name] ?? `no such name: ${name}`);

/**
 * Catalogue probes that this schema answers in another way than the model schema: which of their rows may be there, as SQL over
 * `found`, and why.
 */
const ANSWERED_OTHERWISE: Readonly<Record<string, { readonly allowed: string; readonly why: string }>> = {
  "RLS-007": {
    allowed: `exists (select from pg_policies p where (p.schemaname, p.tablename, p.policyname) = (found.schemaname, found.tablename, found.policyname)
      and (p.permissive = 'RESTRICTIVE' or p.roles <@ '{pgrcp_operator,pgrcp_owner}'::name[]))`,
    why: "the operator and the owner work across tenants, under policies for them alone; a restrictive policy can only narrow",
  },
  "RLS-008": {
    allowed: `1 = all (select count(*) from pg_policies p, unnest(p.roles) role where p.schemaname = 'pgrcp'
      and p.tablename = found.tablename and p.permissive = 'PERMISSIVE' group by role)`,
    why: "each login has one permissive policy, its own: what its callers must hold is part of it",
  },
  "RLS-022": {
    allowed: "found.relname in ('corpus_versions', 'idempotency_keys')",
    why: "a delete is a version too, and has a first result: the deleter records both, and policies hold it to that kind",
  },
  "RLS-025": {
    allowed: "found.relname = 'documents'",
    why: "the check stands on tenants, which corpora refers to; the policy lets no runtime login write an empty tenant",
  },
  "RLS-027": {
    allowed: "found.rolname in ('pgrcp_reader', 'pgrcp_adder', 'pgrcp_deleter')",
    why: "each transaction sets statement_timeout to what is left of its call; the writers' roles end an idle transaction",
  },
};

const A_DOCUMENT = (tenant: string, id: string) =>
  `insert into pgrcp.documents (tenant_id, corpus, doc_id, added_version, source, issuer, subject, trust, injection_suspected, quarantined, meta, chunk_count) values ('${tenant}', 'default', '${id}', 9, 's', 'i', 'u', 'untrusted', false, false, '{}', 0)`;
const inTenantA = (statement: string, begin = "begin") =>
  `${begin}; select set_config('pgrcp.tenant_id', 'a', true); ${statement}; rollback;`;
/** Dynamic probes that name columns of the model schema, in this schema's words; the others run as they are. */
const TRANSLATED: Readonly<Record<string, string>> = {
  "RLS-036": inTenantA(A_DOCUMENT("b", "forged")),
  "RLS-037": inTenantA("update pgrcp.documents set tenant_id = 'b' where doc_id = 'a1'"),
  "RLS-038": inTenantA(
    "with u as (update pgrcp.documents set removed_version = 9 where doc_id = 'b1' returning 1) select count(*) from u",
  ),
  "RLS-041": inTenantA("delete from pgrcp.documents where doc_id = 'a1'"),
  "RLS-042": inTenantA(A_DOCUMENT("a", "n")),
  // The reader's transactions are read only; asking for another kind must not help it.
  "RLS-043": inTenantA("update pgrcp.documents set title = 'x'", "begin read write"),
  "RLS-047":
    "prepare s as select string_agg(doc_id, ',' order by doc_id) from pgrcp.documents; begin; select set_config('pgrcp.tenant_id', 'a', true); execute s; commit; begin; select set_config('pgrcp.tenant_id', 'b', true); execute s; commit;",
  "RLS-048":
    "set plan_cache_mode = force_generic_plan; prepare s(text) as select string_agg(doc_id, ',' order by doc_id) from pgrcp.documents where doc_id like $1; begin; select set_config('pgrcp.tenant_id', 'a', true); execute s('%'); commit; begin; select set_config('pgrcp.tenant_id', 'b', true); execute s('%'); commit;",
  "RLS-050": inTenantA(
    "select count(*) from pgrcp.documents where case when json_typeof(meta->'year') = 'number' then (meta->>'year')::numeric > 5 else false end",
  ),
};

let opened: TestDatabase;
let a: Caller;
let b: Caller;
beforeAll(async () => {
  opened = await openTestDatabase({ fields: EVERY_FIELD, database: { poolSize: 1 } });
  [a, b] = [callerOf(opened.database, "a" as TenantId), callerOf(opened.database, "b" as TenantId)];
  await a.add([
    { id: "a1", text: "amber", meta: { year: 2020 } },
    { id: "same", text: "amber" },
  ]);
  await b.add([
    { id: "b1", text: "amber", meta: { year: "abc" } },
    { id: "same", text: "amber" },
  ]);
  await opened.admin.transaction((transaction) => transaction.script("analyze pgrcp.documents"));
});
afterAll(() => opened.close());

countEntries("rls-probes.json", entries);

const url = process.env.PGRCP_TEST_DATABASE_URL;

test("the shared probes are 45; what is answered otherwise, and what is left out, is listed", () => {
  for (const [id, { why }] of Object.entries(ANSWERED_OTHERWISE)) console.info(`answered otherwise: ${id}: ${why}`);
  for (const { id, sql } of entries.filter(({ id }) => id in TRANSLATED))
    console.info(`translated: ${id}: ${sql}\n  here: ${TRANSLATED[id]}`);
  if (url === undefined) {
    const ids = of("dynamic").map(({ id }) => id);
    console.info(`left out, because the embedded database has no logins to open a connection with: ${ids.join(", ")}`);
  }
  expect([of("catalog").length, of("dynamic").length, of("scenario").length]).toEqual([22, 19, 4]);
});

describe("the catalogue has no row that breaks a rule", () => {
  test.each(of("catalog").map((entry) => [entry.id, entry.name, entry] as const))(
    "%s %s",
    async (_id, _name, entry) => {
      const allowed = ANSWERED_OTHERWISE[entry.id]?.allowed ?? "false";
      const text = `select * from (${named(entry.sql)}) found where not (${allowed})`;

      const rows = await opened.admin.query({ text, values: [], decode: (row) => row });

      expect(rows).toHaveLength(entry.expect.rows ?? 0);
    },
  );

  test("the deleter's versions are of its own kind, and nobody writes a document without a tenant", async () => {
    const limits = { signal: new AbortController().signal, timeoutMs: 10_000 };
    const attempt = (role: "adder" | "deleter", tenant: string, text: string) =>
      opened.database.write(role, accessTo(tenant), limits, (transaction) =>
        transaction.query({ text, values: [], decode: (row) => row }),
      );
    const version = (action: string) =>
      `insert into pgrcp.corpus_versions (tenant_id, corpus, version, token, issuer, subject, action, live_documents, live_chunks, live_length, next_chunk) values ('a', 'default', 9, 'nine', 'i', 's', '${action}', 0, 0, 0, 0)`;
    const refused = { code: -32012 };

    await expect(attempt("deleter", "a", version("add"))).rejects.toMatchObject(refused);
    await expect(attempt("adder", "a", version("delete"))).rejects.toMatchObject(refused);
    for (const tenant of ["", "a"])
      await expect(attempt("adder", tenant, A_DOCUMENT("", "nameless"))).rejects.toMatchObject(refused);
  });
});

/** What psql prints with -XqAt, or the SQLSTATE. */
async function asLogin(role: Entry["role"], sql: string): Promise<Entry["expect"]> {
  const { database } = opened.config;
  const login = { read: database.reader, add: database.adder, delete: database.deleter, superuser: undefined }[role];
  if (login === undefined) throw new Error("a dynamic probe runs as a runtime login");
  const address = new URL(database.url ?? "");
  [address.username, address.password] = [login.user, login.password ?? ""];
  const types = { getTypeParser: () => (text: unknown) => text };
  const client = new pg.Client({ connectionString: address.href, types });
  await client.connect();
  // The probes know of no credentials: their logins hold what the server's hold.
  await client.query(`set pgrcp.credentials = '${role}'`);
  try {
    const lists: { readonly rows: readonly (readonly unknown[])[] }[] = [];
    // One at a time, as psql sends them: together they would be one transaction.
    for (const text of sql.split(";").filter((one) => one.trim() !== ""))
      lists.push(await client.query({ text, rowMode: "array" }));
    const lines = lists.flatMap(({ rows }) => rows.map((row) => row.map((value) => value ?? "").join("|")));
    return { output: lines.join("\n").trim() };
  } catch (error) {
    return { sqlstate: String((error as { code?: unknown }).code) };
  } finally {
    await client.end();
  }
}

const onPostgres = () => {
  test.each(of("dynamic").map((entry) => [entry.id, entry.name, entry] as const))(
    "%s %s",
    async (_id, _name, entry) => {
      expect(await asLogin(entry.role, TRANSLATED[entry.id] ?? named(entry.sql))).toEqual(entry.expect);
    },
  );
};
if (url !== undefined) describe("a login of its own, on Postgres", onPostgres);

const DOC_IDS = {
  text: "select doc_id from pgrcp.documents order by doc_id",
  values: [],
  decode: ({ doc_id }: { readonly doc_id?: unknown }) => doc_id,
};
const inTime = (timeoutMs: number) => ({ signal: new AbortController().signal, timeoutMs });
/** What whoever is lent the adders' one connection next can see as tenant b. */
const seenByB = () =>
  opened.database.write("adder", accessTo("b"), inTime(10_000), (transaction) => transaction.query(DOC_IDS));

describe("scenarios", () => {
  test("RLS-057 work that throws in its transaction leaves no tenant on the connection", async () => {
    const handler = opened.database.write("adder", accessTo("a"), inTime(10_000), async (transaction) => {
      expect(await transaction.query(DOC_IDS)).toEqual(["a1", "same"]);
      throw new Error("before the commit");
    });
    await expect(handler).rejects.toThrow("before the commit");
    expect(await seenByB()).toEqual(["b1", "same"]);
  });

  // The embedded database's statements are not to be stopped from outside, and it has no connections to keep apart.
  if (url !== undefined)
    test("RLS-059 a statement that runs past its time is stopped, and its connection is not lent again", async () => {
      const pids = () =>
        opened.admin.query({
          text: "select pid, query from pg_stat_activity where usename = 'pgrcp_adder' and datname = current_database()",
          values: [],
          decode: (row) => row,
        });
      await seenByB();
      const before = await pids();
      const slow = opened.database.write("adder", accessTo("a"), inTime(300), (transaction) =>
        transaction.query(compile(sql`select pg_sleep(20)`, noRows)),
      );
      await expect(slow).rejects.toMatchObject({ code: -32014 });
      const startedAt = performance.now();
      expect(await seenByB()).toEqual(["b1", "same"]);
      expect(performance.now() - startedAt).toBeLessThan(5_000);
      const after = await pids();
      expect(JSON.stringify(after)).not.toContain("pg_sleep");
      expect(after.map(({ pid }) => pid)).not.toEqual(before.map(({ pid }) => pid));
    });

  test("RLS-058 every setting is for the transaction alone", () => {
    const folder = new URL("../../src/", import.meta.url);
    const settings = readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .flatMap((name) => readFileSync(new URL(name, folder), "utf8").split("set_config(").slice(1))
      // The third argument: nothing but parameters, names and calls comes before it.
      .map((rest) => /^[^;`]*?,\s*(true|false)\s*\)/.exec(rest)?.[1]);
    expect(settings.length).toBeGreaterThan(4);
    expect(new Set(settings)).toEqual(new Set(["true"]));
  });

  test("RLS-062 a neighbour's documents with the query's term change neither scores nor order", async () => {
    const answers = () => Promise.all(["dense", "sparse", "hybrid"].map((mode) => a.hits({ query: "amber", mode })));
    const before = await answers();
    for (let call = 0; call < 3; call++)
      await b.add(Array.from({ length: 100 }, (_, n) => ({ id: `n${call}-${n}`, text: "amber ".repeat(1 + (n % 9)) })));
    expect(before.flat()).toHaveLength(6);
    expect(await answers()).toEqual(before);
  });
});
