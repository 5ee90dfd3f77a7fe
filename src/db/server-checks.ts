import type { ServerFacts } from "./catalog-facts.ts";
import { error, type Finding, warning } from "./finding.ts";
import { schemaComment } from "./migrator.ts";
import { GOOD_VECTOR, isAtLeast, OLDEST_POSTGRES, OLDEST_VECTOR } from "./oldest-versions.ts";

/** Versions: of Postgres, of pgvector, of our schema. */

export function checkPostgresVersion(facts: ServerFacts): readonly Finding[] {
  const major = Math.floor(facts.serverVersion / 10_000);
  if (major >= OLDEST_POSTGRES) return [];
  return [error(`this is PostgreSQL ${major}`, `use PostgreSQL ${OLDEST_POSTGRES} or newer`)];
}

export function checkVectorVersion({ vectorVersion }: ServerFacts): readonly Finding[] {
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

/** @param known how many migrations this program has */
export function checkSchemaVersion({ schemaComment: comment }: ServerFacts, known: number): readonly Finding[] {
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
