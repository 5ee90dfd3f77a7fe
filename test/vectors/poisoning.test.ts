import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CREDENTIALS } from "../../src/auth/principal.ts";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { listFeedback } from "../../src/maintenance/feedback.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import type { Hit } from "../../src/protocol/wire.ts";
import { screenText } from "../../src/trust/screen-text.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { callerOf, freshTenant } from "../support/method-caller.ts";
import { startRcpServer } from "../support/rcp-server.ts";

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
  "PSN-050 dominates": "an echo of the query ranks as high as its words do; its level says that nobody vouches for it",
  "PSN-051 inTopTen":
    "a flood as large as the list of candidates leaves mmr nothing else to choose from; near-duplicates are not collapsed",
  "PSN-051 writeQuota": "there is no write quota beside the rate of requests",
};

let opened: TestDatabase;
beforeAll(async () => {
  opened = await openTestDatabase();
});
afterAll(() => opened.close());

test("the shared poisonings are 35; what is left out is listed", () => {
  for (const [what, why] of Object.entries(LEFT_OUT)) console.info(`left out: ${what}: ${why}`);
  expect([entries.length, documents.length]).toEqual([35, 33]);
});

describe("the screen", () => {
  test.each(documents.map((entry) => [entry.id, entry.tag, entry.note ?? "", entry] as const))(
    "%s %s: %s",
    (_id, _tag, _note, { document, expect: { injectionSuspected } }) => {
      const { injectionSuspected: found } = screenText(document.text);

      if (injectionSuspected === "any") expect(found).toBeTypeOf("boolean");
      else expect(found).toBe(injectionSuspected);
    },
  );
});

describe("indexed by an ordinary writer and retrieved", () => {
  let hits: ReadonlyMap<string, Hit>;
  beforeAll(async () => {
    const caller = callerOf(opened.database, freshTenant());
    const sent = documents.map(({ id, document }) => ({ id, ...document }));
    await caller.add(sent, { chunk: false });
    hits = new Map((await caller.hits({ query: "anything", mode: "dense", k: 100 })).map((hit) => [hit.id, hit]));
  });

  test.each(documents.map((entry) => [entry.id, entry.tag, entry] as const))(
    "%s %s: a hit says how far it is trusted, and its text is as it was sent",
    (id, _tag, { document, expect: expected }) => {
      const hit = hits.get(id);

      expect(hit?.text).toBe(document.text);
      expect(hit?.trust.level).toBe(expected.level);
      expect(hit?.trust.injectionSuspected).toBe(screenText(document.text).injectionSuspected);
    },
  );

  test("PSN-048 a uri that is no address of a document is not cited", () => {
    expect(hits.get("PSN-048")?.meta).toEqual({ uri: "javascript:alert(1)" });
    expect(hits.get("PSN-048")?.citation).not.toHaveProperty("uri");
  });
});

test("PSN-049 two thousand times the same word stands below a 40-word answer", async () => {
  const caller = callerOf(opened.database, freshTenant());
  const stuffing = documents.find(({ id }) => id === "PSN-049")?.document.text ?? "";
  const answer =
    "To get a refund, open your order and choose the items to return. We send a label by mail. Once the parcel has arrived and was looked at, the refund goes to the card that you used, in five days.";
  expect([stuffing.trim().split(" ").length, answer.split(" ").length]).toEqual([2_000, 40]);
  await caller.add([
    { id: "stuffing", text: stuffing },
    { id: "answer", text: answer },
    { id: "other", text: "The shop is open from nine to five, and closed on Sundays." },
  ]);

  for (const chunk of [true, false]) {
    await caller.add([{ id: "stuffing", text: stuffing }], { chunk });
    const ids = await caller.ids({ query: "how do I get a refund", mode: "sparse" });
    expect(ids[0]).toBe("answer");
    expect(ids.length).toBeGreaterThan(1);
  }
});

test("PSN-051 a flood of 500 near-duplicates changes no answer of another tenant", async () => {
  const [calm, flooded] = [callerOf(opened.database, freshTenant()), callerOf(opened.database, freshTenant())];
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

test("PSN-053 a thousand signals of one caller are one vote, and take no document out of any answer", async () => {
  const server = await startRcpServer({
    config: { auth: { combinedTokens: true }, rateLimit: { enabled: false } },
    handlers: HANDLERS,
    database: opened.database,
    corpora: new CachedCorpusStore(opened.database),
  });
  const [tenant, other] = [freshTenant(), freshTenant()];
  const as = (subject: string, whose = tenant) => server.token({ tenant: whose, subject, credentials: CREDENTIALS });
  const [attacker, alice, bob, stranger] = [
    await as("attacker"),
    await as("alice"),
    await as("bob"),
    await as("alice", other),
  ];
  const ids = ["rival", "spam"];
  for (const token of [alice, stranger])
    await server.call("index/add", { documents: ids.map((id) => ({ id, text: `kidneys ${id}` })) }, { token });
  const answers = async () => {
    const asked = [attacker, alice, bob, stranger].map((token) =>
      server.call("retrieve", { query: "kidneys" }, { token }),
    );
    return (await Promise.all(asked)).map(({ body }) => body?.result?.hits);
  };
  const before = await answers();
  expect(before.map((hits) => (hits as readonly Hit[]).length)).toEqual([2, 2, 2, 2]);

  const poison = (hitId: string, count: number) => ({
    signals: Array.from({ length: count }, () => ({ hitId, poisonSuspected: true })),
  });
  for (let sent = 0; sent < 1_000; sent += 100)
    await server.call("feedback", poison("rival", 100), { token: attacker });
  for (const token of [alice, bob]) await server.call("feedback", poison("spam", 1), { token });

  expect(await answers()).toEqual(before);
  expect(await listFeedback(opened.operator, tenant, 10)).toMatchObject([
    { corpus: "default", hitId: "spam", signals: 2, callers: 2, poisonSuspected: 2, injectionSuspected: 0 },
    { corpus: "default", hitId: "rival", signals: 1_000, callers: 1, poisonSuspected: 1, injectionSuspected: 0 },
  ]);
  await server.close();
});
