import type { ServerFacts } from "./catalog-facts.ts";
import { error, type Finding, warning } from "./finding.ts";

/** Versions: of Postgres, of pgvector, of our schema. */

const OLDEST_POSTGRES = 15;
const OLDEST_VECTOR = [0, 8, 0] as const;
/** Before it, VACUUM can lose graph entries, and an index built in parallel can overflow a buffer (CVE-2026-3172, mended in 0.8.2). */
const GOOD_VECTOR = [0, 8, 4] as const;

const SAFE_PARALLEL_BUILD = [0, 8, 2] as const;

/** True when `version` is at least `wanted`, part by part. */
function isAtLeast(version: string, wanted: readonly number[]): boolean {
  const parts = version.split(".").map((part) => Number.parseInt(part, 10) || 0);
  for (const [index, want] of wanted.entries()) {
    const part = parts[index] ?? 0;
    if (part !== want) return part > want;
  }
  return true;
}

export function checkPostgresVersion(facts: Pick<ServerFacts, "serverVersion">): readonly Finding[] {
  const major = Math.floor(facts.serverVersion / 10_000);
  if (major >= OLDEST_POSTGRES) return [];
  return [error(`this is PostgreSQL ${major}`, `use PostgreSQL ${OLDEST_POSTGRES} or newer`)];
}

export function checkEncoding({ encoding }: Pick<ServerFacts, "encoding">): readonly Finding[] {
  if (encoding === "UTF8") return [];
  const remedy = "make a new one with `createdb --template=template0 --encoding=UTF8`";
  return [error(`the database's encoding is ${encoding}, which cannot hold every text`, remedy)];
}

export function checkVectorVersion({ vectorVersion }: Pick<ServerFacts, "vectorVersion">): readonly Finding[] {
  const upgrade = "install a newer pgvector on the database server, then run `alter extension vector update`";
  if (vectorVersion === undefined) {
    return [error("the database has no pgvector", "install pgvector 0.8.4 or newer there, then run `pgrcp migrate`")];
  }
  if (!isAtLeast(vectorVersion, OLDEST_VECTOR)) {
    return [error(`pgvector ${vectorVersion} is too old: 0.8.0 is the oldest that works`, upgrade)];
  }
  if (!isAtLeast(vectorVersion, GOOD_VECTOR)) {
    return [warning(`pgvector ${vectorVersion} has known faults in HNSW indexes that 0.8.4 mends`, upgrade)];
  }
  return [];
}

/** Whether several processes may build one graph together. */
export const hasSafeParallelBuild = ({ vectorVersion }: Pick<ServerFacts, "vectorVersion">): boolean =>
  vectorVersion !== undefined && isAtLeast(vectorVersion, SAFE_PARALLEL_BUILD);

/** The text of the schema's comment, which is how the schema's version is read. */
export const schemaComment = (version: number): string => `pgrcp schema ${version}`;

/** @param known how many migrations this program has */
export function checkSchemaVersion(
  { schemaComment: comment }: Pick<ServerFacts, "schemaComment">,
  known: number,
): readonly Finding[] {
  if (comment === schemaComment(known)) return [];
  if (comment === undefined) return [error("the database has no pgrcp schema", "run `pgrcp migrate`")];
  const found = Number(/^pgrcp schema (\d+)$/.exec(comment)?.[1]);
  if (found > known) {
    return [
      error(
        `the database has schema version ${found}, and this program knows ${known}`,
        "start the pgrcp version that ran `pgrcp migrate` last, or a newer one",
      ),
    ];
  }
  const is = Number.isInteger(found) ? `schema version ${found}` : "a schema of unknown version";
  return [error(`the database has ${is}, and this program needs ${known}`, "run `pgrcp migrate`")];
}
