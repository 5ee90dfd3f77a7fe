import { afterAll, beforeAll, expect, test } from "vitest";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";
import { testEmbeddingModel } from "../support/test-embedding.ts";
import { type TestIssuer, testIssuer } from "../support/test-issuer.ts";

let opened: TestDatabase;
let issuer: TestIssuer;
/** Two servers of one database, between which somebody has changed the model. */
let before: RcpServer;
let after: RcpServer;
beforeAll(async () => {
  opened = await openTestDatabase();
  issuer = await testIssuer();
  const { database, config } = opened;
  const model = testEmbeddingModel();
  const other = { ...model, space: { ...model.space, identity: `${model.space.identity}-2` } };
  const parts = { handlers: HANDLERS, database, issuer, config: { database: config.database } };
  before = await startRcpServer({ ...parts, corpora: new CachedCorpusStore(database), embedding: model });
  after = await startRcpServer({ ...parts, corpora: new CachedCorpusStore(database), embedding: other });
});
afterAll(async () => {
  await Promise.all([before?.close(), after?.close()]);
  await opened?.close();
});

test("§15.7 a corpus of another model is neither read nor written, and the answer names the way out", async () => {
  const [read, add] = await Promise.all([
    issuer.mint({ tenant: "space", credentials: ["read"] }),
    issuer.mint({ tenant: "space", credentials: ["add"] }),
  ]);
  const documents = [{ id: "a", text: "amber" }];
  const retrieve = (server: RcpServer) => server.call("retrieve", { query: "amber", mode: "dense" }, { token: read });
  expect((await before.call("index/add", { documents }, { token: add })).body?.error).toBeUndefined();
  const found = (await retrieve(before)).body?.result;

  const refused = {
    code: -32010,
    data: { retryable: false, detail: expect.stringMatching(/models\.embedding back.*documents export.*import/) },
  };
  expect((await retrieve(after)).body?.error).toMatchObject(refused);
  const replaced = await after.call("index/add", { documents: [{ id: "a", text: "basalt" }] }, { token: add });
  expect(replaced.body?.error).toMatchObject(refused);

  expect((await retrieve(before)).body?.result?.hits).toEqual(found?.hits);
});
