import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import type { Credential } from "../../src/auth/principal.ts";
import { runBatch } from "../../src/db/batch.ts";
import { EmbeddedEngine } from "../../src/db/embedded-engine.ts";
import { EmbeddedSource } from "../../src/db/embedded-source.ts";
import { connectionOf, poolLimitsOf, RolePool } from "../../src/db/pools.ts";
import { compile, identifier, type Sql, sql } from "../../src/sql/sql.ts";
import { openTestDatabase } from "../support/database.ts";
import { embeddedTemplate } from "../support/embedded-template.ts";
import { limits, rows, run, seed, tenant } from "./rows.ts";

const { admin, config, database, kind, operator, close } = await openTestDatabase();
afterAll(close);
await seed(operator, "owner");

/** A role, the credential that its callers must hold, and the two that do not stand in for it. */
const ROLES = [
  { role: "reader", credential: "read", others: ["add", "delete"] },
  { role: "adder", credential: "add", others: ["read", "delete"] },
  { role: "deleter", credential: "delete", others: ["read", "add"] },
] as const;
type Role = (typeof ROLES)[number]["role"];

interface Right {
  readonly table: string;
  readonly verb: "select" | "insert" | "update" | "delete";
  /** That the role may insert. */
  readonly columns: readonly string[];
  /** That the role may update. */
  readonly column: string | null;
}

/** Whatever a role may do to a table of tenants, all of it or some columns. */
const rightsOf = (role: Role) =>
  admin.query(
    rows<Right>(sql`select c.relname as "table", verb,
  array(select attname::text from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped and has_column_privilege(${`pgrcp_${role}`}, c.oid, attnum, 'insert') order by attnum) as columns,
  (select min(attname::text) from pg_attribute where attrelid = c.oid and attnum > 0 and has_column_privilege(${`pgrcp_${role}`}, c.oid, attnum, 'update')) as "column"
from pg_class c, unnest('{select,insert,update,delete}'::text[]) verb
where c.relnamespace = 'pgrcp'::regnamespace and c.relkind in ('r', 'p') and case verb
  when 'delete' then has_table_privilege(${`pgrcp_${role}`}, c.oid, verb)
  else has_any_column_privilege(${`pgrcp_${role}`}, c.oid, verb) end
order by 1, 2`),
  );

/** The verb on the owner's own row. */
async function statementOf({ table, verb, columns, column }: Right): Promise<Sql> {
  const name = sql`pgrcp.${identifier(table)}`;
  const own = sql`where tenant_id = 'owner'`;
  if (verb === "select") return sql`select tenant_id from ${name} ${own}`;
  if (verb === "update") return sql`update ${name} set ${identifier(column ?? "")} = null ${own}`;
  if (verb === "delete") return sql`delete from ${name} ${own}`;
  const [row] = await admin.query(
    compile(sql`select row_to_json(t)::text as row from ${name} t ${own}`, (r) => r.row as string),
  );
  const list = columns.map(identifier).reduce((all, one) => sql`${all}, ${one}`);
  return sql`insert into ${name} (${list}) select ${list} from json_populate_record(null::${name}, ${row ?? ""}::json)`;
}

/** What the database said against a statement of the owner whose token holds these credentials. */
async function refusal(role: Role, credentials: readonly Credential[], statement: Sql): Promise<string | undefined> {
  const access = { tenantId: tenant("owner"), credentials: new Set(credentials) };
  try {
    if (role === "reader") await database.read(role, access, [run(statement)], limits());
    else await database.write(role, access, limits(), (transaction) => transaction.query(run(statement)));
    return undefined;
  } catch (error) {
    const { code, message } = ((error as Error).cause ?? error) as { code?: string; message: string };
    return `${code}: ${message}`;
  }
}

for (const { role, credential, others } of ROLES) {
  const refused = `42501: the caller does not hold the ${credential} credential`;
  const rights = await rightsOf(role);

  describe(`without the ${credential} credential the ${role}`, () => {
    test.each(rights)("cannot $verb in $table", async (right) => {
      const statement = await statementOf(right);

      expect(await refusal(role, others, statement)).toBe(refused);
      expect(await refusal(role, [], statement)).toBe(refused);
      expect(await refusal(role, [credential], statement)).not.toBe(refused);
    });

    test("cannot find out that nothing is there", async () => {
      const nothing = sql`select tenant_id from pgrcp.corpora where tenant_id = 'owner' and corpus = 'none'`;
      const locked = role === "reader" ? nothing : sql`${nothing} for update`;

      expect(await refusal(role, others, locked)).toBe(refused);
      expect(await refusal(role, others, sql`select tenant_id from pgrcp.corpora`)).toBe(refused);
      expect(await refusal(role, [credential], locked)).toBeUndefined();
    });

    test("cannot read over a connection on which nobody has set one yet", async () => {
      const lease = await (await freshSource(role)).acquire(new AbortController().signal, undefined);
      const batch = [
        `select set_config('role', 'pgrcp_${role}', true)`,
        "do $$ begin assert current_setting('pgrcp.credentials', true) is null; end $$",
        "select tenant_id from pgrcp.corpora",
      ];

      const reading = runBatch(
        lease.client,
        batch.map((text) => ({ text, values: [] })),
      );

      const outcome = await reading.catch((error: unknown) => error);
      lease.release();
      expect(outcome).toMatchObject({ code: "42501", message: refused.slice("42501: ".length) });
    });
  });
}

/** Never through a pooler, whose connections somebody has used before. */
async function freshSource(role: Role) {
  if (kind === "postgres") {
    const connection = connectionOf(config.database.migrateUrl ?? "", config.database[role]);
    const pool = new RolePool(role, connection, { ...poolLimitsOf(config), size: 1 }, () => {});
    onTestFinished(() => pool.close());
    return pool;
  }
  const engine = await EmbeddedEngine.open({ dump: await embeddedTemplate() }, { waitMs: 5_000 });
  onTestFinished(() => engine.close());
  return new EmbeddedSource(engine, role);
}

test("a token of several credentials is good for each of them", async () => {
  const statement = sql`select tenant_id from pgrcp.corpora`;

  for (const { role } of ROLES) expect(await refusal(role, ["delete", "read", "add"], statement)).toBeUndefined();
});
