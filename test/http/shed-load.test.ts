import { once } from "node:events";
import net from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createTokenVerifier } from "../../src/auth/jwt-verifier.ts";
import type { TokenVerifier } from "../../src/auth/verify-token.ts";
import type { Handler } from "../../src/methods/handler.ts";
import { PLAN_ONLY_HANDLERS } from "../support/plan-only-handlers.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";
import { servedSocket } from "../support/served-socket.ts";
import { expectValidError } from "../support/validate-response.ts";

const pressure = { isHigh: false };
let server: RcpServer;
let [acme, globex]: readonly string[] = [];
/** What each retrieve waits for. */
let gate = Promise.withResolvers<void>();
let running = 0;

beforeAll(async () => {
  const retrieve: Handler = async () => {
    running += 1;
    await gate.promise;
    running -= 1;
    return { hits: [] };
  };
  server = await startRcpServer({ handlers: { ...PLAN_ONLY_HANDLERS, retrieve }, pressure });
  acme = await server.token({ tenant: "acme" });
  globex = await server.token({ tenant: "globex" });
});
afterAll(() => server.close());
afterEach(async () => {
  pressure.isHigh = false;
  gate.resolve();
  await expect.poll(() => running).toBe(0);
  gate = Promise.withResolvers();
  server.observations.length = 0;
});

const retrieve = (token: string | undefined) => server.call("retrieve", { query: "x" }, { ...(token && { token }) });

describe("while the process has too much to do", () => {
  test("a tenant's second request is 503 with -32010 and a wait, and another tenant's first is answered", async () => {
    const first = retrieve(acme);
    await expect.poll(() => running).toBe(1);
    pressure.isHigh = true;

    const second = await retrieve(acme);
    const others = retrieve(globex);
    await expect.poll(() => running).toBe(2);
    gate.resolve();

    expect(second.status).toBe(503);
    expect(second.headers["retry-after"]).toBe("5");
    expectValidError(second.body);
    expect(second.body).toMatchObject({
      id: null,
      error: { code: -32010, data: { retryable: true, retryAfterMs: 5_000 } },
    });
    expect([await first, await others].map(({ status }) => status)).toEqual([200, 200]);
    expect((await retrieve(acme)).status).toBe(200);
  });

  test("a refusal makes no line in the log, and its body is not waited for", async () => {
    void retrieve(acme);
    await expect.poll(() => running).toBe(1);
    pressure.isHigh = true;

    const { status } = await server.send({
      path: "/rcp/retrieve",
      headers: [
        ["authorization", `Bearer ${acme}`],
        ["content-type", "application/json"],
        ["content-length", "1000"],
      ],
    });

    expect(status).toBe(503);
    expect(server.observations).toEqual([]);
  });

  test("core methods and cancels pass, a batch does not, and a bad token is still 401", async () => {
    void retrieve(acme);
    await expect.poll(() => running).toBe(1);
    pressure.isHigh = true;
    const notification = { jsonrpc: "2.0", method: "notifications/cancel", params: { id: 1 } };
    const post = (path: string, body: object, token = acme) =>
      server.post(path, JSON.stringify(body), { ...(token && { token }) });

    expect((await server.call("ping", {}, { token: String(acme) })).status).toBe(200);
    expect((await post("/rcp/notifications/cancel", notification)).status).toBe(204);
    expect((await post("/rcp", [{ jsonrpc: "2.0", id: 1, method: "ping" }])).status).toBe(503);
    expect((await retrieve("not-a-token")).status).toBe(401);
  });

  test("a request whose client left does not count", async () => {
    pressure.isHigh = true;
    const leaving = new AbortController();
    const gone = fetch(`${server.url}/rcp/retrieve`, {
      method: "POST",
      headers: { authorization: `Bearer ${acme}`, "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "retrieve", params: { query: "x" } }),
      signal: leaving.signal,
    });
    await expect.poll(() => running).toBe(1);
    leaving.abort();
    await expect(gone).rejects.toThrow();
    gate.resolve();

    await expect.poll(async () => (await retrieve(acme)).status).toBe(200);
  });

  test("a request whose client left while its token was looked at does not count", async () => {
    const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const good = createTokenVerifier(server.config.auth);
    const verifier: TokenVerifier = {
      async verify(authorization) {
        asked.resolve();
        await answered.promise;
        return await good.verify(authorization);
      },
    };
    const other = await startRcpServer({ issuer: server.issuer, verifier, pressure });
    const socket = net.connect(other.port, "127.0.0.1").on("error", () => {});
    const head = `POST /rcp/retrieve HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${acme}\r\nContent-Type: application/json\r\n`;
    socket.write(`${head}Content-Length: 9\r\n\r\n`);
    await asked.promise;
    const left = once(servedSocket(), "close");
    socket.destroy();
    await left;
    answered.resolve();
    await pause(50); // until the request that nobody waits for has come as far as it comes
    pressure.isHigh = true;

    expect((await other.call("retrieve", { query: "x" }, { token: String(acme) })).status).toBe(200);
    await other.close();
  });
});

test("at other times a tenant may have many requests at once", async () => {
  const two = [retrieve(acme), retrieve(acme)];
  await expect.poll(() => running).toBe(2);
  gate.resolve();

  expect((await Promise.all(two)).map(({ status }) => status)).toEqual([200, 200]);
});
