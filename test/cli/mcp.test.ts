import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { connectMcp, REVISIONS } from "../support/mcp-client.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";
import { runCli } from "./run-cli.ts";

/** `pgrcp mcp`, launched by the official client as a desktop agent launches it, before a real server. */

const LAUNCHER = fileURLToPath(new URL("../../bin/pgrcp.mjs", import.meta.url));
const folder = mkdtempSync(path.join(tmpdir(), "pgrcp-mcp-"));
const tokenFile = path.join(folder, "read.token");

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
  const token = await server.token({ credentials: ["read", "add"] });
  const documents = [{ id: "amber", text: "Amber is fossil resin.", meta: { title: "On amber" } }];
  await server.call("index/add", { documents }, { token });
  writeFileSync(tokenFile, await server.token());
});
afterAll(async () => {
  await server.close();
  await db.close();
  rmSync(folder, { recursive: true });
});

/** Nothing of the environment but what the client's SDK hands on by default. */
const launch = (args: readonly string[]) =>
  new StdioClientTransport({
    command: process.execPath,
    args: [LAUNCHER, "mcp", "--url", `${server.url}/rcp`, "--token-file", tokenFile, ...args],
    cwd: folder,
    stderr: "pipe",
  });

describe.each(REVISIONS)("MCP %s over stdio", (revision) => {
  test("lists, searches, fetches and reads what the door over HTTP does", async () => {
    const client = await connectMcp(launch([]), revision);
    expect(client.getNegotiatedProtocolVersion()).toBe(revision);

    const { tools } = await client.listTools();
    const found = await client.callTool({ name: "search", arguments: { query: "amber" } });
    const fetched = await client.callTool({ name: "fetch", arguments: { id: "amber" } });
    const corpora = await client.callTool({ name: "list_corpora", arguments: {} });
    const { resourceTemplates } = await client.listResourceTemplates();
    const { contents } = await client.readResource({ uri: "pgrcp://default/documents/amber" });

    expect(tools.map(({ name }) => name)).toEqual(["search", "fetch", "list_corpora"]);
    expect(found.structuredContent).toMatchObject({ passages: [{ id: "amber", title: "On amber" }] });
    expect(fetched.structuredContent).toMatchObject({ text: "Amber is fossil resin." });
    expect(corpora.structuredContent).toEqual({ corpora: [{ name: "default", language: "english" }] });
    expect((await client.listResources()).resources).toEqual([]);
    expect(resourceTemplates).toMatchObject([{ uriTemplate: "pgrcp://{corpus}/documents/{id}" }]);
    expect(contents).toMatchObject([{ text: "Amber is fossil resin.", _meta: { "pgrcp/trust": "untrusted" } }]);
  });

  test("answers errors with the client's own ids: of a tool, and of the protocol", async () => {
    const client = await connectMcp(launch([]), revision);
    const bad = await client.callTool({ name: "search", arguments: { query: "amber", tenantId: "globex" } });
    expect(bad).toMatchObject({ isError: true, _meta: { "pgrcp/code": -32602 } });
    await expect(client.readResource({ uri: "pgrcp://default/documents/nowhere" })).rejects.toMatchObject({
      code: -32602,
    });
    await expect(client.readResource({ uri: "pgrcp://default/documents/żółw ☃" })).rejects.toMatchObject({
      code: -32602,
    });
  });

  test("is one corpus' alone where the launcher says so", async () => {
    const client = await connectMcp(launch(["--corpus", "default"]), revision);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["search", "fetch"]);
    expect(await client.callTool({ name: "search", arguments: { query: "amber", corpus: "docs" } })).toMatchObject({
      isError: true,
    });
  });
});

test("answers what it was asked before its input ended, then ends; standard error alone says what is wrong with the token", async () => {
  writeFileSync(path.join(folder, "bad.token"), "no.such.token");
  const args = [LAUNCHER, "mcp", "--url", `${server.url}/mcp`, "--token-file", "bad.token"];
  const child = spawn(process.execPath, args, { cwd: folder, env: {} });
  const text = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", (piece: string) => {
      text[name] += piece;
    });
  child.stdin.end('{"jsonrpc":"2.0","id":"a","method":"tools/list"}\n{"jsonrpc":"2.0","id":"b","method":"ping"}');

  const [code] = await once(child, "close");

  const lines = text.stdout.trimEnd().split("\n");
  expect(code).toBe(0);
  expect(lines.map((line) => JSON.parse(line).id).sort()).toEqual(["a", "b"]);
  expect(JSON.parse(lines[0] ?? "").error.message).toContain("the server refuses the token (HTTP 401)");
  expect(text.stderr).toMatch(/^pgrcp mcp: the server refuses the token \(HTTP 401\).*\n$/);
  expect(text.stdout + text.stderr).not.toContain("no.such.token");
});

describe("pgrcp mcp is not started", () => {
  test.each([
    [["--url", "http://rcp.example.org/rcp"], "the URL must begin with https://"],
    [["--url", "https://rcp.example.org/elsewhere"], "the URL must end in /rcp"],
    [["--url", "https://rcp.example.org/rcp", "--token-file", "nowhere"], "the token file nowhere cannot be read"],
    [["--token-file", tokenFile], "--url"],
  ])("with %j", async (args, text) => {
    const { code, stdout, stderr } = await runCli(["mcp", ...args], folder);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(text);
  });
});
