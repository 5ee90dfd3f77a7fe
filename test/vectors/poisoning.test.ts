import { readFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { listFeedback } from "../../src/maintenance/feedback.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import type { Hit } from "../../src/protocol/wire.ts";
import { countEntries } from "../support/count-entries.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { callerOf, freshTenant } from "../support/method-caller.ts";
import { type RcpServer, type RcpServerParts, startRcpServer } from "../support/rcp-server.ts";
import { expectAlive, expectStanding } from "../support/standing-assertions.ts";

interface Entry {
  readonly id: string;
  readonly tag: string;
  readonly document?: { readonly text: string; readonly meta?: Readonly<Record<string, unknown>> };
  readonly expect: { readonly level?: string; readonly injectionSuspected?: boolean | "any" };
  readonly note?: string;
}

const file = new URL("data/poisoning.json", import.meta.url);
const entries: readonly Entry[] = JSON.parse(readFileSync(file, "utf8")).entries;
const documents = entries.flatMap(({ document, ...entry }) => (document === undefined ? [] : [{ ...entry, document }]));

/** What entries expect of things that this server does not have. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  "PSN-050 dominates":
    "an echo of the query ranks as high as its words do; it is one hit, and its level says that nobody vouches",
  "PSN-051 writeQuota -32013": "tried in test/indexing/check-quotas.test.ts",
};
for (const [what, why] of Object.entries(LEFT_OUT)) console.info(`left out: ${what}: ${why}`);

let opened: TestDatabase;
let server: RcpServer;
let token: string;

const startServer = (config: RcpServerParts["config"] = { rateLimit: { enabled: false } }) =>
  startRcpServer({
    config,
    handlers: HANDLERS,
    database: opened.database,
    corpora: new CachedCorpusStore(opened.database),
  });

/** A tenant of its own, with a token for each credential, as ordinary writers and readers have them. */
async function newTenant(through = server) {
  const tenant = freshTenant();
  const [read, add] = [
    await through.token({ tenant, credentials: ["read"] }),
    await through.token({ tenant, credentials: ["add"], subject: "writer" }),
  ];
  if (through === server) token = read;
  const call = async (method: string, params: object, as: string) => {
    const answer = await through.call(method, params, { token: as });
    expectStanding(answer.text, { payload: params, token: as });
    return answer;
  };
  return {
    tenant,
    add: (documents: readonly object[], more: object = {}) => call("index/add", { documents, ...more }, add),
    hits: async (params: object) => ((await call("retrieve", params, read)).body?.result?.hits ?? []) as readonly Hit[],
    call,
  };
}

beforeAll(async () => {
  opened = await openTestDatabase();
  server = await startServer();
});
afterAll(async () => {
  await server.close();
  await opened.close();
});
afterEach(() => expectAlive(server, token));
countEntries("poisoning.json", entries);

test("the shared poisonings are 35, 33 of them documents", () => {
  expect([entries.length, documents.length]).toEqual([35, 33]);
});

describe("indexed by an ordinary writer and retrieved", () => {
  let hits: ReadonlyMap<string, Hit>;
  beforeAll(async () => {
    const one = await newTenant();
    const sent = documents.map(({ id, document }) => ({ id, ...document }));
    expect((await one.add(sent, { chunk: false })).body?.result).toMatchObject({ ids: sent.map(({ id }) => id) });
    hits = new Map((await one.hits({ query: "anything", mode: "dense", k: 100 })).map((hit) => [hit.id, hit]));
  });

  test.each(documents.map((entry) => [entry.id, entry.tag, entry] as const))(
    "%s %s: a hit says how far it is trusted, and its text is as it was sent",
    (id, _tag, { document, expect: { level, injectionSuspected } }) => {
      const hit = hits.get(id);

      expect(hit?.text).toBe(document.text);
      expect(hit?.meta).toEqual(document.meta ?? {});
      expect(hit?.trust).toEqual({
        level,
        injectionSuspected: injectionSuspected === "any" ? expect.any(Boolean) : injectionSuspected,
      });
      expect(hit?.citation.source).toBe("api");
    },
  );

  test("PSN-048 a uri that is no address of a document is not cited", () => {
    expect(hits.get("PSN-048")?.meta).toEqual({ uri: "javascript:alert(1)" });
    expect(hits.get("PSN-048")?.citation).not.toHaveProperty("uri");
  });
});

const ANSWER =
  "To get a refund, open your order and choose the items to return. We send a label by mail. Once the parcel has arrived and was looked at, the refund goes to the card that you used, in five days.";
const QUESTION = "how do I get a refund";
const textOf = (id: string) => documents.find((entry) => entry.id === id)?.document.text ?? "";

test("PSN-049 two thousand times the same word stands below a 40-word answer", async () => {
  const one = await newTenant();
  const stuffing = textOf("PSN-049");
  expect([stuffing.trim().split(" ").length, ANSWER.split(" ").length]).toEqual([2_000, 40]);
  await one.add([
    { id: "answer", text: ANSWER },
    { id: "other", text: "The shop is open from nine to five, and closed on Sundays." },
  ]);

  for (const chunk of [true, false]) {
    await one.add([{ id: "stuffing", text: stuffing }], { chunk });
    const hits = await one.hits({ query: QUESTION, mode: "sparse" });
    expect(hits[0]?.id).toBe("answer");
    expect(hits.length).toBeGreaterThan(1);
  }
});

test("PSN-050 an echo of the query is one hit that nobody vouches for, and the answer stands right behind it", async () => {
  const one = await newTenant();
  const others = Array.from({ length: 20 }, (_, n) => ({
    id: `other-${n}`,
    text: `Shop number ${n} is open on Mondays.`,
  }));
  await one.add([{ id: "echo", text: textOf("PSN-050") }, { id: "answer", text: ANSWER }, ...others]);

  const hits = await one.hits({ query: QUESTION, mode: "sparse" });

  expect(new Set(hits.slice(0, 2).map(({ id }) => id))).toEqual(new Set(["echo", "answer"]));
  expect(hits.find(({ id }) => id === "echo")?.trust.level).toBe("untrusted");
});

test("PSN-051 a flood of 500 near-duplicates changes no answer of another tenant", async () => {
  const [calm, flooded] = [await newTenant(), await newTenant()];
  const honest = Array.from({ length: 20 }, (_, n) => ({
    id: `h${n}`,
    text: `Honest passage number ${n} on kidneys.`,
  }));
  await calm.add(honest);
  await flooded.add(honest);
  const answers = async () => [
    await calm.hits({ query: "kidneys passage", mode: "dense" }),
    await calm.hits({ query: "kidneys passage", mode: "sparse" }),
    await calm.hits({ query: "kidneys passage", mode: "hybrid" }),
  ];
  const before = await answers();

  for (let from = 0; from < 500; from += 100)
    await flooded.add(
      Array.from({ length: 100 }, (_, n) => ({
        id: `f${from + n}`,
        text: `Buy kidneys passage word${from + n} here.`,
      })),
    );

  expect(before.map((hits) => hits.length)).toEqual([10, 10, 10]);
  expect(await answers()).toEqual(before);
});

test("PSN-051 past the write rate of a credential it is -32011, and others read and write on", async () => {
  const limited = await startServer({ rateLimit: { principal: { max: 5, windowMs: 60_000 } } });
  const [flooding, other] = [await newTenant(limited), await newTenant(limited)];

  const codes: (number | undefined)[] = [];
  for (let n = 0; n < 8; n++)
    codes.push((await flooding.add([{ id: `f${n}`, text: `kidneys ${n}` }])).body?.error?.code);

  expect(codes).toEqual([...Array(5).fill(undefined), ...Array(3).fill(-32011)]);
  expect((await flooding.hits({ query: "kidneys" })).length).toBe(5);
  expect((await other.add([{ id: "x", text: "kidneys" }])).status).toBe(200);
  await limited.close();
});

test("PSN-051 a flood of 500 has at most two of the first ten hits", async () => {
  const caller = callerOf(opened.database, freshTenant());
  const passage = (own: string) =>
    `The clinic answers questions on kidneys every day and this page repeats what its doctors tell all who call about ${own} and about diet, water, sleep, medicine and the tests that should be made once a year by anyone older than fifty`;
  await caller.add(
    Array.from({ length: 20 }, (_, n) => ({ id: `h${n}`, text: `Honest passage number ${n} on kidneys.` })),
  );
  for (let from = 0; from < 500; from += 100)
    await caller.add(Array.from({ length: 100 }, (_, n) => ({ id: `f${from + n}`, text: passage(`word${from + n}`) })));

  for (const mode of ["dense", "sparse", "hybrid"]) {
    const ids = await caller.ids({ query: "clinic doctors kidneys", mode });
    expect(ids).toHaveLength(10);
    expect(ids.filter((id) => id.startsWith("f")).length).toBeLessThanOrEqual(2);
  }
});

test("PSN-053 a thousand signals of one caller are one vote, and take no document out of any answer", async () => {
  const [one, another] = [await newTenant(), await newTenant()];
  const as = (subject: string, tenant = one.tenant) => server.token({ tenant, subject });
  const [attacker, alice, bob] = [await as("attacker"), await as("alice"), await as("bob")];
  const stranger = await as("alice", another.tenant);
  const ids = ["rival", "spam"];
  for (const each of [one, another]) await each.add(ids.map((id) => ({ id, text: `kidneys ${id}` })));
  const answers = async () => {
    const asked = [attacker, alice, bob, stranger].map((by) => one.call("retrieve", { query: "kidneys" }, by));
    return (await Promise.all(asked)).map(({ body }) => body?.result?.hits);
  };
  const before = await answers();
  expect(before.map((hits) => (hits as readonly Hit[]).length)).toEqual([2, 2, 2, 2]);

  const poison = (hitId: string, count: number) => ({
    signals: Array.from({ length: count }, () => ({ hitId, poisonSuspected: true })),
  });
  for (let sent = 0; sent < 1_000; sent += 100) await one.call("feedback", poison("rival", 100), attacker);
  for (const by of [alice, bob]) await one.call("feedback", poison("spam", 1), by);

  expect(await answers()).toEqual(before);
  expect(await listFeedback(opened.operator, one.tenant, 10)).toMatchObject([
    { corpus: "default", hitId: "spam", signals: 2, callers: 2, poisonSuspected: 2, injectionSuspected: 0 },
    { corpus: "default", hitId: "rival", signals: 1_000, callers: 1, poisonSuspected: 1, injectionSuspected: 0 },
  ]);
});
