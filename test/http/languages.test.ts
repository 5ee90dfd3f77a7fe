import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CREDENTIALS } from "../../src/auth/principal.ts";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { createCorpus, setLanguage } from "../../src/maintenance/corpora.ts";
import { createTenant } from "../../src/maintenance/tenants.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";
import { testEmbeddingModel } from "../support/test-embedding.ts";

/** Tenants whose corpora have different languages, side by side at one server. */

const LANGUAGES = ["english", "german", "french", "spanish", "chinese", "japanese", "none"] as const;
const DOCUMENTS = [
  { id: "en", text: "The generators were running generously." },
  { id: "de", text: "Die Hausmeister wohnen in alten Häusern." },
  { id: "fr", text: "Les chevaux continuaient majestueusement." },
  { id: "es", text: "Los chicharrones son torneados." },
  { id: "zh", text: "我们喜欢北京的防守" },
  { id: "ja", text: "東京に住む" },
];

let db: TestDatabase;
let server: RcpServer;
beforeAll(async () => {
  db = await openTestDatabase();
  server = await startRcpServer({
    config: { auth: { combinedTokens: true }, rateLimit: { enabled: false } },
    handlers: HANDLERS,
    database: db.database,
    corpora: new CachedCorpusStore(db.database),
  });
  for (const language of LANGUAGES) {
    await make(language, language);
    await add(language, DOCUMENTS);
  }
});
afterAll(async () => {
  await server.close();
  await db.close();
});

async function make(tenant: string, language: string): Promise<void> {
  await createTenant(db.operator, db.config, tenant);
  const { space } = testEmbeddingModel();
  await createCorpus(db.operator, db.config, { tenant, corpus: "default", language }, async () => space);
}

const tokenOf = (tenant: string) => server.token({ tenant, credentials: CREDENTIALS });

async function add(tenant: string, documents: readonly object[]): Promise<void> {
  const { body } = await server.call("index/add", { documents }, { token: await tokenOf(tenant) });
  expect(body).toHaveProperty("result");
}

async function found(tenant: string, query: string): Promise<readonly string[]> {
  const { body } = await server.call("retrieve", { query, mode: "sparse" }, { token: await tokenOf(tenant) });
  return ((body?.result?.hits ?? []) as readonly { readonly id: string }[]).map(({ id }) => id);
}

describe("each tenant's words are those of its corpus's language", () => {
  // Stems of the Snowball project's vocabularies; the words of Chinese and Japanese are the segmenter's.
  test.each([
    ["run", "en", ["english"]],
    ["generous", "en", ["english"]],
    ["Haus", "de", ["german"]],
    ["hausmeistern", "de", ["german"]],
    ["cheval", "fr", ["french"]],
    ["chicharrón", "es", ["spanish"]],
    ["北京", "zh", LANGUAGES],
    ["防守", "zh", LANGUAGES],
    ["住む", "ja", LANGUAGES],
    ["RUNNING", "en", LANGUAGES],
  ])("%s finds %s where the language is one of %j, and nowhere else", async (query, id, languages) => {
    for (const tenant of LANGUAGES)
      expect({ tenant, ids: await found(tenant, query) }).toEqual({
        tenant,
        ids: (languages as readonly string[]).includes(tenant) ? [id] : [],
      });
  });
});

test("a corpus that is given another language before its first write has it from the first write on, at a server that knew it", async () => {
  await make("undecided", "english");
  expect(await found("undecided", "Haus")).toEqual([]);
  await setLanguage(db.operator, { tenant: "undecided", corpus: "default", language: "german" });

  await add("undecided", DOCUMENTS);

  expect(await found("undecided", "Haus")).toEqual(["de"]);
  expect(await found("undecided", "generous")).toEqual([]);
});
