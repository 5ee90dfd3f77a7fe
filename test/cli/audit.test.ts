import { afterAll, beforeAll, expect, test } from "vitest";
import { RefusalLog } from "../../src/db/refusal-log.ts";
import { callerOf, freshTenant } from "../support/method-caller.ts";
import { type OperatorCli, openOperatorCli } from "../support/operator-cli.ts";

/** `pgrcp audit`, through the running server. */

let cli: OperatorCli;
beforeAll(async () => {
  cli = await openOperatorCli();
});
afterAll(() => cli.close());

test("what is on record of a tenant is listed for people and for scripts, since when it is asked for", async () => {
  const tenantId = freshTenant();
  await callerOf(cli.db.database, tenantId).add([{ id: "a", text: "amber" }]);
  const refusals = new RefusalLog(cli.db.database, () => {});
  const nobody = { issuer: "i", subject: "mallory \u001b[2J", client: "", tokenId: undefined, detail: undefined };
  refusals.add({ tenantId, ...nobody, method: "index/delete", corpus: "default" });
  await refusals.close();

  const listed = await cli.pgrcp("audit", tenantId);
  expect(listed.code).toBe(0);
  expect(listed.stdout).toMatch(/^at +action +corpus +version +count +method +subject /);
  expect(listed.stdout).toMatch(/\n20\S+Z +add +default +1 +1 /);
  expect(listed.stdout).toMatch(/\n20\S+Z +refuse +default +1 +index\/delete +mallory \\u\{1b\}\[2J /);

  const lines = (await cli.pgrcp("audit", tenantId, "--since", "1d", "--json")).stdout.trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line).action)).toEqual(["add", "refuse"]);
  expect((await cli.pgrcp("audit", tenantId, "--since", "2999-01-01", "--json")).stdout).toBe("");

  const misspelt = await cli.pgrcp("audit", "nobody");
  expect([misspelt.code, misspelt.stderr]).toEqual([2, expect.stringMatching(/^error: there is no such tenant\n/)]);
  const unclear = await cli.pgrcp("audit", tenantId, "--since", "yesterday");
  expect([unclear.code, unclear.stderr]).toEqual([2, expect.stringContaining("days back such as 30d")]);
}, 120_000);
