import type { TenantId } from "../../src/catalog/corpus.ts";
import type { AdminConnection } from "../../src/db/admin-connection.ts";
import { openPostgresMaintainer } from "../../src/db/operator-database.ts";
import {
  type Placed,
  type PlacingEvent,
  type PlacingSettings,
  placeCorpora,
} from "../../src/maintenance/place-corpora.ts";
import { compile, sql } from "../../src/sql/sql.ts";
import type { TestDatabase } from "./database.ts";
import type { Caller } from "./method-caller.ts";
import type { SeededRandom } from "./seeded-random.ts";

/** Maintenance of where chunks are, with thresholds that a test can reach. */

const SETTINGS: PlacingSettings = {
  ownPartitionFrom: 300,
  rebuildShare: 0.2,
  graph: { m: 16, efConstruction: 64 },
  buildMemoryMb: 64,
  buildWorkers: 0,
};

export interface PlacingRun {
  readonly settings?: Partial<PlacingSettings>;
  readonly report?: (event: PlacingEvent) => void;
  readonly signal?: AbortSignal;
}

/** One round of maintenance over a connection of its own. */
export async function place({ config }: TestDatabase, { settings, ...rest }: PlacingRun = {}): Promise<Placed[]> {
  const admin = openPostgresMaintainer(config.database.url ?? "", config, () => {});
  try {
    return await Array.fromAsync(placeCorpora(admin, { settings: { ...SETTINGS, ...settings }, ...rest }));
  } finally {
    await admin.close();
  }
}

export interface PlaceRow {
  readonly placement: string;
  readonly movingFrom: string | null;
  readonly graphChunks: number | null;
}

export async function placeOf(admin: AdminConnection, tenantId: TenantId): Promise<PlaceRow | undefined> {
  const [row] = await admin.query(
    compile(
      sql`select placement, moving_from as "movingFrom", graph_chunks as "graphChunks" from pgrcp.corpora where tenant_id = ${tenantId} and corpus = 'default'`,
      (found) => found as unknown as PlaceRow,
    ),
  );
  return row;
}

/** How many of the tenant's chunks are where. */
export async function chunksBy(admin: AdminConnection, tenantId: TenantId): Promise<Record<string, number>> {
  const rows = await admin.query(
    compile(
      sql`select placement, count(*) as chunks from pgrcp.chunks where tenant_id = ${tenantId} group by placement`,
      (row) => [row.placement as string, row.chunks as number] as const,
    ),
  );
  return Object.fromEntries(rows);
}

/** The partitions of chunks besides the shared one, attached or not. */
export function ownPartitions(admin: AdminConnection): Promise<readonly string[]> {
  return admin.query(
    compile(
      sql`select relname::text as name from pg_class where relnamespace = 'pgrcp'::regnamespace and relkind = 'r' and starts_with(relname, 'chunks_p_') order by 1`,
      (row) => row.name as string,
    ),
  );
}

const WORDS = [
  "amber",
  "basalt",
  "coral",
  "dune",
  "ember",
  "fjord",
  "garnet",
  "heron",
  "ivory",
  "jade",
  "kelp",
  "lava",
];

/** Adds so many one-chunk documents `d<from>` …, each of some words and with a year from 2000 to 2009. */
export async function fill(caller: Caller, random: SeededRandom, count: number, from = 0): Promise<void> {
  const documents = Array.from({ length: count }, (_, index) => ({
    id: `d${from + index}`,
    text: Array.from({ length: random.integer(2, 8) }, () => random.pick(WORDS)).join(" "),
    meta: { year: 2000 + ((from + index) % 10) },
  }));
  for (let at = 0; at < count; at += 100) await caller.add(documents.slice(at, at + 100));
}

/** Questions of every mode, with and without a filter. */
export const questions = (random: SeededRandom, count: number): readonly object[] =>
  Array.from({ length: count }, (_, number) => ({
    query: Array.from({ length: random.integer(1, 4) }, () => random.pick(WORDS)).join(" "),
    mode: (["dense", "sparse", "hybrid"] as const)[number % 3],
    k: 20,
    ...(number % 2 === 0 && { filter: { field: "year", op: "gte", value: 2005 } }),
  }));
