import type { CorpusStore } from "../../src/db/corpus-store.ts";
import type { Database } from "../../src/db/database.ts";

const refuse = async (): Promise<never> => {
  throw new Error("this test reaches no database");
};

/** For tests that end before the database: whoever asks it fails. */
export const NO_DATABASE: Database = {
  kind: "embedded",
  read: refuse,
  readCorpus: refuse,
  write: refuse,
  isReachable: async () => false,
  close: async () => {},
};

export const NO_CORPORA: CorpusStore = { find: refuse, forget: () => {} };
