import { type Sql, sql } from "./sql.ts";

/** Which state of a corpus a statement reads: the newest, or a version that the caller pinned. */
export type ReadPoint = { readonly pin: undefined } | { readonly pin: string };

/**
 * Rows of a versioned table (`chunks`, `documents`) that the read point sees. A pinned version's number is looked up by its
 * token, in this tenant's corpus only.
 *
 * @param versionsOfCorpus says whose `pgrcp.corpus_versions v` the pin is looked up in
 */
export function visibleAt(at: ReadPoint, versionsOfCorpus: Sql): Sql {
  if (at.pin === undefined) return sql`removed_version is null`;
  const version = sql`(select v.version from pgrcp.corpus_versions v where ${versionsOfCorpus} and v.token = ${at.pin})`;
  return sql`added_version <= ${version} and (removed_version is null or removed_version > ${version})`;
}
