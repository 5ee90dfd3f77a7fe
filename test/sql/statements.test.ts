import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Corpus, CorpusName, FilterField } from "../../src/catalog/corpus.ts";
import type { Database, DatabaseRole } from "../../src/db/database.ts";
import { FILTER_OPERATORS, resolveFilter } from "../../src/plan/resolve-filter.ts";
import { deleteOldRecords, deleteOldVersions, recordCommand, selectAudit } from "../../src/sql/audit.ts";
import {
  keepPostingsInPlace,
  lockPostingsPlaces,
  moveOutOfLine,
  movePostings,
  postingsRoom,
} from "../../src/sql/compaction.ts";
import { countOtherCorpora, createCorpus, findCorpus, listCorpora } from "../../src/sql/corpora.ts";
import {
  advanceCorpus,
  type ChunkRow,
  closeChunks,
  closeDocuments,
  countLive,
  type DocumentRow,
  insertChunks,
  insertDocuments,
  insertTexts,
  lockCorpus,
  type NewVersion,
  recordVersion,
} from "../../src/sql/documents.ts";
import { deleteExpiredFeedback, type FeedbackCall, insertFeedback, lockFeedback } from "../../src/sql/feedback.ts";
import {
  deleteExpiredKeys,
  findFirstResult,
  insertFirstResult,
  type KeyOwner,
  keyRoom,
} from "../../src/sql/idempotency.ts";
import { selectFeedback, updateLanguage, updateQuotas } from "../../src/sql/operator.ts";
import {
  endMove,
  markGraph,
  moveChunks,
  selectBrokenIndexes,
  selectPlacedCorpora,
  selectUnusedPartitions,
  startMove,
} from "../../src/sql/partitions.ts";
import { eraseChunks, eraseDocuments } from "../../src/sql/purge.ts";
import { rewriteDocuments, selectAnswering, selectQuarantined, selectSuspected } from "../../src/sql/quarantine.ts";
import { lockQuotas, selectKept, selectOwnQuotas } from "../../src/sql/quotas.ts";
import { chunkDates, chunkOfDocument, chunkPassages, chunkVectors, hitRows } from "../../src/sql/ranked-chunks.ts";
import {
  createCursorKey,
  deleteExpiredRankedLists,
  dropRankedLists,
  findCursorKey,
  findRankedList,
  insertRankedList,
} from "../../src/sql/ranked-lists.ts";
import {
  chunksBeyond,
  chunksByGraph,
  chunksByNumber,
  corpusState,
  countPassing,
  estimatePassing,
  nearestChunks,
  planAsReader,
  searchGraph,
} from "../../src/sql/recall.ts";
import { postingsOfTerms } from "../../src/sql/recall-sparse.ts";
import { type RefusedCalls, recordRefusals } from "../../src/sql/refusals.ts";
import {
  flushedPosition,
  newestVersion,
  REFUSED_AS_LATE,
  standbyFacts,
  versionOnStandby,
} from "../../src/sql/replicas.ts";
import {
  deleteChunks,
  deleteDocuments,
  deletePostings,
  rewritePostings,
  selectGoneChunks,
  selectHorizons,
  selectPostings,
  withdrawVersions,
} from "../../src/sql/retention.ts";
import { forgetRevoked, selectRevocation } from "../../src/sql/revocations.ts";
import {
  deleteExpiredSessions,
  deleteSession,
  insertSession,
  lockOwner,
  nextExpiry,
  type SessionOwner,
  touchSession,
} from "../../src/sql/sessions.ts";
import {
  closeSource,
  deleteRevocation,
  forgetSuperseded,
  insertRevocation,
  lockTenant,
  reopenSource,
  selectAnyBy,
  selectCorpusNames,
  selectSources,
  withdrawVersionsHolding,
  withdrawVersionsSince,
  withdrawVersionsWith,
} from "../../src/sql/sources.ts";
import type { SqlValue, Statement } from "../../src/sql/sql.ts";
import { createTenant } from "../../src/sql/tenants.ts";
import {
  deleteExpiredTrajectories,
  extendTrajectory,
  findTrajectory,
  forgetTrajectories,
} from "../../src/sql/trajectories.ts";
import { accessTo } from "../support/access.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { EVERY_FIELD, FILTER_LIMITS } from "../support/every-field.ts";
import { papersOf } from "./papers.ts";

const CASES = new URL("cases/", import.meta.url);
const reviewed = (name: string) => readFileSync(new URL(`${name}/statement.sql`, CASES), "utf8");

const CORPUS = papersOf("acme");
const KEY = { tenantId: CORPUS.tenantId, corpus: CORPUS.name };
const OWN: Corpus = { ...CORPUS, placement: "p_1" };
const MOVING: Corpus = { ...CORPUS, placement: "p_1", movingFrom: "shared" };
const NEWEST = { pin: undefined };
const PINNED = { pin: "v7-token" };
const FIRST_HITS = { count: 2, show: { unit: "chunk", maxCharacters: 5_000, vector: false } } as const;
const VECTOR = Float32Array.of(0.5, -0.25);

const asked = {
  and: [{ field: "year", op: "gte", value: 2000 }, { not: { field: "tags", op: "contains", value: "red" } }],
};
const datePublished: FilterField = { name: "published", type: "date", array: false, column: "f_published" };
const filter = resolveFilter(asked, EVERY_FIELD, FILTER_OPERATORS, FILTER_LIMITS);
if (filter === undefined) throw new Error("the filter is absent");

const SURPLUS = { near: ["1".repeat(128), "01".repeat(64)], but: ["a", "it's"] };

const BY = { source: "api", issuer: "https://issuer.test", subject: "alice", tokenId: "jti-1" };
const DOCUMENTS: readonly DocumentRow[] = [
  {
    docId: "plain",
    body: 'It\'s {text}, "quoted"\\',
    title: null,
    uri: null,
    language: null,
    trust: "untrusted",
    injectionSuspected: false,
    quarantined: false,
    meta: "{}",
    chunkCount: 1,
    textBytes: 22,
    contexts: ['of "it"', ""],
  },
  {
    docId: "held",
    body: "",
    title: "NULL",
    uri: "https://example.com/a,b",
    language: "en",
    trust: "community",
    injectionSuspected: true,
    quarantined: true,
    meta: '{"year":1999, "year":2000}',
    chunkCount: 0,
    textBytes: 0,
    contexts: null,
  },
];
const chunk = (chunkNo: number, fields: ChunkRow["fields"]): ChunkRow => ({
  chunkNo,
  docId: "plain",
  ordinal: chunkNo - 4,
  terms: 3,
  start: 0,
  end: 12,
  fingerprint: "01".repeat(64),
  embedding: "[0.5,-0.25]",
  fields,
});
const FULL = new Map(
  Object.entries({
    lang: "it's",
    title: 'a "title"',
    year: -9_007_199_254_740_991,
    rating: 1e-7,
    active: false,
    published: 1_682_899_200_000,
    tags: ["a'b", 'q"{},\\', "", "NULL"],
    notes: [],
    years: [3, 1, 2],
    ratings: [0.5, 1e308],
    flags: [true, false],
    dates: [0, -1],
  }),
);
const counters = { version: 8, nextChunk: 6, liveDocuments: 2, liveTextBytes: 22, liveChunks: 2, liveLength: 6 };
const ADDED: NewVersion = { counters, token: "v8-token", action: "add", documents: 2, ...BY };
const DELETED: NewVersion = { ...ADDED, action: "delete", tokenId: undefined };

const REFUSED: RefusedCalls = {
  tenantId: CORPUS.tenantId,
  issuer: "https://issuer.test",
  subject: "alice",
  client: "agent",
  tokenId: "jti-1",
  method: "index/add",
  corpus: "papers",
  count: 3,
  detail: "index/add needs the add credential",
};

const OWNER: SessionOwner = {
  tenantId: CORPUS.tenantId,
  issuer: "https://issuer.test",
  subject: "alice",
  client: "agent",
};
const HASH = Uint8Array.of(0, 1, 254, 255);
const HORIZON = { ...KEY, version: 7 };
const BLOCKS = [{ term: "it's", block: 1, packed: Uint8Array.of(0, 1, 2, 3), wide: Uint8Array.of() }];
const STATE_OWNER = { tenantId: CORPUS.tenantId, ownerHash: Uint8Array.of(1, 2) };
const TRAJECTORY = { ...STATE_OWNER, sessionHash: Uint8Array.of(3, 4) };
const LIST = { indexVersion: "v7-token", candidates: 12, entries: Uint8Array.of(5, 6, 7) };
const SESSION = { owner: OWNER, hash: HASH, capabilities: '{"retrieve":{}}', logLevel: "info", idleTtlSeconds: 3_600 };

const FEEDBACK: FeedbackCall = {
  ...OWNER,
  corpus: CORPUS.name,
  callId: "00000000-0000-4000-8000-000000000007",
  sessionHash: HASH,
  query: "what?",
};
const SAID_NOTHING = {
  ...{ used: undefined, cited: undefined, helpful: undefined },
  ...{ reward: undefined, poisonSuspected: undefined, injectionSuspected: undefined },
};
const SIGNALS = [
  { ...SAID_NOTHING, hitId: "it's#3", used: true, helpful: false, reward: -0.5 },
  { ...SAID_NOTHING, hitId: "held", poisonSuspected: true },
];

const KEY_OWNER: KeyOwner = { ...OWNER, credential: "add" };
const REPEATABLE = { keyHash: Uint8Array.of(1, 2), requestHash: Uint8Array.of(3, 4) };

/** Each reviewed statement, and the role that it runs as. */
const STATEMENTS: Readonly<Record<string, readonly [DatabaseRole | "operator", Statement<unknown>]>> = {
  "recall-nearest-chunks": ["reader", nearestChunks(CORPUS, NEWEST, VECTOR, {}, 10)],
  "recall-nearest-chunks-filtered": ["reader", nearestChunks(CORPUS, NEWEST, VECTOR, { filter }, 10)],
  "recall-nearest-chunks-no-surplus": ["reader", nearestChunks(CORPUS, NEWEST, VECTOR, { surplus: SURPLUS }, 10)],
  "recall-nearest-chunks-pinned": ["reader", nearestChunks(CORPUS, PINNED, VECTOR, {}, 10)],
  "recall-nearest-chunks-pinned-filtered": ["reader", nearestChunks(CORPUS, PINNED, VECTOR, { filter }, 10)],
  "recall-chunks-by-graph": ["reader", chunksByGraph(OWN, VECTOR, undefined, 10)],
  "recall-chunks-by-graph-filtered": ["reader", chunksByGraph(OWN, VECTOR, filter, 10)],
  "recall-nearest-chunks-hits": ["reader", nearestChunks(CORPUS, NEWEST, VECTOR, {}, 10, FIRST_HITS)],
  "recall-nearest-chunks-hits-vector": [
    "reader",
    nearestChunks(CORPUS, PINNED, VECTOR, { filter }, 10, {
      count: 2,
      show: { unit: "chunk", maxCharacters: 0, vector: true },
    }),
  ],
  "recall-chunks-by-graph-hits": ["reader", chunksByGraph(OWN, VECTOR, undefined, 10, FIRST_HITS)],
  "recall-chunks-beyond": ["reader", chunksBeyond(OWN, VECTOR, [7, 4], undefined, 10)],
  "recall-plan-as-reader": ["operator", planAsReader],
  "recall-search-graph": ["reader", searchGraph({ efSearch: 100, isIterative: true })],
  "recall-estimate-passing": ["reader", estimatePassing(CORPUS, filter)],
  "recall-count-passing": ["reader", countPassing(CORPUS, filter, 5_001)],
  "recall-chunk-of-document": ["reader", chunkOfDocument(OWN, "it's", 3)],
  "recall-nearest-chunks-own": ["reader", nearestChunks(OWN, NEWEST, VECTOR, {}, 10)],
  "recall-nearest-chunks-own-filtered": ["reader", nearestChunks(OWN, NEWEST, VECTOR, { filter }, 10)],
  "recall-nearest-chunks-moving": ["reader", nearestChunks(MOVING, NEWEST, VECTOR, {}, 10)],
  "recall-chunks-by-number-moving": ["reader", chunksByNumber(MOVING, [7, 4], undefined)],
  "recall-chunks-by-number": ["reader", chunksByNumber(CORPUS, [7, 4], undefined)],
  "recall-chunks-by-number-similarity": ["reader", chunksByNumber(CORPUS, [7, 4], VECTOR)],
  "recall-hit-rows": ["reader", hitRows(CORPUS, [7, 4], { unit: "chunk", maxCharacters: 0, vector: false })],
  "recall-hit-rows-text": ["reader", hitRows(CORPUS, [7, 4], { unit: "chunk", maxCharacters: 5_000, vector: false })],
  "recall-hit-rows-vector": ["reader", hitRows(CORPUS, [7, 4], { unit: "chunk", maxCharacters: 0, vector: true })],
  "recall-hit-rows-text-vector": [
    "reader",
    hitRows(CORPUS, [7, 4], { unit: "chunk", maxCharacters: 5_000, vector: true }),
  ],
  "recall-hit-rows-document": [
    "reader",
    hitRows(CORPUS, [7, 4], { unit: "document", maxCharacters: 5_000, vector: true }),
  ],
  "recall-hit-rows-document-no-text": [
    "reader",
    hitRows(CORPUS, [7, 4], { unit: "document", maxCharacters: 0, vector: false }),
  ],
  "recall-chunk-passages": ["reader", chunkPassages(CORPUS, [7, 4])],
  "recall-chunk-dates": ["reader", chunkDates(CORPUS, [7, 4], datePublished)],
  "recall-chunk-vectors": ["reader", chunkVectors(CORPUS, [7, 4])],
  "recall-corpus-state": ["reader", corpusState(CORPUS, NEWEST)],
  "recall-corpus-state-pinned": ["reader", corpusState(CORPUS, PINNED)],
  "recall-postings": ["reader", postingsOfTerms(CORPUS, NEWEST, ["cell", "it's"], {})],
  "recall-postings-filtered": ["reader", postingsOfTerms(CORPUS, NEWEST, ["cell"], { filter })],
  "recall-postings-no-surplus": ["reader", postingsOfTerms(CORPUS, NEWEST, ["cell"], { surplus: SURPLUS })],
  "recall-postings-pinned": ["reader", postingsOfTerms(CORPUS, PINNED, ["cell"], {})],
  "recall-postings-pinned-filtered": ["reader", postingsOfTerms(CORPUS, PINNED, ["cell"], { filter })],
  "write-lock-corpus": ["adder", lockCorpus(KEY)],
  "write-close-documents": ["deleter", closeDocuments(KEY, ["a", "it's"], 8)],
  "write-close-chunks": ["deleter", closeChunks(KEY, CORPUS, ["a", "it's"], 8)],
  "write-close-chunks-moving": ["deleter", closeChunks(KEY, MOVING, ["a", "it's"], 8)],
  "partitions-placed-corpora": ["operator", selectPlacedCorpora(20_000)],
  "partitions-placed-corpus": ["operator", selectPlacedCorpora(20_000, KEY)],
  "partitions-start-move": ["operator", startMove(KEY, "shared", "p_1")],
  "partitions-move-chunks": ["operator", moveChunks(KEY, "shared", "p_1", 41, 1_000)],
  "partitions-end-move": ["operator", endMove(KEY)],
  "partitions-mark-graph": ["operator", markGraph(KEY, 25_000, 31_000)],
  "partitions-unused": ["operator", selectUnusedPartitions],
  "partitions-broken-indexes": ["operator", selectBrokenIndexes],
  "write-count-live": ["deleter", countLive(KEY, ["a", "it's"])],
  "write-insert-documents": ["adder", insertDocuments(KEY, 8, BY, DOCUMENTS)],
  "write-insert-documents-no-token-id": [
    "adder",
    insertDocuments(KEY, 8, { ...BY, tokenId: undefined }, DOCUMENTS.slice(0, 1)),
  ],
  "write-insert-texts": ["adder", insertTexts(KEY, 8, DOCUMENTS)],
  "write-insert-chunks": ["adder", insertChunks(KEY, "shared", 8, [], [chunk(4, new Map()), chunk(5, new Map())])],
  "write-insert-chunks-fields": [
    "adder",
    insertChunks(KEY, "shared", 8, [...EVERY_FIELD.values()], [chunk(4, FULL), chunk(5, new Map())]),
  ],
  "write-advance-corpus-add": ["adder", advanceCorpus(KEY, ADDED)],
  "write-advance-corpus-delete": ["deleter", advanceCorpus(KEY, DELETED)],
  "write-record-version-add": ["adder", recordVersion(KEY, ADDED)],
  "write-record-version-delete": ["deleter", recordVersion(KEY, DELETED)],
  "corpora-find": ["reader", findCorpus(CORPUS.tenantId, CORPUS.name)],
  "corpora-create": ["adder", createCorpus({ ...CORPUS, name: "other" as CorpusName })],
  "corpora-update-language": ["operator", updateLanguage(CORPUS.tenantId, CORPUS.name, "german")],
  "corpora-list": ["reader", listCorpora(CORPUS.tenantId, undefined, 101)],
  "corpora-list-named": ["reader", listCorpora(CORPUS.tenantId, [CORPUS.name], 101)],
  "corpora-count-others": ["reader", countOtherCorpora(CORPUS.tenantId, undefined)],
  "corpora-count-others-named": ["reader", countOtherCorpora(CORPUS.tenantId, [CORPUS.name])],
  "tenants-create": ["adder", createTenant(CORPUS.tenantId)],
  "feedback-lock": ["state", lockFeedback(KEY.tenantId)],
  "feedback-insert": [
    "state",
    insertFeedback(FEEDBACK, SIGNALS, {
      retentionDays: 30,
      maxSignalsPerTenant: 100_000,
      maxSignalsPerPrincipal: 10_000,
    }),
  ],
  "feedback-delete-expired": ["state", deleteExpiredFeedback(CORPUS.tenantId)],
  "feedback-delete-expired-everywhere": ["operator", deleteExpiredFeedback(undefined)],
  "feedback-list": ["operator", selectFeedback(CORPUS.tenantId, 100)],
  "feedback-suspected": ["operator", selectSuspected(CORPUS.tenantId, undefined, 3)],
  "feedback-suspected-corpus": ["operator", selectSuspected(KEY.tenantId, KEY.corpus, 3)],
  "quarantine-answering": ["operator", selectAnswering(KEY, ["a", "b"])],
  "quarantine-quarantined": ["operator", selectQuarantined(KEY, ["a", "b"])],
  "quarantine-rewrite": [
    "operator",
    rewriteDocuments(
      KEY,
      [
        { docId: "a", chunks: 2 },
        { docId: "b", chunks: 0 },
      ],
      7,
      false,
    ),
  ],
  "audit-refusals": ["state", recordRefusals(REFUSED)],
  "audit-command": ["operator", recordCommand({ ...KEY, action: "withdraw", version: 7, count: 2 })],
  "audit-list": ["operator", selectAudit(KEY.tenantId, "2026-01-31T00:00:00.000Z")],
  "audit-delete-old-records": ["operator", deleteOldRecords(365)],
  "audit-delete-old-versions": ["operator", deleteOldVersions(365)],
  "idempotency-find-first-result": ["adder", findFirstResult(KEY_OWNER, REPEATABLE)],
  "idempotency-insert-first-result": ["adder", insertFirstResult(KEY_OWNER, REPEATABLE, '{"ids":[]}', 86_400)],
  "idempotency-room": ["adder", keyRoom(KEY_OWNER, 100_000)],
  "idempotency-delete-expired": ["deleter", deleteExpiredKeys(CORPUS.tenantId)],
  "idempotency-delete-expired-everywhere": ["operator", deleteExpiredKeys(undefined)],
  "sessions-lock-owner": ["state", lockOwner(OWNER)],
  "sessions-insert": ["state", insertSession(SESSION, 100)],
  "sessions-next-expiry": ["state", nextExpiry(OWNER)],
  "sessions-touch": ["state", touchSession(OWNER, HASH, 3_600)],
  "sessions-touch-short": ["state", touchSession(OWNER, HASH, 30)],
  "sessions-delete": ["state", deleteSession(OWNER, HASH)],
  "sessions-delete-expired": ["state", deleteExpiredSessions(CORPUS.tenantId)],
  "sessions-delete-expired-everywhere": ["operator", deleteExpiredSessions(undefined)],
  "trajectories-find": ["state", findTrajectory(TRAJECTORY)],
  "trajectories-extend": ["state", extendTrajectory(TRAJECTORY, { chunkNos: [7, 4], documentNos: [] }, 3_600)],
  "trajectories-forget": ["state", forgetTrajectories(STATE_OWNER, 1_000)],
  "trajectories-delete-expired": ["state", deleteExpiredTrajectories(CORPUS.tenantId)],
  "trajectories-delete-expired-everywhere": ["operator", deleteExpiredTrajectories(undefined)],
  "ranked-lists-insert": ["state", insertRankedList(STATE_OWNER, HASH, LIST, 300)],
  "ranked-lists-find": ["state", findRankedList(STATE_OWNER, HASH)],
  "ranked-lists-drop": ["state", dropRankedLists(STATE_OWNER, 999)],
  "ranked-lists-delete-expired": ["state", deleteExpiredRankedLists(CORPUS.tenantId)],
  "ranked-lists-delete-expired-everywhere": ["operator", deleteExpiredRankedLists(undefined)],
  "ranked-lists-create-key": ["state", createCursorKey(CORPUS.tenantId, new Uint8Array(32).fill(7))],
  "ranked-lists-find-key": ["state", findCursorKey(CORPUS.tenantId)],
  "replicas-flushed-position": ["reader", flushedPosition],
  "replicas-standby-facts": ["reader", standbyFacts("0/1A2B3C4D")],
  "replicas-newest-version": ["reader", newestVersion(CORPUS)],
  "replicas-version-on-standby": ["reader", versionOnStandby({ corpus: CORPUS, version: 7, pin: undefined }, "0/1A")],
  "replicas-version-on-standby-pinned": ["reader", versionOnStandby({ corpus: MOVING, version: 0, ...PINNED }, "0/1A")],
  "retention-horizons": ["operator", selectHorizons(24)],
  "retention-withdraw-versions": ["operator", withdrawVersions(HORIZON)],
  "retention-gone-chunks": ["operator", selectGoneChunks(HORIZON)],
  "retention-postings": ["operator", selectPostings(KEY, [0, 3], { term: "it's", block: 1 }, 500)],
  "retention-rewrite-postings": ["operator", rewritePostings(KEY, BLOCKS)],
  "retention-delete-postings": ["operator", deletePostings(KEY, BLOCKS)],
  "retention-delete-chunks": ["operator", deleteChunks(KEY, [7, 4])],
  "retention-delete-documents": ["operator", deleteDocuments(HORIZON, 200)],
  "quotas-own": ["adder", selectOwnQuotas(KEY.tenantId)],
  "quotas-lock": ["adder", lockQuotas(KEY.tenantId)],
  "quotas-kept": ["adder", selectKept(KEY.tenantId)],
  "quotas-update": ["operator", updateQuotas(KEY.tenantId, { documents: 5, textBytes: null })],
  "quotas-update-none": ["operator", updateQuotas(KEY.tenantId, null)],
  "revocations-find": ["adder", selectRevocation(KEY.tenantId, "feed")],
  "revocations-forget": ["deleter", forgetRevoked(KEY, ["a", "b"])],
  "sources-forget-superseded": ["operator", forgetSuperseded(KEY)],
  "sources-lock-tenant": ["operator", lockTenant(KEY.tenantId)],
  "sources-revoke": ["operator", insertRevocation(KEY.tenantId, "feed")],
  "sources-unrevoke": ["operator", deleteRevocation(KEY.tenantId, "feed")],
  "sources-any-by": ["operator", selectAnyBy(KEY.tenantId, "feed")],
  "sources-corpus-names": ["operator", selectCorpusNames(KEY.tenantId)],
  "sources-withdraw-with": ["operator", withdrawVersionsWith(KEY, "feed")],
  "sources-withdraw-holding": ["operator", withdrawVersionsHolding(KEY, ["a", "b"])],
  "sources-withdraw-since": ["operator", withdrawVersionsSince(KEY, 7)],
  "sources-close": ["operator", closeSource(KEY, "feed", 7)],
  "sources-reopen": ["operator", reopenSource(KEY, "feed")],
  "sources-list": ["operator", selectSources(KEY.tenantId, undefined)],
  "sources-list-corpus": ["operator", selectSources(KEY.tenantId, "papers")],
  "purge-chunks": ["operator", eraseChunks(KEY, ["a", "b"])],
  "compaction-room": ["operator", postingsRoom()],
  "compaction-keep-in-place": ["operator", keepPostingsInPlace],
  "compaction-lock": ["operator", lockPostingsPlaces],
  "compaction-move": ["operator", movePostings(500, 1_000)],
  "compaction-move-out-of-line": ["operator", moveOutOfLine(0, 500)],
  "purge-documents": ["operator", eraseDocuments(KEY, ["a", "b"])],
};

const shown = (value: SqlValue) =>
  value instanceof Uint8Array ? `\\x${Buffer.from(value).toString("hex")}` : JSON.stringify(value);

/** Text, then one comment line per parameter, as the reviewed files have it, and one more where a plan is kept. */
const golden = ({ text, values, isPlannedOnce }: Statement<unknown>) =>
  [
    text,
    ...values.map((value, index) => `-- $${index + 1} = ${shown(value)}`),
    ...(isPlannedOnce ? ["-- planned once"] : []),
    "",
  ].join("\n");

const cases = Object.entries(STATEMENTS).map(([name, [role, statement]]) => ({ name, role, statement }));

describe("the statement of", () => {
  test.each(cases)("$name is the reviewed one", ({ name, statement }) => {
    expect(golden(statement)).toBe(reviewed(name));
  });

  test("every reviewed file of these folders is made here", () => {
    const folders = readdirSync(CASES).filter((name) =>
      /^(recall|write|compaction|corpora|partitions|tenants|sessions|trajectories|ranked-lists|replicas|retention|revocations|sources|purge|quarantine|idempotency|feedback|audit|quotas)-/.test(
        name,
      ),
    );
    expect(folders.toSorted()).toEqual(Object.keys(STATEMENTS).toSorted());
  });
});

describe("on the migrated database", () => {
  let opened: TestDatabase;
  beforeAll(async () => {
    opened = await openTestDatabase({ fields: EVERY_FIELD });
    await opened.database.write("adder", accessTo(CORPUS.tenantId), limits(), async (transaction) => {
      await transaction.query(createTenant(CORPUS.tenantId));
      await transaction.query(createCorpus(CORPUS));
    });
  });
  afterAll(() => opened.close());

  const onStandby = cases.filter(({ name }) => name.startsWith("replicas-version-on-standby"));
  test.each(onStandby)("$name ends the transaction, because this is no standby", async ({ role, statement }) => {
    if (role === "operator") throw new Error("the reader asks");
    await expect(runAs(opened.database, role, statement)).rejects.toMatchObject({ code: REFUSED_AS_LATE });
  });

  test.each(cases.filter((one) => !onStandby.includes(one)))("$name runs as the $role", async ({ role, statement }) => {
    const ran = role === "operator" ? undo(opened.operator, statement) : runAs(opened.database, role, statement);
    await expect(ran).resolves.toBeInstanceOf(Array);
  });
});

const limits = () => ({ signal: new AbortController().signal, timeoutMs: 20_000 });

/** Thrown to roll back. */
class Undo extends Error {}

/** Runs a statement in a transaction that leaves nothing. */
async function undo(database: Pick<TestDatabase["operator"], "write">, statement: Statement<unknown>) {
  let rows: readonly unknown[] | undefined;
  const work = database.write(async (transaction) => {
    rows = await transaction.query(statement);
    throw new Undo();
  });
  await work.catch((error: unknown) => {
    if (!(error instanceof Undo)) throw error;
  });
  return rows;
}

async function runAs(database: Database, role: DatabaseRole, statement: Statement<unknown>) {
  if (role !== "reader")
    return undo({ write: (work) => database.write(role, accessTo(CORPUS.tenantId), limits(), work) }, statement);
  const [rows] = await database.read(role, accessTo(CORPUS.tenantId), [statement], limits());
  return rows;
}
