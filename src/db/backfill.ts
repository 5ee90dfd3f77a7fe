import type { FilterField } from "../catalog/corpus.ts";
import { columnTypeOf } from "../sql/column-types.ts";
import { compile, identifier, joinSql, noRows, type Sql, type Statement, sql } from "../sql/sql.ts";
import type { AdminConnection } from "./admin-connection.ts";
import { addColumn, indexColumn, markReady, planFields } from "./filter-columns.ts";
import type { MigrateOptions } from "./migrator.ts";
import { isSerializationFailure } from "./pg-errors.ts";

type Scalar = string | number | boolean;

/**
 * A meta value as the field's column holds it: null for no value, undefined for a value that does not fit. The server uses the same
 * function when it writes a document.
 */
export type ColumnValueOf = (field: FilterField, value: unknown) => Scalar | readonly Scalar[] | null | undefined;

/** Stored documents whose value does not fit the field's type. Their column stays null. */
export interface Misfit {
  readonly field: string;
  readonly tenantId: string;
  readonly corpus: string;
  readonly count: number;
  /** The first few, to look at. */
  readonly docIds: readonly string[];
}

const CHUNKS_AT_A_TIME = 1_000;
const SHOWN_IDS = 5;

/** The last chunk looked at, in the order of the primary key. */
type Position = readonly [tenantId: string, corpus: string, chunkNo: number];
const START: Position = ["", "", -1];

/** Adds, fills and indexes the columns that the configuration asks for and the database does not have ready. */
export async function prepareFields(admin: AdminConnection, options: MigrateOptions): Promise<void> {
  const { missing, unfinished } = await planFields(admin, options.fields, true);
  for (const field of missing) {
    options.report?.({ kind: "field", name: field.name, step: "column" });
    await addColumn(admin, field);
  }
  const pending = [...missing, ...unfinished];
  const toFill = options.refill === true ? [...options.fields.values()] : pending;
  if (toFill.length > 0) await backfill(admin, toFill, options);
  for (const field of pending) {
    options.report?.({ kind: "field", name: field.name, step: "index" });
    await indexColumn(admin, field);
    await markReady(admin, field);
    options.report?.({ kind: "field", name: field.name, step: "ready" });
  }
}

async function backfill(
  admin: AdminConnection,
  fields: readonly FilterField[],
  options: MigrateOptions,
): Promise<void> {
  const total = (await admin.query(chunkTotal))[0] ?? 0;
  const names = fields.map(({ name }) => name);
  const misfits = new Map<string, { -readonly [K in keyof Misfit]: Misfit[K] }>();
  let position = options.refill === true ? START : await startOf(admin, fields);
  for (let done = 0; ; ) {
    const chunks = await admin.query(chunksAfter(position));
    const last = chunks.at(-1);
    if (last === undefined) break;
    position = [last.tenantId, last.corpus, last.chunkNo];
    await fill(admin, fields, chunks, position, options.columnValueOf, (field, chunk) => {
      const key = JSON.stringify([field.name, chunk.tenantId, chunk.corpus]);
      const { tenantId, corpus } = chunk;
      const misfit = misfits.get(key) ?? { field: field.name, tenantId, corpus, count: 0, docIds: [] };
      const docIds = misfit.docIds.length < SHOWN_IDS ? [...misfit.docIds, chunk.docId] : misfit.docIds;
      misfits.set(key, { ...misfit, count: misfit.count + 1, docIds });
    });
    done += chunks.length;
    options.report?.({ kind: "backfill", fields: names, done, total: Math.max(done, total) });
  }
  for (const misfit of misfits.values()) options.report?.({ kind: "misfit", misfit });
}

interface StoredChunk {
  readonly tenantId: string;
  readonly corpus: string;
  readonly chunkNo: number;
  readonly docId: string;
  /** Chunk 0 of a live document: where the document itself is counted. */
  readonly counts: boolean;
  readonly meta: Readonly<Record<string, unknown>>;
}

async function fill(
  admin: AdminConnection,
  fields: readonly FilterField[],
  chunks: readonly StoredChunk[],
  position: Position,
  columnValueOf: ColumnValueOf,
  misfit: (field: FilterField, chunk: StoredChunk) => void,
): Promise<void> {
  const rows = chunks.map((chunk) => {
    const row: Record<string, unknown> = { ...keyOf(chunk) };
    for (const [index, field] of fields.entries()) {
      const stored = Object.hasOwn(chunk.meta, field.name) ? chunk.meta[field.name] : undefined;
      const value = columnValueOf(field, stored);
      if (value === undefined && chunk.counts) misfit(field, chunk);
      row[`v${index}`] = value ?? null;
    }
    return row;
  });
  for (let attempt = 1; ; attempt += 1) {
    try {
      await admin.transaction(async (transaction) => {
        await transaction.query(updateChunks(fields, rows));
        await transaction.query(keepPosition(fields, position));
      });
      return;
    } catch (error) {
      // A server closing the same chunks goes first.
      if (attempt === 5 || !isSerializationFailure(error)) throw error;
    }
  }
}

const keyOf = ({ tenantId, corpus, chunkNo }: StoredChunk) => ({
  tenant_id: tenantId,
  corpus,
  chunk_no: chunkNo,
});

const chunkTotal = compile(
  sql`select coalesce(sum(next_chunk), 0)::bigint as total from pgrcp.corpora`,
  (row) => row.total as number,
);

function chunksAfter([tenantId, corpus, chunkNo]: Position): Statement<StoredChunk> {
  return compile(
    sql`select c.tenant_id, c.corpus, c.chunk_no, c.doc_id, c.ordinal = 0 and c.removed_version is null as counts, d.meta
from pgrcp.chunks c join pgrcp.documents d
  on d.tenant_id = c.tenant_id and d.corpus = c.corpus and d.doc_id = c.doc_id and d.added_version = c.added_version
where (c.tenant_id, c.corpus, c.chunk_no) > (${tenantId}, ${corpus}, ${chunkNo}::int)
order by c.tenant_id, c.corpus, c.chunk_no limit ${CHUNKS_AT_A_TIME}`,
    (row) => ({
      tenantId: row.tenant_id as string,
      corpus: row.corpus as string,
      chunkNo: row.chunk_no as number,
      docId: row.doc_id as string,
      counts: row.counts as boolean,
      meta: row.meta as StoredChunk["meta"],
    }),
  );
}

/** Fills what is null and nothing else: a value that the server wrote stays. */
function updateChunks(fields: readonly FilterField[], rows: readonly Record<string, unknown>[]): Statement {
  const list = (piece: (column: Sql, value: Sql, type: Sql) => Sql, separator = sql`, `): Sql =>
    joinSql(
      fields.map((field, index) => piece(identifier(field.column), identifier(`v${index}`), columnTypeOf(field))),
      separator,
    );
  return compile(
    sql`update pgrcp.chunks c set ${list((column, value) => sql`${column} = coalesce(c.${column}, v.${value})`)}
from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as v(tenant_id text, corpus text, chunk_no int, ${list((_, value, type) => sql`${value} ${type}`)})
where c.tenant_id = v.tenant_id and c.corpus = v.corpus and c.chunk_no = v.chunk_no
  and (${list((column, value) => sql`c.${column} is null and v.${value} is not null`, sql` or `)})`,
    noRows,
  );
}

function keepPosition(fields: readonly FilterField[], position: Position): Statement {
  return compile(
    sql`update pgrcp_admin.filter_fields set position = ${JSON.stringify(position)}::json where not ready and name = any(${fields.map(({ name }) => name)}::text[])`,
    noRows,
  );
}

/** Where all of the fields have been filled up to. Fields that were interrupted at different places start with the earliest. */
async function startOf(admin: AdminConnection, fields: readonly FilterField[]): Promise<Position> {
  const positions = await admin.query(
    compile(
      sql`select f.position from pgrcp_admin.filter_fields f where f.name = any(${fields.map(({ name }) => name)}::text[])
order by (f.position ->> 0) collate "C" nulls first, (f.position ->> 1) collate "C", (f.position ->> 2)::int limit 1`,
      (row) => row.position as Position | null,
    ),
  );
  return positions[0] ?? START;
}
