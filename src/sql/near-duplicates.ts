import { integer, type Sql, sql } from "./sql.ts";

/**
 * Bits of 128 in which the fingerprints of near-duplicates differ at most. Unrelated texts differ in about 64, and of the natural
 * passages that were measured none was left out at this distance; 100 copies of a passage of 20 words with one of them changed come to
 * one group (src/retrieval/README.md has the figures).
 */
export const NEAR_BITS = 32;

/** What recall is to pass over: surplus near-duplicates. */
export interface Surplus {
  /** Fingerprints of which the answer has as many as it may have. */
  readonly near: readonly string[];
  /** Ids of documents that are in the answer and stay there. */
  readonly but: readonly string[];
}

/** A predicate on a chunk; never null. */
export const isNoSurplus = ({ near, but }: Surplus): Sql =>
  sql`(doc_id = any(${but}::text[]) or not exists (select from unnest(${near}::bit(128)[]) near where fingerprint <~> near <= ${integer(NEAR_BITS)}))`;
