import { readFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import type { Hit } from "../../src/protocol/wire.ts";
import { countEntries } from "../support/count-entries.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { expandVector } from "../support/expand-vector.ts";
import { type RcpServer, type Response, startRcpServer } from "../support/rcp-server.ts";
import { expectAlive, expectStanding } from "../support/standing-assertions.ts";

type Context = "query" | "text" | "docId" | "metaKey" | "metaValue" | "sessionId" | "idempotencyKey";

interface Entry {
  readonly id: string;
  readonly value: unknown;
  readonly expect: Readonly<Record<Context, number>>;
  readonly note?: string;
}

const entries: readonly Entry[] = JSON.parse(
  readFileSync(new URL("data/strings.json", import.meta.url), "utf8"),
).entries;

let database: TestDatabase;
let server: RcpServer;
let token: string;
beforeAll(async () => {
  database = await openTestDatabase();
  server = await startRcpServer({
    config: { auth: { combinedTokens: true }, rateLimit: { enabled: false } },
    handlers: HANDLERS,
    database: database.database,
    corpora: new CachedCorpusStore(database.database),
  });
});
afterAll(async () => {
  await server.close();
  await database.close();
});

afterEach(() => expectAlive(server, token));
countEntries("strings.json", entries);

async function call(method: string, params: object): Promise<Response> {
  const answer = await server.call(method, params, { token });
  expect(answer.status).toBe(200);
  expectStanding(answer.text, { payload: params, token });
  return answer.body ?? {};
}

const codeOf = ({ error }: Response) => error?.code ?? 0;
const hitsOf = ({ result }: Response) => (result?.hits ?? []) as readonly Hit[];
const newest = async (id: string) =>
  hitsOf(await call("retrieve", { query: "anything", k: 100, mode: "dense" })).find((hit) => hit.chunk.docId === id);

describe("the shared string vectors in every context, over HTTP", () => {
  test.each(entries.map((entry, index) => [entry.id, entry.note ?? "", entry, index] as const))(
    "%s %s",
    async (_id, _note, entry, index) => {
      // a tenant for each value, so that what others left changes nothing
      token = await server.token({ credentials: ["read", "add", "delete"], tenant: `strings-${index}` });
      const value = String(expandVector(entry.value));
      const add = (document: object, more: object = {}) => call("index/add", { documents: [document], ...more });
      const withKey = Object.fromEntries([[value, "v"]]); // fromEntries: `__proto__` as a member

      const codes = {
        query: codeOf(await call("retrieve", { query: value, k: 5 })),
        text: codeOf(await add({ id: "text", text: value })),
        docId: codeOf(await add({ id: value, text: "word" })),
        metaKey: codeOf(await add({ id: "key", text: "word", meta: withKey })),
        metaValue: codeOf(await add({ id: "value", text: "word", meta: { note: value } })),
        sessionId: codeOf(await call("retrieve", { query: "word", k: 5, sessionId: value })),
        idempotencyKey: codeOf(await add({ id: "keyed", text: "word" }, { _meta: { idempotencyKey: value } })),
      };
      expect(codes).toEqual(entry.expect);

      if (codes.text === 0) expect((await newest("text"))?.text).toBe(value.replaceAll("\u0000", "\uFFFD"));
      if (codes.metaKey === 0) expect(JSON.stringify((await newest("key"))?.meta)).toBe(JSON.stringify(withKey));
      if (codes.metaValue === 0) expect((await newest("value"))?.meta).toEqual({ note: value });
      if (codes.docId === 0) expect((await newest(value))?.text).toBe("word");
      const deleted = await call("index/delete", { ids: [value] });
      expect(codeOf(deleted)).toBe(entry.expect.docId);
      if (codes.docId === 0) expect(deleted.result).toEqual({ deleted: 1 });
    },
  );
});
