import http from "node:http";
import net, { type AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openServerHome, type ServerHome } from "../support/crash/server-home.ts";
import type { ServerProcess } from "../support/crash/server-process.ts";

const isEmbedded = process.env.PGRCP_TEST_DATABASE_URL === undefined;
/** Long, and the kernel's own races are in it: `test/http/connection.test.ts` holds each part of it alone, at every run. */
const isAsked = process.env.PGRCP_TEST_FULL === "1";
const RESTARTS = 5;
const DRAIN_MS = 1_000;
const CLIENTS = 8;
const RETRY_MS = 20;

interface Process {
  readonly port: number;
  server: ServerProcess;
  start(): ServerProcess;
}

let home: ServerHome;
/** Two on Postgres; the embedded database takes one, and its callers wait while it is down. */
let processes: Process[];
let token: string;

beforeAll(async () => {
  if (!isAsked) return;
  home = await openServerHome({ server: { drainMs: DRAIN_MS }, sessions: { mode: "required" } });
  token = await home.issuer.mint({ credentials: ["read"], expiresIn: 3_600 });
  const ports = await freePorts(isEmbedded ? 1 : 2);
  processes = ports.map((port) => {
    const start = () => home.start({ PGRCP_SERVER__PORT: String(port) });
    return { port, start, server: start() };
  });
  await Promise.all(processes.map(({ server }) => server.ready));
}, 60_000);

afterAll(async () => {
  if (isAsked) await home.close();
}, 60_000);

async function freePorts(count: number): Promise<number[]> {
  const taken = Array.from({ length: count }, () => net.createServer().listen(0, "127.0.0.1"));
  await Promise.all(taken.map((server) => new Promise((resolve) => server.once("listening", resolve))));
  const ports = taken.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(taken.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

function send(agent: http.Agent, port: number, method: string, headers: Record<string, string> = {}): Promise<Answer> {
  const params = method === "initialize" ? { protocolVersion: 1 } : { query: "amber" };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  return new Promise((resolve, reject) => {
    const request = http.request({
      host: "127.0.0.1",
      port,
      agent,
      method: "POST",
      path: `/rcp/${method}`,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
    });
    request.on("error", reject);
    request.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (piece: string) => (text += piece));
      response.on("error", reject);
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    request.end(body);
  });
}

const isRefused = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ECONNREFUSED";

/** Asks one process after the other, on connections that it keeps; tries again only where a connection was refused. */
async function keepAsking(session: string, done: AbortSignal, tally: { answers: number; refused: number }) {
  const agent = new http.Agent({ keepAlive: true });
  for (let turn = 0; !done.aborted; turn += 1) {
    const { port } = processes[turn % processes.length] as Process;
    try {
      const { status, text } = await send(agent, port, "retrieve", { "rcp-session": session });
      expect({ status, answer: JSON.parse(text) }).toMatchObject({ status: 200, answer: { result: { hits: [] } } });
      tally.answers += 1;
    } catch (error) {
      if (!isRefused(error)) throw error;
      tally.refused += 1;
      await sleep(RETRY_MS);
    }
  }
  agent.destroy();
}

test.runIf(isAsked)(
  `${RESTARTS} rolling restarts lose no request and no session`,
  async () => {
    const agent = new http.Agent();
    const opened = await send(agent, (processes[0] as Process).port, "initialize");
    const session: string = JSON.parse(opened.text).result._meta.session;
    const done = new AbortController();
    const tally = { answers: 0, refused: 0 };
    const asking = Promise.all(Array.from({ length: CLIENTS }, () => keepAsking(session, done.signal, tally)));
    // A failure ends the test at once, not after the last restart.
    const failed = asking.then(() => new Promise<never>(() => {}));

    const restart = async (process: Process) => {
      const before = tally.answers;
      const stoppedAt = performance.now();
      process.server.kill("SIGTERM");
      await sleep(50);
      const ready = await fetch(`http://127.0.0.1:${process.port}/readyz`, { headers: { connection: "close" } });
      expect(ready.status).toBe(503);
      expect((await send(agent, process.port, "retrieve", { "rcp-session": session })).status).toBe(200);
      expect(await process.server.ended).toEqual({ code: 0, signal: null });
      expect(performance.now() - stoppedAt).toBeGreaterThanOrEqual(DRAIN_MS);
      expect(tally.answers).toBeGreaterThan(before);
      process.server = process.start();
      await process.server.ready;
    };
    for (let round = 0; round < RESTARTS; round += 1)
      for (const process of processes) await Promise.race([restart(process), failed]);
    await sleep(200);
    done.abort();
    await asking;
    agent.destroy();
    console.info(`${tally.answers} answers, ${tally.refused} refused connections, 0 errors`);
    expect(tally.answers).toBeGreaterThan(100);
  },
  300_000,
);
