import { afterAll, beforeAll, expect, test } from "vitest";
import { callerOf, freshTenant } from "../support/method-caller.ts";
import { type OperatorCli, openOperatorCli } from "../support/operator-cli.ts";

/** `pgrcp sources` and `pgrcp purge`, through the running server. */

let cli: OperatorCli;
beforeAll(async () => {
  cli = await openOperatorCli();
});
afterAll(() => cli.close());

test("a source is listed, revoked and restored, and a document of it purged", async () => {
  const tenant = freshTenant();
  const good = callerOf(cli.db.database, tenant, { principal: { source: "good" } });
  const bad = callerOf(cli.db.database, tenant, { principal: { source: "bad" } });
  await good.add([{ id: "a", text: "amber" }]);
  await bad.add(["x", "y"].map((id) => ({ id, text: `amber ${id}` })));
  const ids = () => good.ids({ query: "amber", mode: "sparse" });

  const listed = await cli.pgrcp("sources", "list", tenant);
  expect(listed.stdout).toMatch(/^source {2}issuers .*\nbad +1 +1 +2 +2 {2}20.*\ngood +1 +1 +1 +1 {2}20/);

  const revoked = await cli.pgrcp("sources", "revoke", tenant, "bad", "--json");
  expect([revoked.code, revoked.stdout]).toEqual([0, '{"corpus":"default","documents":2,"chunks":2,"versions":1}\n']);
  expect(await ids()).toEqual(["a"]);
  const [row] = (await cli.pgrcp("sources", "list", tenant, "--corpus", "default", "--json")).stdout.split("\n");
  expect(JSON.parse(row ?? "")).toMatchObject({ source: "bad", documents: 2, revokedAt: expect.any(String) });

  const again = await cli.pgrcp("sources", "revoke", tenant, "bad");
  expect([again.code, again.stderr]).toEqual([0, "there was nothing left to do\n"]);

  const restored = await cli.pgrcp("sources", "restore", tenant, "bad");
  expect(restored.stdout).toMatch(/^corpus {3}documents {2}chunks {2}versions withdrawn\ndefault +2 +2 +1\n$/);
  expect((await ids()).toSorted()).toEqual(["a", "x", "y"]);

  const purged = await cli.pgrcp("purge", tenant, "default", "x", "z");
  expect([purged.code, purged.stdout]).toEqual([
    5,
    expect.stringMatching(/^documents {2}chunks {2}versions withdrawn\n +1 +1 +1\n$/),
  ]);
  expect(purged.stderr).toMatch(/^not there: z\nerror: the corpus has nothing of 1 of the ids\nremedy: /);
  expect((await ids()).toSorted()).toEqual(["a", "y"]);

  const misspelt = await cli.pgrcp("sources", "revoke", tenant, "bda");
  expect([misspelt.code, misspelt.stderr]).toEqual([
    2,
    "error: the tenant has nothing by such a source\nremedy: pgrcp sources list shows those there are\n",
  ]);
}, 120_000);
