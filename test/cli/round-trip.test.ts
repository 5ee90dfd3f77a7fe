import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ControlSocket, startControlSocket } from "../../src/cli/control-socket.ts";
import { configSchema } from "../../src/config/config.ts";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import { filterFields } from "../../src/plan/filter-fields.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";
import { testEmbeddingModel } from "../support/test-embedding.ts";
import { type CliResult, runCli } from "./run-cli.ts";

/** The commands against a real server: what goes in comes out, and what is found is what was put in. */

const FIELDS = { year: "int", tags: "keyword[]" } as const;
const embedding = testEmbeddingModel();

let db: TestDatabase;
let server: RcpServer;
let socket: ControlSocket;
let cwd: string;

beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), "pgrcp-trip-"));
  db = await openTestDatabase({ fields: filterFields(FIELDS) });
  server = await startRcpServer({
    config: { filter: { fields: FIELDS } },
    handlers: HANDLERS,
    database: db.database,
    corpora: new CachedCorpusStore(db.database),
    embedding,
  });
  socket = await startControlSocket(configSchema.parse({ database: { embeddedDir: cwd } }), db.operator, { embedding });
  for (const credential of ["read", "add"] as const) {
    await writeFile(join(cwd, credential), await server.token({ credentials: [credential], tenant: "acme" }));
  }
});
afterAll(async () => {
  await socket.close();
  await server.close();
  await db.close();
  await rm(cwd, { recursive: true });
});

const pgrcp = (...args: readonly string[]): Promise<CliResult> =>
  runCli(args, cwd, { PGRCP_DATABASE__EMBEDDEDDIR: cwd });
const at = (credential: "read" | "add", corpus = "default") =>
  ["--url", `${server.url}/rcp`, "--token-file", credential, "--corpus", corpus] as const;

const line = (document: object) => `${JSON.stringify(document)}\n`;
/** In the order of an export, with what is easily lost: key order, empty lists, numbers, unusual characters. */
const DOCUMENTS = [
  line({ id: " spaced ", text: " leading and trailing \n", meta: {} }),
  line({ id: "a", title: "Ä title", text: "apples and pears", meta: { z: 1, title: "Ä title", a: [] } }),
  line({
    id: "b",
    text: "bananas\r\n\ttab \u2028 e\u0301 \u00e9",
    meta: { year: 2024, tags: ["x", "y"], n: { deep: [null, true, 1e21, -0.5] } },
  }),
  line({ id: "\uffee/ü#1", text: "cherries 👍🏽", meta: { uri: "https://example.org/" } }),
  line({ id: "\u{10000}", text: "", meta: {} }),
].join("");

test("an export is the import byte for byte, and imports into another corpus as the same again", async () => {
  await writeFile(join(cwd, "in.jsonl"), DOCUMENTS);

  expect(await pgrcp("import", "in.jsonl", ...at("add"))).toMatchObject({ code: 0, stdout: /^5 documents added/ });
  expect((await pgrcp("documents", "export", "acme", "--output", "out.jsonl")).code).toBe(0);
  expect(await readFile(join(cwd, "out.jsonl"), "utf8")).toBe(DOCUMENTS);

  expect((await pgrcp("corpora", "create", "acme", "copy")).code).toBe(0);
  expect((await pgrcp("import", "out.jsonl", ...at("add", "copy"))).code).toBe(0);
  expect((await pgrcp("documents", "export", "acme", "copy")).stdout).toBe(DOCUMENTS);
});

test("what was imported is found, and listed, and shown", async () => {
  await writeFile(
    join(cwd, "find.jsonl"),
    line({ id: "whale", title: "Whales", text: "a whale is a mammal", meta: { year: 1851 } }),
  );
  await pgrcp("import", "find.jsonl", ...at("add"));

  const found = await pgrcp("retrieve", "mammal whale", "-k", "1", ...at("read"));
  const none = await pgrcp("retrieve", "whale", "--filter", '{"field":"year","op":"gt","value":2030}', ...at("read"));
  const shown = await pgrcp("documents", "show", "acme", "default", "whale", "--json");

  expect(found.stdout).toMatch(
    /^1\. whale {2}Whales {2}\(score [\d.]+\)\n {3}source \S+, characters 0-19, untrusted\n {3}\| a whale is a mammal\n/,
  );
  expect(none.stdout).toBe("no passage found\n");
  expect(JSON.parse(shown.stdout)).toMatchObject({
    id: "whale",
    title: "Whales",
    meta: { year: 1851 },
    subject: "alice",
  });
});

test("a value that does not fit its field is refused by the real server and listed", async () => {
  await writeFile(
    join(cwd, "unfit.jsonl"),
    line({ id: "good", text: "t", meta: { year: 1 } }) + line({ id: "bad", text: "t", meta: { year: "one" } }),
  );

  const { code, stderr, stdout } = await pgrcp("import", "unfit.jsonl", ...at("add"));

  expect(code).toBe(5);
  expect(stdout).toMatch(/^1 documents added .* 1 left out/);
  expect(stderr).toMatch(/left out: line 2: bad: meta\.year: .* \(-32602\)/);
});

test("documents that exceed a limit are refused one by one, whole batches that exceed it are divided", async () => {
  const long = "word ".repeat(220_000); // 1.1 MB, over limits.maxTextBytes and over the body limit
  const lines = Array.from({ length: 5 }, (_, i) => line({ id: `m${i}`, text: `${i} ${"x ".repeat(200_000)}` }));
  await writeFile(join(cwd, "large.jsonl"), [...lines, line({ id: "long", text: long })].join(""));

  const { code, stderr, stdout } = await pgrcp("import", "large.jsonl", "--batch-bytes", "5000000", ...at("add"));

  expect(stderr).toMatch(/left out: line 6: long: .*-32013/);
  expect(stdout).toMatch(/^5 documents added/);
  expect(code).toBe(5);
}, 120_000);

test("a read token may not import, and an add token may not read", async () => {
  await writeFile(join(cwd, "one.jsonl"), line({ id: "one", text: "t" }));

  const wrong = await pgrcp("import", "one.jsonl", ...at("read"));
  const blind = await pgrcp("retrieve", "whale", ...at("add"));

  expect([wrong.code, wrong.stderr]).toEqual([3, expect.stringMatching(/^error: this token may not add documents\n/)]);
  expect([blind.code, blind.stdout]).toEqual([3, ""]);
});

test("an evaluation over the real server finds what a perfect ranking finds", async () => {
  const words = ["alpha", "beta", "gamma", "delta"];
  await pgrcp("corpora", "create", "acme", "judged");
  await writeFile(join(cwd, "corpus.jsonl"), words.map((word) => line({ id: word, text: `${word} ${word}` })).join(""));
  await writeFile(join(cwd, "queries.jsonl"), words.map((word) => line({ id: `q-${word}`, text: word })).join(""));
  await writeFile(
    join(cwd, "qrels.tsv"),
    `query-id\tcorpus-id\tscore\n${words.map((w) => `q-${w}\t${w}\t1\n`).join("")}`,
  );
  await pgrcp("import", "corpus.jsonl", ...at("add", "judged"));

  const { code, stdout } = await pgrcp("eval", ".", "--json", ...at("read", "judged"));

  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ "ndcg@10": 1, "recall@50": 1, "mrr@10": 1, queries: 4 });
});
