import { afterAll, expect, test } from "vitest";
import { rightsFacts } from "../../src/db/catalog-facts.ts";
import { openTestDatabase } from "../support/database.ts";

const { admin, close } = await openTestDatabase();
afterAll(close);

// Reviewed by hand; `vitest -u` writes it anew after a migration.
test("policies, grants and triggers are the ones in migrations/rights.txt", async () => {
  const rights = await admin.query(rightsFacts);

  await expect(`${rights.join("\n")}\n`).toMatchFileSnapshot("../../migrations/rights.txt");
});
