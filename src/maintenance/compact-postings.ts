import type { AdminConnection } from "../db/admin-connection.ts";
import {
  lockPostingsPlaces,
  moveOutOfLine,
  movePostings,
  type PostingsRoom,
  postingsRoom,
  reindexPostings,
  vacuumPostings,
} from "../sql/compaction.ts";
import type { Statement } from "../sql/sql.ts";

/** What takes up to this much more than it needs is left as it is: the work would come to more than the room. */
const TOLERANCE = 1.25;
/** Where there is work to do, it goes to this: rows of many lengths do not fill pages exactly. */
const AIM = 1.05;
/** Pages are moved so many at a time: some 4 MB in one transaction. */
const PAGES_BATCH = 500;
/** A row that somebody still reads stays where it is until the next time. */
const MAX_ROUNDS = 3;

/** Under so many pages nothing is worth moving. */
const FEW_PAGES = 16;
const PAGE_BYTES = 8_192;

const hasLoosePages = ({ pages, neededPages }: PostingsRoom): boolean => pages > neededPages * TOLERANCE + FEW_PAGES;
const hasLooseBytes = ({ outBytes, neededOutBytes }: PostingsRoom): boolean =>
  outBytes > neededOutBytes * TOLERANCE + FEW_PAGES * PAGE_BYTES;
const hasLooseIndex = ({ indexBytes, neededIndexBytes }: PostingsRoom): boolean =>
  indexBytes > neededIndexBytes * TOLERANCE + FEW_PAGES * PAGE_BYTES;

/** All that the table takes. */
export const bytesOf = ({ pages, outBytes, indexBytes }: PostingsRoom): number =>
  pages * PAGE_BYTES + outBytes + indexBytes;

/**
 * Gives back the room that postings no longer need: what blocks left behind that grew a document at a time, and what was collected.
 * Rows at the end of the table are written again at its beginning, the end is cut off, and the index is built anew beside the old one.
 *
 * Reads and writes go on: rows move in short transactions that may stop anywhere and go on the next time, pass over what a writer
 * holds, and wait for who cleans postings. Cutting off takes the table's lock for some milliseconds and gives way to whoever waits for it.
 *
 * @param admin as the owner of the table
 * @param signal ends it between two transactions
 * @returns the room before and after
 */
export async function compactPostings(
  admin: Pick<AdminConnection, "query" | "transaction">,
  signal?: AbortSignal,
): Promise<{ readonly before: PostingsRoom; readonly after: PostingsRoom }> {
  const before = await roomOf(admin);
  let room = before;
  const move = async (from: number, to: number, statement: (fromPage: number, toPage: number) => Statement) => {
    for (let page = from; page < to && signal?.aborted !== true; page += PAGES_BATCH)
      await admin.transaction(async (transaction) => {
        await transaction.query(lockPostingsPlaces);
        await transaction.query(statement(page, Math.min(page + PAGES_BATCH, to)));
      });
  };
  for (let round = 0; round < MAX_ROUNDS && (hasLoosePages(room) || hasLooseBytes(room)); round++) {
    if (signal?.aborted === true) break;
    // First of all room becomes free: what is dead may be most of what there is.
    await admin.query(vacuumPostings());
    room = await roomOf(admin);
    if (hasLooseBytes(room)) await move(0, room.pages, moveOutOfLine);
    if (hasLoosePages(room)) await move(Math.ceil(room.neededPages * AIM), room.pages, movePostings);
    await admin.query(vacuumPostings());
    room = await roomOf(admin);
  }
  if (hasLooseIndex(room) && signal?.aborted !== true) await admin.query(reindexPostings());
  return { before, after: await roomOf(admin) };
}

async function roomOf(admin: Pick<AdminConnection, "query">): Promise<PostingsRoom> {
  const [room] = await admin.query(postingsRoom());
  if (room === undefined) throw new Error("an aggregate has one row");
  return room;
}
