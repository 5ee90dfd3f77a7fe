import type { FilterField, FilterFields } from "../catalog/corpus.ts";
import { columnTypeOf } from "../sql/column-types.ts";
import { compile, identifier, noRows, sql } from "../sql/sql.ts";
import type { AdminConnection } from "./admin-connection.ts";
import { StartupError } from "./startup-error.ts";

/** The typed columns of `pgrcp.chunks`, one per filter field of the configuration. */

/** As the configuration spells it, such as `keyword[]`. */
const typeNameOf = (field: FilterField): string => `${field.type}${field.array ? "[]" : ""}`;

/** Whether an index helps: equality on a list cannot use a b-tree, and free text may exceed what one entry holds. */
const isIndexed = (field: FilterField): boolean => !field.array && field.type !== "text";

export interface FieldPlan {
  /** Columns to add. */
  readonly missing: readonly FilterField[];
  /** Columns that are there and whose back-fill or index is not finished. */
  readonly unfinished: readonly FilterField[];
  /** Columns that the configuration no longer names; they keep their values. */
  readonly unused: readonly string[];
}

/** @throws StartupError when a field's column has another type */
export async function planFields(
  admin: Pick<AdminConnection, "query">,
  fields: FilterFields,
  hasSchema: boolean,
): Promise<FieldPlan> {
  const stored = hasSchema
    ? await admin.query(
        compile(
          sql`select name, type, ready from pgrcp_admin.filter_fields order by name`,
          (row) => row as { name: string; type: string; ready: boolean },
        ),
      )
    : [];
  const byName = new Map(stored.map((row) => [row.name, row]));
  for (const field of fields.values()) {
    const before = byName.get(field.name)?.type;
    if (before !== undefined && before !== typeNameOf(field)) {
      throw new StartupError(
        `filter field ${field.name} is ${before} in the database and ${typeNameOf(field)} in the configuration`,
        `set filter.fields.${field.name} back to ${before}, and give the new type a field name of its own`,
      );
    }
  }
  return {
    missing: [...fields.values()].filter((field) => !byName.has(field.name)),
    unfinished: [...fields.values()].filter((field) => byName.get(field.name)?.ready === false),
    unused: stored.filter((row) => !fields.has(row.name)).map((row) => row.name),
  };
}

/**
 * Adds a field's column, empty. Instant; waits for running statements no longer than the lock timeout, so readers do not queue.
 * The comment marks it until it is filled: the server's logins can read that, and no table of the migrator's.
 */
export async function addColumn(admin: AdminConnection, field: FilterField): Promise<void> {
  const column = identifier(field.column);
  await admin.transaction(async (transaction) => {
    await transaction.script("set local role pgrcp_owner; set local lock_timeout = '3s'");
    await transaction.query(
      compile(sql`alter table pgrcp.chunks add column if not exists ${column} ${columnTypeOf(field)}`, noRows),
    );
    await transaction.query(
      compile(sql`comment on column pgrcp.chunks.${column} is 'being filled by pgrcp migrate'`, noRows),
    );
    await transaction.query(
      compile(
        sql`insert into pgrcp_admin.filter_fields (name, type, "column") values (${field.name}, ${typeNameOf(field)}, ${field.column}) on conflict do nothing`,
        noRows,
      ),
    );
  });
}

interface Partition {
  readonly name: string;
  /** The column's number in this partition: short names for what belongs to it. */
  readonly column: number;
}

const partitionsOf = (field: FilterField) =>
  compile(
    sql`select c.relname as name, a.attnum as "column" from pg_inherits i join pg_class c on c.oid = i.inhrelid
join pg_attribute a on a.attrelid = c.oid and a.attname = ${field.column}
where i.inhparent = 'pgrcp.chunks'::regclass order by c.relname`,
    (row) => row as unknown as Partition,
  );

/**
 * Gives a filled column its index and its statistics. The index is built partition by partition without stopping writes, then joined
 * to the parent's. Statistics that know tenant, corpus and value together keep one tenant's spread from bending another's plan.
 */
export async function indexColumn(admin: AdminConnection, field: FilterField): Promise<void> {
  const column = identifier(field.column);
  const partitions = await admin.query(partitionsOf(field));
  if (isIndexed(field)) {
    await admin.query(
      compile(
        sql`create index if not exists ${column} on only pgrcp.chunks (tenant_id, corpus, ${column}) where removed_version is null`,
        noRows,
      ),
    );
    for (const partition of partitions) await indexPartition(admin, field, partition);
  }
  for (const { name, column: number } of partitions) {
    const table = sql`pgrcp.${identifier(name)}`;
    const statistics = identifier(`${name}_s${number}`);
    if (isIndexed(field)) {
      await admin.transaction(async (transaction) => {
        await transaction.script("set local role pgrcp_owner");
        await transaction.query(
          compile(
            sql`create statistics if not exists pgrcp.${statistics} (mcv) on tenant_id, corpus, ${column} from ${table}`,
            noRows,
          ),
        );
      });
    }
    await admin.query(compile(sql`analyze ${table}`, noRows));
  }
}

async function indexPartition(admin: AdminConnection, field: FilterField, partition: Partition): Promise<void> {
  const index = `${partition.name}_f${partition.column}`;
  const qualified = sql`pgrcp.${identifier(index)}`;
  const column = identifier(field.column);
  const [found] = await admin.query(
    compile(
      sql`select i.indisvalid as valid, c.relispartition as attached from pg_index i join pg_class c on c.oid = i.indexrelid
where c.relnamespace = 'pgrcp'::regnamespace and (c.relname = ${index} or (i.indrelid = to_regclass(${`pgrcp.${partition.name}`})
  and exists (select from pg_inherits h where h.inhrelid = c.oid and h.inhparent = to_regclass(${`pgrcp."${field.column}"`}))))
order by c.relispartition desc limit 1`,
      (row) => row as { valid: boolean; attached: boolean },
    ),
  );
  // Its own, or the one that a partition got when it was attached.
  if (found?.attached === true) return;
  // An interrupted build leaves an index that is maintained and never used.
  if (found?.valid === false) await admin.query(compile(sql`drop index ${qualified}`, noRows));
  if (found?.valid !== true) {
    const table = sql`pgrcp.${identifier(partition.name)}`;
    await admin.query(
      compile(
        sql`create index concurrently ${identifier(index)} on ${table} (tenant_id, corpus, ${column}) where removed_version is null`,
        noRows,
      ),
    );
  }
  await admin.query(compile(sql`alter index pgrcp.${column} attach partition ${qualified}`, noRows));
}

export async function markReady(admin: AdminConnection, field: FilterField): Promise<void> {
  await admin.transaction(async (transaction) => {
    await transaction.query(
      compile(
        sql`update pgrcp_admin.filter_fields set ready = true, position = null where name = ${field.name}`,
        noRows,
      ),
    );
    await transaction.query(compile(sql`comment on column pgrcp.chunks.${identifier(field.column)} is null`, noRows));
  });
}
