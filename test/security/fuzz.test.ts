import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { EVERY_FIELD } from "../support/every-field.ts";
import { judge, tally } from "../support/fuzz/judge.ts";
import { type FuzzRequest, fuzzFilter, fuzzRequest, type Held } from "../support/fuzz/requests.ts";
import { sendRaw } from "../support/fuzz/send.ts";
import { type Names, validFilter } from "../support/fuzz/valid-calls.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";
import { testSeed } from "../support/seeded-random.ts";
import { expectAlive, expectUnpolluted } from "../support/standing-assertions.ts";
import { testGenerator, testReranker } from "../support/test-models.ts";

/** PGRCP_TEST_FULL=1 sends them all; PGRCP_TEST_SEED repeats a run. */
const isFull = process.env.PGRCP_TEST_FULL === "1";
const MESSAGES = isFull ? 20_000 : 3_000;
const FILTERS = isFull ? 5_000 : 1_000;
const LANES = 4;
/** Far above what an answer takes, far below the server's own deadlines. */
const ANSWERED_MS = 10_000;

/** Only in what the other tenant wrote. */
const SECRET = "onlyforglobex";

const seed = testSeed();
let opened: TestDatabase;
let server: RcpServer;
let names: Names;
let held: Held;
let own: string;
let foreign: string;

const fieldSettings = Object.fromEntries(
  [...EVERY_FIELD.values()].map(({ name, type, array }) => [name, array ? `${type}[]` : type]),
);

beforeAll(async () => {
  console.info(`seed ${seed} (PGRCP_TEST_SEED)`);
  opened = await openTestDatabase({ fields: EVERY_FIELD });
  server = await startRcpServer({
    config: {
      auth: { combinedTokens: true },
      rateLimit: { enabled: false },
      sessions: { maxPerPrincipal: 100_000 },
      filter: { fields: fieldSettings },
      limits: { maxJsonDepth: 64 },
    },
    handlers: HANDLERS,
    reranker: testReranker(),
    generator: testGenerator(),
    database: opened.database,
    corpora: new CachedCorpusStore(opened.database),
  });
  const mint = (tenant: string, credentials: readonly ("read" | "add" | "delete")[]) =>
    server.token({ tenant, credentials, expiresIn: 3_600 });
  own = await mint("acme", ["read", "add", "delete"]);
  foreign = await mint("globex", ["read", "add", "delete"]);
  const write = (token: string, secret: string, key: string) =>
    server.call(
      "index/add",
      {
        documents: Array.from({ length: 20 }, (_, n) => ({
          id: `d${n}`,
          text: `amber zircon ${secret} ${n}`,
          meta: { title: `quartz ${secret}`, year: 2000 + n, lang: "en" },
        })),
        _meta: { idempotencyKey: key },
      },
      { token },
    );
  await write(own, "", "own key");
  const theirs = await write(foreign, SECRET, "their key");
  const page = async (token: string) =>
    String((await server.call("retrieve", { query: "amber", k: 1 }, { token })).body?.result?.nextCursor);
  const [ownCursor, theirCursor] = [await page(own), await page(foreign)];
  names = {
    docIds: ["d1", "d2", "d19", "new", "none", "d1#0"],
    cursors: [ownCursor, theirCursor, ownCursor.slice(1), `${ownCursor}=`, ownCursor.toUpperCase()],
    versions: [String(theirs.body?.result?._meta?.indexVersion), "no-such-version"],
    keys: ["own key", "their key", "a", "b"],
  };
  const sessions = [await server.initialize(own), await server.initialize(foreign)];
  held = {
    tokens: [own, own, own, await mint("acme", ["read"]), await mint("acme", ["add"]), `${own.slice(0, -6)}AAAAAA`],
    sessions: [...sessions, "", "x"],
  };
});
afterAll(async () => {
  console.info(`answers: ${[...tally].map(([kind, count]) => `${kind} ${count}`).join(", ")}`);
  await server.close();
  await opened.close();
});

/** What the other tenant sees, without what differs from call to call. */
async function seenByOthers(): Promise<unknown> {
  const { body } = await server.call("retrieve", { query: "amber", k: 100, mode: "hybrid" }, { token: foreign });
  return [body?.result?.hits, body?.result?.indexVersion];
}

async function exchange(request: FuzzRequest): Promise<void> {
  const before = server.observations.length;
  judge(request, await sendRaw(server.port, request, ANSWERED_MS), [SECRET]);
  const bugs = server.observations.slice(before).filter(({ kind }) => kind === "internal-error");
  expect(bugs, "an error that nobody expected").toEqual([]);
}

/** Requests that differ, some at a time. */
async function check(requests: fc.Arbitrary<FuzzRequest>, count: number): Promise<void> {
  const before = await seenByOthers();
  const lane = (number: number) =>
    fc.assert(fc.asyncProperty(requests, exchange), { seed: (seed + number) | 0, numRuns: count / LANES });
  await Promise.all(Array.from({ length: LANES }, (_, number) => lane(number)));
  expect(await seenByOthers()).toEqual(before);
  expectUnpolluted();
  await expectAlive(server, own);
}

describe("whatever is sent", () => {
  test(`of ${MESSAGES} malformed messages each is answered as the protocol says, and nothing breaks or leaks`, async () => {
    await check(fuzzRequest(names, held), MESSAGES);
  }, 1_800_000);

  test(`of ${FILTERS} filters, valid and nearly, each is answered as the protocol says`, async () => {
    await check(fuzzFilter(validFilter, own), FILTERS);
  }, 900_000);
});
