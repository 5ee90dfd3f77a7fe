import type { OperatorDatabase } from "../db/database.ts";
import { recordCommand } from "../sql/audit.ts";
import { lockCorpus } from "../sql/documents.ts";
import * as statements from "../sql/retention.ts";
import { forgetSuperseded } from "../sql/sources.ts";
import { cleanSomePostings, FIRST_PLACE, type PostingPlace } from "./clean-postings.ts";

/** What was collected of one corpus. */
export interface Collected {
  readonly tenant: string;
  readonly corpus: string;
  /** Versions that can no longer be asked for. */
  readonly versions: number;
  /** Rows that are gone for good: documents with their texts, as they were before they were replaced or deleted. */
  readonly documents: number;
  readonly chunks: number;
}

const CHUNKS_BATCH = 1_000;
const DOCUMENTS_BATCH = 200;

/**
 * Ends what was superseded more than `keptHours` ago: its versions cannot be asked for any more, and what only they had is deleted
 * for good, unless restoring a revoked source could ask for it. A version counts as superseded from the commit of the next one on, so the newest one never is.
 *
 * Safe beside reads and writes, in short transactions that may stop anywhere and go on the next time. A version's token goes before
 * its first row does, so a reader that finds the token afterwards has missed nothing. Postings go before the chunks that they name,
 * because readers leave out postings of closed chunks and count all others. Writers of a corpus wait while some of its postings are
 * written over, for they append to the same rows.
 *
 * @returns the corpora where there was something
 */
export async function* collectVersions(database: OperatorDatabase, keptHours: number): AsyncIterable<Collected> {
  for (const horizon of await database.read(statements.selectHorizons(keptHours))) {
    const versions = await withdraw(database, horizon);
    await database.write((transaction) => transaction.query(forgetSuperseded(horizon)));
    const chunks = await collectChunks(database, horizon);
    const documents = await collectDocuments(database, horizon);
    if (versions.length + chunks + documents > 0)
      yield { tenant: horizon.tenantId, corpus: horizon.corpus, versions: versions.length, documents, chunks };
  }
}

function withdraw(database: OperatorDatabase, horizon: statements.Horizon): Promise<readonly number[]> {
  return database.write(async (transaction) => {
    const versions = await transaction.query(statements.withdrawVersions(horizon));
    if (versions.length > 0)
      await transaction.query(recordCommand({ ...horizon, action: "withdraw", count: versions.length }));
    return versions;
  });
}

async function collectChunks(database: OperatorDatabase, horizon: statements.Horizon): Promise<number> {
  const [gone = []] = await database.read(statements.selectGoneChunks(horizon));
  if (gone.length === 0) return 0;
  await collectPostings(database, horizon, new Set(gone));
  for (let from = 0; from < gone.length; from += CHUNKS_BATCH) {
    const batch = gone.slice(from, from + CHUNKS_BATCH);
    await database.write((transaction) => transaction.query(statements.deleteChunks(horizon, batch)));
  }
  return gone.length;
}

/** Goes once over the posting rows of the blocks that hold such chunks. */
async function collectPostings(
  database: OperatorDatabase,
  horizon: statements.Horizon,
  gone: ReadonlySet<number>,
): Promise<void> {
  for (let after: PostingPlace | undefined = FIRST_PLACE; after !== undefined; ) {
    const from: PostingPlace = after;
    after = await database.write(async (transaction) => {
      await transaction.query(lockCorpus(horizon));
      return await cleanSomePostings(transaction, horizon, gone, from);
    });
  }
}

async function collectDocuments(database: OperatorDatabase, horizon: statements.Horizon): Promise<number> {
  let count = 0;
  for (let isDone = false; !isDone; ) {
    const rows = await database.write((transaction) =>
      transaction.query(statements.deleteDocuments(horizon, DOCUMENTS_BATCH)),
    );
    count += rows.length;
    isDone = rows.length < DOCUMENTS_BATCH;
  }
  return count;
}
