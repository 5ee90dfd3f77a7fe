import type { CorpusRows } from "./corpus-rows.ts";

/**
 * Where in a commit a server is killed. On Postgres the commit is a message and its answer; on the embedded database, whose engine
 * dies with the server, it is the write of the transaction's last pages to the write-ahead log.
 *
 * - `before`: the message has left the server and reaches nobody; the pages are not written
 * - `midway`: the message is on its way and the kill with it; half of the pages are written
 * - `after`: the database has committed and the server does not know it yet
 */
export type CommitPoint = "before" | "midway" | "after";

/** A database with its data, which outlives the servers on it. */
export interface Deployment {
  readonly kind: "embedded" | "postgres";
  /** The `database` section of the configuration. */
  readonly settings: object;
  /** The server's environment. */
  readonly env: NodeJS.ProcessEnv;
  /** The next commit of an `index/add` kills the server there. */
  killAtCommit(point: CommitPoint, kill: () => void): Promise<void>;
  /**
   * Takes the data as they are while nothing is written, without touching them; the function it gives reads the corpus from that.
   *
   * @param isDead the server was killed
   */
  snapshot(isDead: boolean): Promise<() => Promise<CorpusRows>>;
  close(): Promise<void>;
}
