import { afterAll, beforeAll, expect, test } from "vitest";
import { compile, noRows, sql } from "../../src/sql/sql.ts";
import { callerOf, freshTenant } from "../support/method-caller.ts";
import { type OperatorCli, openOperatorCli } from "../support/operator-cli.ts";

/** `pgrcp feedback quarantine`, through the running server. */

let cli: OperatorCli;
beforeAll(async () => {
  cli = await openOperatorCli({ feedback: { quarantineAfter: 2 } });
});
afterAll(() => cli.close());

test("a look shows what would be quarantined and changes nothing; without --dry-run it is gone from answers", async () => {
  const tenant = freshTenant();
  const caller = callerOf(cli.db.database, tenant);
  await caller.add(["a", "b"].map((id) => ({ id, text: `amber ${id}` })));
  for (const subject of ["one", "two"])
    await cli.db.operator.write((transaction) =>
      transaction.query(
        compile(
          sql`insert into pgrcp_state.feedback (tenant_id, call_id, place, corpus, issuer, subject, client, hit_id, poison_suspected, expires_at)
values (${tenant}, gen_random_uuid(), 1, 'default', 'i', ${subject}, 'c', 'b', true, now() + interval '1 day')`,
          noRows,
        ),
      ),
    );
  const ids = async () => (await caller.ids({ query: "amber", mode: "sparse" })).toSorted();
  const table = new RegExp(`^tenant +corpus +document +callers\\n${tenant} +default +b +2\\n$`);

  const look = await cli.pgrcp("feedback", "quarantine", tenant, "--dry-run");
  expect([look.code, look.stdout, look.stderr]).toEqual([
    0,
    expect.stringMatching(table),
    "would be quarantined: 1; nothing was changed\n",
  ]);
  expect(await ids()).toEqual(["a", "b"]);

  const done = await cli.pgrcp("feedback", "quarantine", tenant);
  expect([done.code, done.stdout, done.stderr]).toEqual([
    0,
    expect.stringMatching(table),
    "quarantined: 1; chunks: 1; versions withdrawn: 1\n",
  ]);
  expect(await ids()).toEqual(["a"]);
}, 120_000);
