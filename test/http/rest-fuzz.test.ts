import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CREDENTIALS } from "../../src/auth/principal.ts";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { EVERY_FIELD } from "../support/every-field.ts";
import { CANARY, oddName, oddText, oddValue } from "../support/fuzz/odd-values.ts";
import { Members, writeTree } from "../support/fuzz/wire-text.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";
import { testSeed } from "../support/seeded-random.ts";
import { expectUnpolluted } from "../support/standing-assertions.ts";

const CALLS = 600;
const [OWN, OTHER] = ["acme", "globex"] as const;
/** Only in what the other tenant wrote. */
const SECRET = "onlyforglobex";
const fields = Object.fromEntries(
  [...EVERY_FIELD.values()].map(({ name, type, array }) => [name, array ? `${type}[]` : type]),
);
const scalars = [...EVERY_FIELD.values()].filter(({ array }) => !array).map(({ name }) => name);

const seed = testSeed();
let db: TestDatabase;
let server: RcpServer;
let token: string;
beforeAll(async () => {
  console.info(`seed ${seed} (PGRCP_TEST_SEED)`);
  db = await openTestDatabase({ fields: EVERY_FIELD });
  server = await startRcpServer({
    config: { auth: { combinedTokens: true }, filter: { fields }, rateLimit: { enabled: false } },
    handlers: HANDLERS,
    database: db.database,
    corpora: new CachedCorpusStore(db.database),
  });
  token = await server.token({ tenant: OWN, credentials: CREDENTIALS, expiresIn: 3_600 });
  for (const tenant of [OWN, OTHER]) {
    const adder = await server.token({ tenant, credentials: ["add"] });
    const text = tenant === OWN ? "amber" : `amber ${SECRET}`;
    await server.call("index/add", { documents: [{ id: "plan", text }] }, { token: adder });
  }
});
afterAll(async () => {
  await server.close();
  await db.close();
});

type Member = readonly [string, unknown];

/** Good calls, each with some members that nobody expects, in any order and also twice. */
const call = fc
  .constantFrom<readonly [string, readonly Member[]]>(
    ["retrieve", [["query", "amber"]]],
    ["retrieve_filtered", [["query", "amber"]]],
    ["get_document", [["id", "plan"]]],
    ["add_document", [["text", "basalt"]]],
    ["delete_document", [["id", "gone"]]],
  )
  .chain(([tool, good]) => {
    const name = fc.oneof(
      fc.constantFrom("query", "k", "filter", "id", "text", "meta", "tenantId", ...scalars),
      oddName,
    );
    const value = fc.oneof(
      oddValue,
      fc.constantFrom("", OWN, OTHER),
      oddText.map((text) => JSON.stringify({ a: text })),
    );
    const odd = fc.array(fc.tuple(name, value), { maxLength: 3 });
    const members = odd.chain((list) =>
      fc.shuffledSubarray([...good, ["tenantId", OWN] as const, ...list], { minLength: 1 }),
    );
    const query = fc.oneof(
      { weight: 4, arbitrary: fc.constant("") },
      fc.constantFrom("?tenantId=globex", "?k=1", "?", "?%ff"),
    );
    return fc.record({ tool: fc.constant(tool), members, query });
  });

test("whatever is sent, nothing fails, nobody is told another's, and only who says its own tenant once is served", async () => {
  const statuses = new Map<number, number>();
  const claim = fc.asyncProperty(call, async ({ tool, members, query }) => {
    const body = writeTree(new Members(members));
    const { status, text } = await server.post(`/v1/${tool}${query}`, body, { token });

    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    expect([200, 400, 403, 404, 413]).toContain(status);
    expect(text).not.toContain(SECRET);
    if (status !== 200) expect(text).not.toContain(CANARY);
    const said = members.filter(([name]) => /^(x?tenant(_?id)?)$/i.test(name));
    if (said.length !== 1 || said[0]?.[0] !== "tenantId" || said[0][1] !== OWN || query.includes("tenant"))
      expect([400, 403]).toContain(status);
  });
  await fc.assert(claim, { numRuns: CALLS, seed, endOnFailure: true });

  console.info(Object.fromEntries(statuses));
  for (const status of [200, 400, 403]) expect([status, (statuses.get(status) ?? 0) > 0]).toEqual([status, true]);
  expectUnpolluted();
  expect(server.observations.filter(({ kind }) => kind === "internal-error")).toEqual([]);
});
