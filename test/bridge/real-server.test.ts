import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Bridge } from "../../src/bridge/bridge.ts";
import { listenOnLoopback } from "../../src/bridge/loopback-server.ts";
import { createUpstream } from "../../src/bridge/upstream.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { ENVELOPE_ENTRIES, envelopeBody, expectEnvelope } from "../support/envelope-vectors.ts";
import { sendRequest } from "../support/raw-http.ts";
import { type RcpServer, type Response, startRcpServer } from "../support/rcp-server.ts";
import { TLS_CERT, TLS_KEY } from "../support/tls-pair.ts";

/** The bridge over http in front of pgrcp itself, with TLS, tokens and sessions required. */

const folder = mkdtempSync(path.join(tmpdir(), "pgrcp-bridge-"));
const tls = { certFile: path.join(folder, "cert.pem"), keyFile: path.join(folder, "key.pem") };
writeFileSync(tls.certFile, TLS_CERT);
writeFileSync(tls.keyFile, TLS_KEY);
afterAll(() => rmSync(folder, { recursive: true }));

let database: TestDatabase;
let server: RcpServer;
let token: string;
beforeAll(async () => {
  database = await openTestDatabase();
  server = await serve();
  token = await server.token({ credentials: ["read", "add", "delete"] });
});
afterAll(async () => {
  await server.close();
  await database.close();
});

const serve = (settings: object = {}, issuer?: RcpServer["issuer"]) =>
  startRcpServer({
    config: {
      auth: { combinedTokens: true },
      sessions: { mode: "required", maxPerPrincipal: 1_000 },
      server: { tls },
      ...settings,
    },
    database: database.database,
    ...(issuer !== undefined && { issuer }),
  });

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly body: Response;
}

async function connect(port = server.port, tokenOf = async (): Promise<string | undefined> => token) {
  const base = new URL(`https://127.0.0.1:${port}/rcp`);
  const upstream = createUpstream({ base, ca: Buffer.from(TLS_CERT), token: tokenOf, say: () => {} });
  const bridge = new Bridge({ upstream, timeoutMs: 10_000, say: () => {} });
  const loopback = await listenOnLoopback(bridge, { host: "127.0.0.1", port: 0 });
  onTestFinished(async () => {
    await bridge.close(1_000);
    await loopback.close();
    upstream.close();
  });
  const post = async (target: string, body: string): Promise<Answer> => {
    const headers = [["content-type", "application/json"]] as const;
    const answer = await sendRequest(Number(new URL(loopback.url).port), { path: target, headers, body });
    return { ...answer, body: answer.text === "" ? undefined : JSON.parse(answer.text) };
  };
  const call = (method: string, params: object = {}, id: string | number = 1) =>
    post(`/rcp/${method}`, JSON.stringify({ jsonrpc: "2.0", id, method, params }));
  const initialize = () => call("initialize", { protocolVersion: 1, client: { name: "test" }, capabilities: {} });
  return { bridge, post, call, initialize };
}

/** Passes one request a connection on to the port of the moment, as a load balancer does. */
async function startDoor(portOf: () => number): Promise<number> {
  const sockets = new Set<net.Socket>();
  const door = net.createServer((client) => {
    const inner = net.connect(portOf(), "127.0.0.1");
    sockets.add(client).add(inner);
    client
      .on("error", () => {})
      .pipe(inner)
      .on("error", () => {});
    inner.pipe(client);
    // So that the next request comes over a connection of its own.
    inner.on("data", () => setTimeout(() => client.destroy(), 200));
  });
  await new Promise<void>((resolve) => door.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    door.close();
  });
  const address = door.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

describe("the shared envelope vectors through the bridge", () => {
  test.each(ENVELOPE_ENTRIES.map((entry) => [entry.id, entry.note ?? "", entry] as const))(
    "%s %s",
    async (_id, _note, entry) => {
      const { post, initialize } = await connect();
      if (entry.session) expect((await initialize()).body.result).toBeDefined();
      expectEnvelope(await post(entry.path, envelopeBody(entry)), entry);
    },
  );
});

interface IdEntry {
  readonly id: string;
  readonly raw: string | null;
  readonly expect: {
    readonly kind: "echo" | "error" | "notification";
    readonly value?: string | number;
    readonly code?: number;
  };
}

const ids = new URL("../vectors/data/ids.json", import.meta.url);
const ID_ENTRIES: readonly IdEntry[] = JSON.parse(readFileSync(ids, "utf8")).entries;

describe("the shared id vectors through the bridge", () => {
  test.each(ID_ENTRIES.map((entry) => [entry.id, entry] as const))("%s", async (_id, entry) => {
    const { post } = await connect();
    const idMember = entry.raw === null ? "" : `"id":${entry.raw},`;
    const { status, text, body } = await post("/rcp/ping", `{"jsonrpc":"2.0",${idMember}"method":"ping","params":{}}`);

    const { kind, value, code } = entry.expect;
    expect(status).toBe(kind === "notification" ? 204 : 200);
    if (kind === "notification") expect(text).toBe("");
    if (kind === "echo") expect(body).toEqual({ jsonrpc: "2.0", id: value, result: {} });
    if (kind === "error") expect(body).toMatchObject({ id: null, error: { code } });
  });
});

describe("a bridge to pgrcp", () => {
  test("never shows the session that the server requires", async () => {
    const { initialize, call } = await connect();
    const { body } = await initialize();
    expect(body.result?._meta).toBeTypeOf("object");
    expect(body.result?._meta).not.toHaveProperty("session");
    expect((await call("retrieve", { query: "x" }, "mine")).body).toMatchObject({ id: "mine", result: { hits: [] } });
  });

  test("opens the session anew when another process of the server does not know it", async () => {
    let current = token;
    const { initialize, call } = await connect(server.port, async () => current);
    await initialize();
    // A session belongs to its subject, so another one's token finds it as good as ended.
    current = await server.token({ credentials: ["read", "add", "delete"], subject: "bob" });
    expect((await call("retrieve", { query: "x" })).body.result).toBeDefined();
  });

  test("ends when the server comes back with other capabilities", async () => {
    let current = server.port;
    const { bridge, initialize, call } = await connect(await startDoor(() => current));
    await initialize();
    const other = await serve({ capabilities: { modes: ["sparse"] } }, server.issuer);
    onTestFinished(() => other.close());
    current = other.port;
    await pause(300);
    expect((await call("retrieve", { query: "x" })).body.error).toMatchObject({
      code: -32010,
      data: { retryable: false },
    });
    expect(await bridge.ended).toBe("changed");
  });

  test("says -32012 of an expired token, and goes on with the next one", async () => {
    let current = await server.token({ expiresIn: -600 });
    const { initialize } = await connect(server.port, async () => current);
    expect((await initialize()).body.error?.code).toBe(-32012);
    current = token;
    expect((await initialize()).body.result).toBeDefined();
  });

  test("says -32013 of a body that the server does not read, every time", async () => {
    const { initialize, call } = await connect();
    await initialize();
    for (let round = 0; round < 5; round += 1) {
      const { body } = await call("index/add", { documents: [{ id: "a", text: "x".repeat(8_000_000) }] }, round);
      expect(body).toMatchObject({ id: round, error: { code: -32013 } });
      expect(String(body.error?.data?.detail)).toContain("server.maxAddBodyBytes");
    }
  });
});
