import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ScriptedModel, startScriptedModel } from "./adapters/scripted-model.ts";
import { type Pgrcp, startPgrcp } from "./pgrcp-server.ts";

/** The README's programs for `pgrcp/client`, run as they stand there. */

const ROOT = new URL("../../", import.meta.url).pathname;
const manifest = JSON.parse(await readFile(path.join(ROOT, "package.json"), "utf8"));
const readme = await readFile(path.join(ROOT, "README.md"), "utf8");
const section = readme.slice(readme.indexOf("## TypeScript: `pgrcp/client`")).split(/\n## /, 1)[0] ?? "";
const programs = [...section.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code ?? "");
const program = (text: string) => programs.find((code) => code.includes(text)) ?? "";

const ANSWER = "By policies in the database [1].";
const turn = (message: object) => ({
  choices: [{ index: 0, message: { role: "assistant", content: null, ...message } }],
});

let pgrcp: Pgrcp;
let model: ScriptedModel;
let folder: string;
let env: NodeJS.ProcessEnv;
beforeAll(async () => {
  pgrcp = await startPgrcp();
  const token = (credential: "read" | "add") => pgrcp.server.token({ tenant: "demo", credentials: [credential] });
  const text = "Row level security keeps tenants apart.";
  const documents = [{ id: "rls", text, meta: { title: "Tenants", topic: "tenancy" } }];
  await pgrcp.server.call("index/add", { documents }, { token: await token("add") });
  const search = { name: "search", arguments: '{"query":"tenants"}' };
  model = await startScriptedModel([
    turn({ tool_calls: [{ id: "1", type: "function", function: search }] }),
    turn({ content: ANSWER }),
  ]);
  folder = await mkdtemp(path.join(tmpdir(), "pgrcp-readme-"));
  env = { ...process.env, PGRCP_TOKEN: await token("read"), OPENAI_API_KEY: "k", OPENAI_BASE_URL: model.url };
});
afterAll(async () => {
  await Promise.all([pgrcp.close(), model.close(), rm(folder, { recursive: true })]);
});

/** What the program prints. Only where it finds the server and its packages is changed. */
async function run(code: string): Promise<string> {
  const located = code
    .replaceAll("http://127.0.0.1:8787/rcp", pgrcp.url)
    .replace(/from "([^".]+)"/g, (_, name: string) => `from ${JSON.stringify(locate(name))}`);
  const file = path.join(folder, `${programs.indexOf(code)}.ts`);
  await writeFile(file, located);
  const { stdout } = await promisify(execFile)(process.execPath, [file], { env });
  return stdout;
}

function locate(name: string): string {
  if (!name.startsWith("pgrcp/")) return import.meta.resolve(name);
  const built: string = manifest.exports[name.replace("pgrcp", ".")].default;
  return path.join(ROOT, built.replace("./dist/", "src/").replace(/\.js$/, ".ts"));
}

test("a streamed retrieve with a typed filter", async () => {
  const printed = await run(program("retrieveStream"));
  expect(printed).toMatch(/^recall /m);
  expect(printed).toContain("rls untrusted Tenants");
});

test("tools whose bound params a hijacked model does not fill", async () => {
  const printed = await run(program("createAgentTools({\n"));
  expect(printed).toContain('{"kind":"conditions","params":["tenantId"]}');
  expect(printed).toContain("[ 'query', 'k', 'lang', 'team', 'year' ]");
  expect(printed).toContain('{"kind":"ignored","tool":"search","bound":["tenantId","topic"],"others":0}');
  expect(printed).toContain("| Row level security keeps tenants apart.");
});

test("hits in a prompt", async () => {
  const printed = await run(program("renderHits(hits"));
  expect(printed).toContain("| Row level security keeps tenants apart.");
  expect(printed).toContain("[1] rls");
});

test("a loop with OpenAI's client", async () => {
  expect(await run(program("answerToolCalls("))).toContain(ANSWER);
  expect(JSON.stringify(model.requests[1]?.body)).toContain("Row level security keeps tenants apart.");
});

test("two engines asked as one, of which one is away", async () => {
  const printed = await run(program("federate("));
  expect(printed).toContain("rls handbook 1");
  expect(printed).toContain("[ { engine: 'wiki', code: -32010 } ]");
});

test("there is no other program in the section", () => {
  expect(programs).toHaveLength(5);
});
