import { afterAll, expect, test } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { backendUnavailable } from "../../src/protocol/errors.ts";
import { openTestDatabase } from "../support/database.ts";
import { callerOf, freshTenant } from "../support/method-caller.ts";

const { database, close } = await openTestDatabase();
afterAll(close);

test("writes find their corpus while every reader's connection is in use", async () => {
  const tenantId = freshTenant();
  await callerOf(database, tenantId).add([{ id: "one", text: "amber" }]);
  const busy: Database = {
    kind: database.kind,
    read: (role, ...rest) =>
      role === "reader"
        ? Promise.reject(backendUnavailable({ retryable: true, detail: "every database connection is in use" }))
        : database.read(role, ...rest),
    readCorpus(_point, ...asked) {
      return this.read("reader", ...asked);
    },
    write: (...all) => database.write(...all),
    isReachable: (timeoutMs) => database.isReachable(timeoutMs),
    close: async () => {},
  };

  // A caller each, so that neither finds the corpus in a cache.
  expect(await callerOf(busy, tenantId).add([{ id: "two", text: "basalt" }])).toMatchObject({ ids: ["two"] });
  expect(await callerOf(busy, tenantId).delete(["one"])).toBe(1);
  await expect(callerOf(busy, tenantId).retrieve({ query: "basalt" })).rejects.toMatchObject({ code: -32010 });
});
