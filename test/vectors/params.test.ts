import { readFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import type { Reranker } from "../../src/models/reranker.ts";
import { filterFields } from "../../src/plan/filter-fields.ts";
import { compile, noRows, sql } from "../../src/sql/sql.ts";
import { countEntries } from "../support/count-entries.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { expandVector } from "../support/expand-vector.ts";
import { type RcpServer, type Response, startRcpServer } from "../support/rcp-server.ts";
import { expectAlive, expectStanding } from "../support/standing-assertions.ts";
import type { TokenClaims } from "../support/test-issuer.ts";
import { expectValidResponse } from "../support/validate-response.ts";

interface Expected {
  readonly ok?: true;
  readonly maxHits?: number;
  readonly ids?: number;
  readonly deleted?: number;
  readonly notes?: true;
  readonly code?: number;
  readonly field?: string;
  readonly option?: string;
  readonly retryable?: boolean;
  readonly anyOf?: readonly Expected[];
}

interface Entry {
  readonly id: string;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly expect: Expected;
  readonly note?: string;
}

const entries: readonly Entry[] = JSON.parse(
  readFileSync(new URL("data/params.json", import.meta.url), "utf8"),
).entries;

const FIELDS = {
  year: "int",
  rating: "float",
  lang: "keyword",
  tags: "keyword[]",
  title: "text",
  active: "bool",
  published: "date",
} as const;

/** As the fixture has it. */
const RERANKER: Reranker = {
  identity: "judge",
  method: "cross-encoder",
  maxCandidates: 200,
  score: async (_query, passages) => passages.map(({ length }) => 1 / length),
  close: async () => {},
};

let database: TestDatabase;
let server: RcpServer;
let token: string;
let session: string;
let currentVersion: string;
/** By placeholder: cursors of the request that the vectors repeat, and of others. */
const cursors = new Map<string, string>();

beforeAll(async () => {
  database = await openTestDatabase({ fields: filterFields(FIELDS) });
  server = await startRcpServer({
    config: {
      auth: { combinedTokens: true },
      sessions: { mode: "required" },
      filter: { fields: FIELDS },
      retrieval: { maxK: 100, maxCandidateK: 1000, fusion: { method: "rrf" } },
      limits: { maxDocumentsPerAdd: 100, maxIdsPerDelete: 1000 },
      capabilities: { fusion: ["rrf", "weighted"], chunking: false },
      rateLimit: { enabled: false },
    },
    handlers: HANDLERS,
    reranker: RERANKER,
    database: database.database,
    corpora: new CachedCorpusStore(database.database),
  });
  token = await server.token({ credentials: ["read", "add", "delete"] });
  session = await server.initialize(token);
  const documents = Array.from({ length: 150 }, (_, n) => ({
    id: `doc-${n}`,
    text: `test document number ${n}`,
    meta: { year: 2000 + n },
  }));
  await server.call("index/add", { documents: documents.slice(0, 75) }, { token, session });
  const { body: first } = await server.call("retrieve", { query: "test", k: 5 }, { token, session });
  cursors.set("own.cursor:expired", String(first?.result?.nextCursor));
  await server.call("index/add", { documents: documents.slice(75) }, { token, session });
  await database.operator.write((transaction) =>
    transaction.query(compile(sql`update pgrcp.corpus_versions set token = null where version = 1`, noRows)),
  );
  const other = await server.token({ credentials: ["add"], tenant: "globex" });
  const otherSession = await server.initialize(other);
  await server.call(
    "index/add",
    { documents: [{ id: "theirs", text: "test of globex" }] },
    { token: other, session: otherSession },
  );
  const { body } = await server.call("retrieve", { query: "test", k: 1 }, { token, session });
  currentVersion = String(body?.result?.indexVersion);
  await makeCursors();
});
afterAll(async () => {
  await server.close();
  await database.close();
});

afterEach(() => expectAlive(server, token));
countEntries("params.json", entries);

async function makeCursors(): Promise<void> {
  const cursorOf = async (by: { token: string; session: string }) => {
    const { body } = await server.call("retrieve", { query: "test", k: 5 }, by);
    return String(body?.result?.nextCursor);
  };
  const holder = async (claims: TokenClaims) => {
    const token = await server.token(claims);
    return { token, session: await server.initialize(token) };
  };
  const own = await cursorOf({ token, session });
  const flipped = Buffer.from(own, "base64url");
  flipped[0] = (flipped[0] ?? 0) ^ 1;
  cursors.set("own.cursor", own);
  cursors.set("own.cursor:flip-one-bit", flipped.toString("base64url"));
  cursors.set("own.cursor:truncate", own.slice(0, -1));
  cursors.set("own.cursor:append-equals", `${own}=`);
  cursors.set("otherSubject.cursor", await cursorOf(await holder({ subject: "another" })));
  const initech = await holder({ credentials: ["read", "add"], tenant: "initech" });
  const documents = Array.from({ length: 20 }, (_, n) => ({ id: `doc-${n}`, text: `test document number ${n}` }));
  await server.call("index/add", { documents }, initech);
  cursors.set("otherTenant.cursor", await cursorOf(initech));
}

const NESTED_ARRAYS = /\{"\$gen":"nestArray","depth":(\d+)\}/g;

/** The params as text. Arrays that nest deeper than a walk over values could go exist only there. */
function paramsText(params: Entry["params"]): string {
  const shallow = JSON.parse(JSON.stringify(params).replaceAll(NESTED_ARRAYS, '"{{nested:$1}}"'));
  return JSON.stringify(expandVector(shallow))
    .replaceAll(/"\{\{nested:(\d+)\}\}"/g, (_, depth) => "[".repeat(Number(depth)) + "]".repeat(Number(depth)))
    .replaceAll("{{own.currentIndexVersion}}", currentVersion)
    .replaceAll("{{otherTenant.docId}}", "theirs")
    .replaceAll(
      /\{\{((?:own|otherTenant|otherSubject)\.cursor(?::[a-z-]+)?)\}\}/g,
      (_, name) => cursors.get(name) ?? "",
    )
    .replaceAll(/\{\{other(?:Tenant|Subject)\.sessionId\}\}/g, "session-of-another");
}

async function send({ method, params }: Entry): Promise<Response> {
  const body = `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${paramsText(params)}}`;
  const answer = await server.post(`/rcp/${method}`, body, { token, session });
  expect(answer.status).toBe(200);
  expectStanding(answer.text, { payload: body, token, known: Object.keys(FIELDS), foreign: ["theirs", "globex"] });
  expect(answer.text).not.toMatch(/evil|169\.254/);
  expectValidResponse(method, answer.body);
  return answer.body ?? {};
}

/** What `response` lacks of `expected`; empty when it meets it. */
function unmet(response: Response, expected: Expected): string[] {
  if (expected.anyOf)
    return expected.anyOf.some((one) => unmet(response, one).length === 0) ? [] : ["none of the answers allowed"];
  const { result, error } = response;
  const missing: string[] = [];
  const check = (name: string, actual: unknown, wanted: unknown) => {
    if (wanted !== undefined && actual !== wanted)
      missing.push(`${name} is ${JSON.stringify(actual)}, not ${JSON.stringify(wanted)}`);
  };
  check("code", error?.code, expected.code);
  check("field", error?.data?.field, expected.field);
  check("option", error?.data?.option, expected.option);
  check("retryable", error?.data?.retryable, expected.retryable);
  if (!expected.ok) return missing;
  if (result === undefined) return [`refused: ${JSON.stringify(error)}`];
  const listOf = (name: string) => (Array.isArray(result[name]) ? result[name] : []);
  if (expected.maxHits !== undefined && listOf("hits").length > expected.maxHits)
    missing.push(`${listOf("hits").length} hits`);
  check("ids", listOf("ids").length, expected.ids);
  check("deleted", result.deleted, expected.deleted);
  if (expected.notes && !JSON.stringify(result.usage).includes("notes")) missing.push("notes");
  return missing;
}

describe("the shared params vectors over HTTP, on a real database", () => {
  test.each(entries.map((entry) => [entry.id, entry.note ?? "", entry] as const))(
    "%s %s",
    async (_id, _note, entry) => {
      expect(unmet(await send(entry), entry.expect)).toEqual([]);
    },
  );

  test("k hits of 150 documents: as many as asked for, up to maxK", async () => {
    for (const [k, hits] of [
      [5, 5],
      [100, 100],
      [101, 100],
    ] as const) {
      const { body } = await server.call("retrieve", { query: "test", k, mode: "dense" }, { token, session });
      expect(body?.result?.hits).toHaveLength(hits);
    }
  });

  test("a call with one bad document wrote none of the good ones", async () => {
    const documents = [{ id: "half", text: "halfway" }, { id: "bad" }];
    await server.call("index/add", { documents }, { token, session });
    const { body } = await server.call("index/delete", { ids: ["half"] }, { token, session });
    expect(body?.result).toEqual({ deleted: 0 });
  });

  test("the other tenant still has the document that was asked to be deleted", async () => {
    const reader = await server.token({ tenant: "globex" });
    const theirs = await server.initialize(reader);
    const { body } = await server.call(
      "retrieve",
      { query: "test", k: 5, mode: "dense" },
      { token: reader, session: theirs },
    );
    expect(body?.result?.hits).toMatchObject([{ id: "theirs" }]);
  });
});
