import type { AdminConnection } from "../../src/db/admin-connection.ts";
import type { SqlValue } from "../../src/sql/sql.ts";

/** What Postgres makes of a statement, read for whether each table of tenants in it is confined to one tenant. */

interface PlanNode {
  readonly "Node Type": string;
  readonly "Parent Relationship"?: string;
  readonly Operation?: string;
  readonly Schema?: string;
  readonly "Relation Name"?: string;
  readonly Alias?: string;
  readonly Output?: readonly string[];
  readonly "Index Cond"?: string;
  readonly "Recheck Cond"?: string;
  readonly Filter?: string;
  readonly Plans?: readonly PlanNode[];
}

export interface Confinement {
  /** Tables of tenants that the plan reads or writes, each once. */
  readonly tables: readonly string[];
  /** Where no condition or value holds one of them to the tenant. */
  readonly loose: readonly string[];
}

/** The tables that have tenants, and of a partition the table that it is of. */
export type TenantTables = ReadonlyMap<string, string>;

/**
 * Asks for the plan of a statement with its values, as a superuser, whom no policy binds: what confines it is what it says itself.
 *
 * @param tenant whose rows are meant
 */
export async function confinementOf(
  admin: AdminConnection,
  { text, values }: { readonly text: string; readonly values: readonly SqlValue[] },
  tables: TenantTables,
  tenant: string,
): Promise<Confinement> {
  const asked = `explain (verbose, format json) ${text.replace(/^explain \([^)]*\) /, "")}`;
  const [plan] = await admin.query({ text: asked, values, decode: (row) => row["QUERY PLAN"] });
  const nodes = flatten((plan as readonly [{ readonly Plan: PlanNode }])[0].Plan);
  const touched = nodes.flatMap((node) => {
    const table = tables.get(`${node.Schema}.${node["Relation Name"]}`);
    return table === undefined ? [] : [{ node, table }];
  });
  const scans = touched.filter(({ node }) => node["Node Type"] !== "ModifyTable");
  const constant = `'${tenant}'::text`;
  // What a CTE gives comes from scans that are looked at like all others.
  const bound = new Set(nodes.filter((node) => node["Node Type"] === "CTE Scan").map(({ Alias }) => Alias ?? ""));
  const isTenant = (value: string | undefined): boolean => {
    const plain = value?.replace(/ COLLATE "C"$/, "") ?? "";
    return plain === constant || bound.has(/^(\w+)\.tenant_id$/.exec(plain)?.[1] ?? "-");
  };
  const holds = ({ Alias, ...node }: PlanNode): boolean =>
    [node["Index Cond"], node["Recheck Cond"], node.Filter]
      .flatMap((condition) => (condition === undefined ? [] : conjunctsOf(condition)))
      .some((one) => one.startsWith(`${Alias}.tenant_id = `) && isTenant(one.slice(`${Alias}.tenant_id = `.length)));
  for (let before = -1; before < bound.size; ) {
    before = bound.size;
    for (const { node } of scans) if (holds(node)) bound.add(node.Alias ?? "");
  }
  const looseScans = scans.filter(({ node }) => !bound.has(node.Alias ?? "")).map(({ table }) => table);
  const looseInserts = touched
    .filter(({ node }) => node.Operation === "Insert")
    .filter(({ node }) => !isTenant(insertedTenant(node)))
    .map(({ table }) => table);
  return {
    tables: [...new Set(touched.map(({ table }) => table))].sort(),
    loose: [...looseScans, ...looseInserts].sort(),
  };
}

const flatten = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(flatten)];

/** tenant_id is the first column of every table. */
const insertedTenant = ({ Plans = [] }: PlanNode): string | undefined =>
  Plans.find((one) => one["Parent Relationship"] === "Outer")?.Output?.[0];

/** The parts of a condition, as Postgres writes one, that must all be true. */
function conjunctsOf(condition: string): string[] {
  const inner = withoutParentheses(condition);
  const parts: string[] = [];
  let start = 0;
  for (const at of placesOf(" AND ", inner)) {
    parts.push(inner.slice(start, at));
    start = at + " AND ".length;
  }
  return start === 0 ? [inner] : [...parts, inner.slice(start)].flatMap(conjunctsOf);
}

function withoutParentheses(text: string): string {
  const closing = text.startsWith("(") ? depths(text).indexOf(0) : -1;
  return closing === text.length - 1 ? withoutParentheses(text.slice(1, -1)) : text;
}

/** Where a word stands outside of parentheses and quotes. */
const placesOf = (word: string, text: string): number[] => {
  const depth = depths(text);
  return [...depth.keys()].filter((at) => depth[at] === 0 && text.startsWith(word, at));
};

/** How deep in parentheses each character leaves us; within quotes, no number. */
function depths(text: string): number[] {
  let depth = 0;
  let quote: string | undefined;
  return text.split("").map((character) => {
    if (quote !== undefined) {
      if (character === quote) quote = undefined;
      return Number.NaN;
    }
    if (character === "'" || character === '"') quote = character;
    if (character === "(") depth += 1;
    if (character === ")") depth -= 1;
    return quote === undefined ? depth : Number.NaN;
  });
}
