import type { Subject } from "./subject.ts";

/** Every table and partition that holds rows of tenants, by name. */
export async function tenantTables(subject: Subject): Promise<readonly string[]> {
  const rows = await subject.call(
    "query",
    `select n.nspname || '.' || c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname in ('pgrcp', 'pgrcp_state') and c.relkind in ('r', 'p') order by 1`,
  );
  return rows.map(({ name }) => String(name));
}

/**
 * Takes the policies of some tables away, as a restore that forgot them would.
 *
 * @returns what puts them back
 */
export async function disablePolicies(subject: Subject, tables: readonly string[]): Promise<() => Promise<void>> {
  const alter = async (change: "disable" | "enable") => {
    await subject.call("settle");
    const statements = tables.map((table) => `alter table ${table} ${change} row level security;`);
    await subject.call("script", statements.join("\n"));
  };
  await alter("disable");
  return () => alter("enable");
}
