import { blockOf, type PostingBlock, withoutChunks } from "../catalog/posting-block.ts";
import type { TenantTransaction } from "../db/database.ts";
import { keepPostingsInPlace } from "../sql/compaction.ts";
import type { CorpusKey } from "../sql/documents.ts";
import * as statements from "../sql/retention.ts";

const BATCH = 500;

/** A posting row: cleaning goes on after it. */
export interface PostingPlace {
  readonly term: string;
  readonly block: number;
}

export const FIRST_PLACE: PostingPlace = { term: "", block: -1 };

/**
 * Takes chunks out of the next posting rows. The transaction holds the corpus's lock, because writers append to the same rows.
 *
 * @returns where to go on; undefined when every row was looked at
 */
export async function cleanSomePostings(
  transaction: TenantTransaction,
  key: CorpusKey,
  gone: ReadonlySet<number>,
  after: PostingPlace,
): Promise<PostingPlace | undefined> {
  const blocks = [...new Set([...gone].map(blockOf))];
  await transaction.query(keepPostingsInPlace);
  const rows = await transaction.query(statements.selectPostings(key, blocks, after, BATCH));
  const changed = rows.flatMap((row) => {
    const left = withoutChunks(row, gone);
    return left.packed.length === row.packed.length ? [] : [left];
  });
  const [empty, rest] = [changed.filter(isEmpty), changed.filter((row) => !isEmpty(row))];
  if (empty.length > 0) await transaction.query(statements.deletePostings(key, empty));
  if (rest.length > 0) await transaction.query(statements.rewritePostings(key, rest));
  return rows.length < BATCH ? undefined : rows.at(-1);
}

const isEmpty = ({ packed }: PostingBlock): boolean => packed.length === 0;
