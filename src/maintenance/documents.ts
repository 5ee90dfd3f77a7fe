import type { OperatorDatabase } from "../db/database.ts";
import * as statements from "../sql/operator.ts";
import { findCorpus } from "./corpora.ts";
import { Refusal } from "./refusal.ts";
import { findTenant } from "./tenants.ts";

export type { DocumentDetail, DocumentRow } from "../sql/operator.ts";

/** Looking at a corpus's documents and taking them out, for the command line. */

/** Rows held at a time. A text may have a megabyte. */
const LIST_BATCH = 500;
const EXPORT_BATCH = 50;

export interface CorpusAddress {
  readonly tenant: string;
  readonly corpus: string;
}

export interface DocumentListing extends CorpusAddress {
  readonly source?: string | undefined;
  readonly quarantined?: boolean | undefined;
  readonly suspected?: boolean | undefined;
  /** A filter field: only documents whose value for it does not fit its type. */
  readonly unfit?: string | undefined;
  readonly limit?: number | undefined;
}

/**
 * Live documents in the order of their ids.
 *
 * @throws Refusal for an unknown tenant, corpus or filter field
 */
export async function* listDocuments(
  database: OperatorDatabase,
  listing: DocumentListing,
): AsyncIterable<statements.DocumentRow> {
  await checkAddress(database, listing);
  const { tenant, corpus, source, quarantined, suspected } = listing;
  const unfit = listing.unfit === undefined ? undefined : await findField(database, listing.unfit);
  const statement = statements.selectDocuments(tenant, corpus, { source, quarantined, suspected, unfit });
  const limit = listing.limit ?? Number.POSITIVE_INFINITY;
  let given = 0;
  for await (const rows of database.stream(statement, Math.min(LIST_BATCH, limit))) {
    for (const row of rows) {
      yield row;
      given += 1;
      if (given >= limit) return;
    }
  }
}

/** @throws Refusal when the corpus has no such live document */
export async function showDocument(
  database: OperatorDatabase,
  address: CorpusAddress,
  docId: string,
): Promise<statements.DocumentDetail> {
  await checkAddress(database, address);
  const [document] = await database.read(statements.selectDocument(address.tenant, address.corpus, docId));
  if (document === undefined)
    throw new Refusal("the corpus has no such document", "pgrcp documents list shows the ids");
  return document;
}

/**
 * Every live document as `import` reads it, in the order of their ids, quarantined ones included. Texts and meta come out as they
 * went in.
 */
export async function* exportDocuments(
  database: OperatorDatabase,
  address: CorpusAddress,
): AsyncIterable<statements.ExportedDocument> {
  await checkAddress(database, address);
  const statement = statements.exportDocuments(address.tenant, address.corpus);
  for await (const rows of database.stream(statement, EXPORT_BATCH)) yield* rows;
}

async function checkAddress(database: OperatorDatabase, { tenant, corpus }: CorpusAddress): Promise<void> {
  await findCorpus(database, await findTenant(database, tenant), corpus);
}

async function findField(database: OperatorDatabase, field: string) {
  const [found] = await database.read(statements.selectFilterColumn(field));
  if (found === undefined) {
    throw new Refusal(
      "the database has no such filter field",
      "name one of filter.fields; pgrcp migrate makes new ones",
    );
  }
  return { field, column: found.column };
}
