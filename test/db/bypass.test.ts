import { randomBytes } from "node:crypto";
import { afterAll, describe, expect, test } from "vitest";
import type { Finding } from "../../src/db/finding.ts";
import { examine } from "../../src/db/self-test.ts";
import { sql } from "../../src/sql/sql.ts";
import { openTestDatabase } from "../support/database.ts";
import { rows } from "./rows.ts";

const { admin, database, close } = await openTestDatabase();
afterAll(close);

const script = (text: string) => admin.transaction((transaction) => transaction.script(text));

/** What is found beside what is found of this database anyway, such as the age of its pgvector. */
async function findings(trustedRoutines: readonly string[] = []): Promise<readonly Finding[]> {
  const checks = await examine(database, new Map(), trustedRoutines);
  return checks.filter(({ name }) => name !== "versions").flatMap((check) => check.findings);
}
const found = async (trustedRoutines: readonly string[] = []) =>
  (await findings(trustedRoutines)).map(({ severity, line }) => `${severity}: ${line}`);

/** Another application's login, in the same database; roles belong to the cluster. */
const OTHER = `pgrcptest_${randomBytes(4).toString("hex")}`;
const [{ user: OWNER } = { user: "" }] = await admin.query(rows<{ user: string }>(sql`select current_user as "user"`));
const DEFINER = "language sql security definer";

const definer = (routine: string, owner = OWNER, callers = "pgrcp_adder, pgrcp_deleter, pgrcp_reader") =>
  `error: ${callers} may call ${routine}, which runs with the rights of ${owner}, whom row level security does not hold`;
const view = (severity: string, name: string) =>
  `${severity}: the view ${name} reads tenants' rows with its owner's rights, not with those of who asks`;
const stray = (child: string, parent: string) =>
  `error: ${child} is a child of ${parent}, and only one of them is pgrcp's: a query of the parent asks no policy of the child`;
const leakproof = (severity: string, routine: string) =>
  `${severity}: ${routine} is marked leakproof: Postgres may run it on rows before a policy has judged them`;

/** What somebody with power does to a database, what undoes it, and what is found of it. */
const DAMAGE = [
  [
    "a SECURITY DEFINER function of a superuser that everybody may call",
    `create function public.peek() returns bigint ${DEFINER} as 'select count(*) from pgrcp.documents'`,
    "drop function public.peek()",
    [definer("public.peek()")],
  ],
  [
    "a SECURITY DEFINER procedure for one login",
    `create procedure public.poke(tenant text) ${DEFINER} as 'delete from pgrcp.documents where tenant_id = tenant';
revoke execute on procedure public.poke(text) from public; grant execute on procedure public.poke(text) to pgrcp_reader`,
    "drop procedure public.poke(text)",
    [definer("public.poke(IN tenant text)", OWNER, "pgrcp_reader")],
  ],
  [
    "a SECURITY DEFINER function of another login of the server",
    `create function public.peek() returns bigint ${DEFINER} as 'select 1::bigint'; alter function public.peek() owner to pgrcp_adder`,
    "drop function public.peek()",
    [definer("public.peek()", "pgrcp_adder", "pgrcp_deleter, pgrcp_reader")],
  ],
  [
    "a view with its owner's rights",
    "create view public.titles as select title from pgrcp.documents",
    "drop view public.titles",
    [view("warning", "public.titles")],
  ],
  [
    "a view with its owner's rights that a login may read",
    `create view public."All titles" as select title from pgrcp.documents; grant select (title) on public."All titles" to pgrcp_reader`,
    `drop view public."All titles"`,
    [view("error", `public."All titles"`)],
  ],
  [
    "a view with its owner's rights on one with the caller's",
    `create view public.inner_titles with (security_invoker) as select title from pgrcp.documents;
create view public.outer_titles with (security_invoker = off) as select * from public.inner_titles`,
    "drop view public.outer_titles; drop view public.inner_titles",
    [view("warning", "public.outer_titles")],
  ],
  [
    "a materialized view",
    "create materialized view public.kept as select client from pgrcp_state.sessions; grant select on public.kept to public",
    "drop materialized view if exists public.kept",
    ["error: the materialized view public.kept holds tenants' rows, which no policy guards there"],
  ],
  [
    "a partition in another schema",
    "create table public.chunks_far partition of pgrcp.chunks for values in ('far')",
    "drop table public.chunks_far",
    [stray("public.chunks_far", "pgrcp.chunks")],
  ],
  [
    "a tenant table that is made a child of another table",
    "create table public.everything (title text); alter table pgrcp.documents inherit public.everything",
    "alter table pgrcp.documents no inherit public.everything; drop table public.everything",
    [stray("pgrcp.documents", "public.everything")],
  ],
  [
    "a foreign table among the children",
    `create foreign data wrapper nowhere; create server nowhere foreign data wrapper nowhere;
create foreign table pgrcp.far () inherits (pgrcp.documents) server nowhere; alter foreign table pgrcp.far owner to pgrcp_owner`,
    "drop foreign data wrapper nowhere cascade",
    ["error: row level security is not enabled and forced on pgrcp.far"],
  ],
  [
    "an operator of Postgres that filters use, marked leakproof",
    "alter function pg_catalog.arrayoverlap leakproof",
    "alter function pg_catalog.arrayoverlap not leakproof",
    [leakproof("error", "pg_catalog.arrayoverlap(anyarray, anyarray)")],
  ],
  [
    "an operator of pgvector marked leakproof",
    "alter function public.l1_distance(halfvec, halfvec) leakproof",
    "alter function public.l1_distance(halfvec, halfvec) not leakproof",
    [leakproof("error", "public.l1_distance(halfvec, halfvec)")],
  ],
  [
    "somebody's function marked leakproof that a login may call",
    "create function public.tell(text) returns boolean language sql leakproof as 'select true'",
    "drop function public.tell(text)",
    [leakproof("warning", "public.tell(text)")],
  ],
] as const;

test.each(DAMAGE)("%s is found", async (_, damage, repair, lines) => {
  await script(damage);

  const lookedAt = await found();

  await script(repair);
  expect(lookedAt).toEqual(lines);
  expect(await found()).toEqual([]);
});

test.each(DAMAGE)("%s is mended by a remedy that can be run", async (_, damage, repair) => {
  await script(damage);

  const remedies = (await findings()).map(({ remedy }) => /^run: (.*)/.exec(remedy)?.[1]);
  for (const remedy of remedies) if (remedy !== undefined) await script(remedy);

  const left = await found();
  await script(repair);
  expect(left).toHaveLength(remedies.filter((remedy) => remedy === undefined).length);
});

test("a SECURITY DEFINER function that the configuration trusts is warned of, and no other of its name", async () => {
  await script(`create function public.peek() returns int ${DEFINER} as 'select 1';
create function public.peek(int) returns int ${DEFINER} as 'select 1'`);

  const lookedAt = await found(["public.peek()"]);

  await script("drop function public.peek(); drop function public.peek(int)");
  expect(lookedAt).toEqual([definer("public.peek()").replace("error", "warning"), definer("public.peek(integer)")]);
});

describe("another application in the same database", () => {
  const closed = `create role ${OTHER}; create schema app authorization ${OTHER}`;
  const gone = `drop schema app cascade; drop owned by ${OTHER}; drop role ${OTHER}`;

  test.each([
    [
      "views and tables of its own",
      "create table app.notes (n int); create view app.listed as select * from app.notes",
    ],
    [
      "partitions",
      "create table app.p (n int) partition by list (n); create table app.p1 partition of app.p for values in (1)",
    ],
    [
      "SECURITY DEFINER functions where no login may go",
      `create function app.f() returns int ${DEFINER} as 'select 1'`,
    ],
    [
      "SECURITY DEFINER functions of an owner without rights on our tables",
      `grant usage on schema app to public; create function app.f() returns int ${DEFINER} as 'select 1'; alter function app.f() owner to ${OTHER}`,
    ],
    [
      "SECURITY DEFINER triggers, which nobody can call",
      `grant usage on schema app to public; create function app.t() returns trigger language plpgsql security definer as 'begin return new; end'`,
    ],
    [
      "leakproof functions where no login may go",
      "create function app.l(text) returns boolean language sql leakproof as 'select true'",
    ],
    [
      "views of ours with the caller's rights",
      "create view app.mine with (security_invoker = true) as select title from pgrcp.documents",
    ],
  ])("with %s is left alone", async (_, made) => {
    await script(`${closed}; ${made}`);

    const lookedAt = await found();

    await script(gone);
    expect(lookedAt).toEqual([]);
  });
});
