import { describe, expect, test } from "vitest";
import type { CorpusName, TenantId } from "../../src/catalog/corpus.ts";
import type { RetrievalPlan } from "../../src/plan/retrieval-plan.ts";
import { type CursorScope, isSigned, type Place, parseCursor, writeCursor } from "../../src/retrieval/cursor.ts";

const KEY = new Uint8Array(32).fill(1);
const LIST = Buffer.from(Array.from({ length: 16 }, (_, index) => index));
const OWNER = { tenantId: "acme" as TenantId, issuer: "https://issuer.test", subject: "alice", client: "agent" };
const PLAN: RetrievalPlan = {
  query: "apple",
  rewrite: undefined,
  recall: { mode: "dense" },
  k: 5,
  candidateK: 100,
  firstCandidateK: 20,
  maxCandidateK: 1000,
  maxNearDuplicates: 3,
  filter: undefined,
  unit: "chunk",
  rerank: undefined,
  recency: undefined,
  minScore: undefined,
  mmr: undefined,
  tokenBudget: undefined,
  maxHitCharacters: 5000,
  includeText: true,
  includeVectors: false,
  seed: undefined,
  indexVersion: undefined,
  sessionId: undefined,
  cursor: undefined,
  notes: [],
};
const SCOPE: CursorScope = { owner: OWNER, corpus: "default" as CorpusName, plan: PLAN };
const PLACE: Place = {
  list: { kind: "kept", id: LIST },
  offset: 5,
  caps: { candidateK: 100, maxCandidateK: 1000, maxNearDuplicates: 3 },
  expiresAt: 1_800_000_000,
};
const ANEW = { kind: "version", token: LIST.toString("base64url"), shown: [] } as const;
const CURSOR = writeCursor(PLACE, SCOPE, KEY);

const isOurs = (cursor: string, scope = SCOPE, key = KEY) => {
  const place = parseCursor(cursor);
  return place !== undefined && isSigned(place, scope, key);
};

test.each<readonly [string, Place]>([
  ["a list that was kept", PLACE],
  ["a version to find the list in anew", { ...PLACE, list: ANEW }],
  ["what pages before have shown", { ...PLACE, offset: 0, list: { ...ANEW, shown: [0, 7, 2 ** 32 - 1] } }],
  ["the greatest numbers", { ...PLACE, offset: 2 ** 32 - 1, caps: { ...PLACE.caps, maxNearDuplicates: 65_535 } }],
])("a cursor names %s and a place in it, and tells neither query nor caller", (_, place) => {
  const cursor = writeCursor(place, SCOPE, KEY);
  expect(cursor).toMatch(/^[A-Za-z0-9_-]{68,84}$/);
  const { signature: _signature, ...read } = parseCursor(cursor) ?? {};
  expect(read).toEqual(place);
  expect(isOurs(cursor)).toBe(true);
  expect(Buffer.from(cursor, "base64url").toString("latin1")).not.toMatch(/apple|alice|acme/);
});

describe("is good for nothing but what it was made for", () => {
  test.each<readonly [string, CursorScope]>([
    ["another tenant", { ...SCOPE, owner: { ...OWNER, tenantId: "globex" as TenantId } }],
    ["another subject", { ...SCOPE, owner: { ...OWNER, subject: "bob" } }],
    ["another client", { ...SCOPE, owner: { ...OWNER, client: "" } }],
    ["another issuer", { ...SCOPE, owner: { ...OWNER, issuer: "https://other.test" } }],
    ["another corpus", { ...SCOPE, corpus: "papers" as CorpusName }],
    ["another query", { ...SCOPE, plan: { ...PLAN, query: "pear" } }],
    ["another k", { ...SCOPE, plan: { ...PLAN, k: 6 } }],
    ["other fields in hits", { ...SCOPE, plan: { ...PLAN, includeVectors: true } }],
    ["another trajectory", { ...SCOPE, plan: { ...PLAN, sessionId: "s" } }],
  ])("%s", (_, scope) => expect(isOurs(CURSOR, scope)).toBe(false));

  test("another key", () => expect(isOurs(CURSOR, SCOPE, new Uint8Array(32).fill(2))).toBe(false));

  test("caps of the server that a deploy changed do not matter, for the cursor has those of its first page", () => {
    const plan = {
      ...PLAN,
      candidateK: 50,
      maxCandidateK: 500,
      maxNearDuplicates: 0,
      maxHitCharacters: 9,
      notes: ["mmr was left out"],
    };
    expect(isOurs(CURSOR, { ...SCOPE, plan })).toBe(true);
  });

  test("a reranked list is another, however many candidates were reranked", () => {
    const reranked = (topN: number) => ({ ...SCOPE, plan: { ...PLAN, rerank: { topN } } });
    const cursor = writeCursor(PLACE, reranked(50), KEY);
    expect(isOurs(cursor, reranked(20))).toBe(true);
    expect(isOurs(cursor)).toBe(false);
  });

  test("the plan with the cursor in it is the same plan", () =>
    expect(isOurs(CURSOR, { ...SCOPE, plan: { ...PLAN, cursor: CURSOR } })).toBe(true));
});

test("no bit of it can be changed", () => {
  const bytes = Buffer.from(CURSOR, "base64url");
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const changed = Buffer.from(bytes);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    expect(isOurs(changed.toString("base64url"))).toBe(false);
  }
});

/** @param change of the bytes, the signature's first */
const altered = (cursor: string, change: (bytes: Buffer) => Uint8Array): string =>
  Buffer.from(change(Buffer.from(cursor, "base64url"))).toString("base64url");
const WITH_SHOWN = writeCursor({ ...PLACE, list: { ...ANEW, shown: [7] } }, SCOPE, KEY);

test.each([
  "",
  "AAAA",
  `${CURSOR}=`,
  CURSOR.slice(1),
  `${CURSOR}A`,
  `${CURSOR.slice(0, 67)}+`,
  `${CURSOR}\n`,
  altered(CURSOR, (bytes) => bytes.fill(2, 16, 17)), // of a third kind
  altered(CURSOR, (bytes) => Buffer.concat([bytes, Buffer.alloc(4)])), // a kept list, and what was shown of it
  altered(WITH_SHOWN, (bytes) => bytes.subarray(0, -1)),
  `${WITH_SHOWN.slice(0, -1)}${WITH_SHOWN.endsWith("w") ? "x" : "w"}`, // other letters for the same bits
  "A".repeat(100_000),
])("a text of another form is none", (text) => expect(parseCursor(text)).toBeUndefined());
