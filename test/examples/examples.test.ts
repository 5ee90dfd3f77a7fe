import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type RunningCli, startCli } from "../cli/run-cli.ts";

/** The programs of `examples`, as a newcomer runs them beside `npm start`. */

const EXAMPLES = new URL("../../examples/", import.meta.url).pathname;
const ENV = { PGRCP_SERVER__PORT: "0", PGRCP_CONFIG: undefined, NODE_DEBUG: undefined };
const IGNORED = 'log: {"kind":"ignored","tool":"search","bound":["tenantId"],"others":0}';
const MAX_LINES = 60;

let folder: string;
let server: RunningCli;
let url: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "pgrcp-examples-"));
  server = startCli(["serve"], folder, ENV);
  url = /^ready (\S+)/.exec(await server.line("ready "))?.[1] ?? "";
});
afterAll(async () => {
  server.kill("SIGKILL");
  await server.result;
  await rm(folder, { recursive: true });
});

async function run(name: string): Promise<string> {
  const env = { ...process.env, PGRCP_URL: url };
  const { stdout } = await promisify(execFile)(process.execPath, [path.join(EXAMPLES, name)], { cwd: folder, env });
  return stdout;
}

test.each(["openai-loop.ts", "langchain-agent.ts"])(
  "%s ignores the tenant that a hijacked model names",
  async (name) => {
    const printed = await run(name);
    expect(printed).toContain(IGNORED);
    expect(printed).toContain('[1] trust=trusted id="tenancy/isolation"');
    expect(printed).toContain("answer: By policies in the database and by the token [1].");
  },
);

test("openai-loop.ts shows a model no tenant to fill", async () => {
  expect(await run("openai-loop.ts")).toMatch(/^the model may fill: query, k, topic, year$/m);
});

test("mcp-client.ts searches, fetches and reads, and a tenant among the arguments is refused", async () => {
  const printed = await run("mcp-client.ts");
  expect(printed).toMatch(/^tool: search query, k, corpus, filters$/m);
  expect(printed).toMatch(/^fetched: tenancy\/isolation$/m);
  expect(printed).toMatch(/^resource: pgrcp:\/\/default\/documents\/tenancy%2Fisolation [1-9]\d+$/m);
  expect(printed).toMatch(/^hijacked: .*this tool takes query, k, corpus, filters and nothing else/m);
});

test("before-after.ts: what a server had to refuse, a model can no longer ask for", async () => {
  const printed = await run("before-after.ts");
  expect(printed).toMatch(/^before, the model may fill: query, k, filter, tenantId$/m);
  expect(printed).toMatch(/^before, hijacked: 403 /m);
  expect(printed).toContain(IGNORED);
  expect(printed).toMatch(/^after, hijacked: tenancy\/isolation, /m);
  expect(printed).toMatch(/^unverified: tenantId was resolved to no value, so nothing was sent$/m);
});

test("each is short enough to be read", async () => {
  for (const name of await readdir(EXAMPLES)) {
    const lines = (await readFile(path.join(EXAMPLES, name), "utf8")).trimEnd().split("\n").length;
    expect([name, lines <= MAX_LINES]).toEqual([name, true]);
  }
});
