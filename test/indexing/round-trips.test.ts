import { afterAll, beforeAll, expect, test } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { callerOf, freshTenant } from "../support/method-caller.ts";

let opened: TestDatabase;
beforeAll(async () => {
  opened = await openTestDatabase();
});
afterAll(() => opened.close());

/** Counts what a write asks of the database between its beginning and its commit. */
function counting(database: Database): { readonly database: Database; trips(): number } {
  let trips = 0;
  return {
    trips: () => trips,
    database: {
      kind: database.kind,
      read: (...asked) => database.read(...asked),
      readCorpus: (...asked) => database.readCorpus(...asked),
      write: (role, access, limits, work) => {
        trips = 0;
        return database.write(role, access, limits, (transaction) =>
          work({
            ...transaction,
            query(statement) {
              trips += 1;
              return transaction.query(statement);
            },
            batch(statements) {
              trips += 1;
              return transaction.batch(statements);
            },
          }),
        );
      },
      isReachable: (timeoutMs) => database.isReachable(timeoutMs),
      close: async () => {},
    },
  };
}

test("an add holds its corpus's lock for four round trips and the commit, also where it replaces", async () => {
  const { database, trips } = counting(opened.database);
  const { add } = callerOf(database, freshTenant());
  const documents = ["a", "b", "c"].map((id) => ({ id, text: `amber ${id}` }));

  await add(documents);
  // The first two make tenant and corpus, before there is a lock.
  expect(trips()).toBe(6);
  await add([{ id: "d", text: "amber" }]);
  expect(trips()).toBe(4);
  await add(documents);
  expect(trips()).toBe(4);
});
