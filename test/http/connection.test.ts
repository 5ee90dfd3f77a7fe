import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type http from "node:http";
import https from "node:https";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Handler } from "../../src/methods/handler.ts";
import { ping } from "../../src/methods/ping.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";

let server: RcpServer;
afterEach(() => server.close());

/** Far below the 10 s that closing waits for what is stuck; far above what a busy machine adds. */
const SOON_MS = 8_000;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A handler that tells when it has started, and what it was cancelled with. */
function watched(work: () => Promise<object>) {
  const started = Promise.withResolvers<void>();
  const cancelled = Promise.withResolvers<unknown>();
  const handler: Handler = (_params, { signal }) => {
    signal.addEventListener("abort", () => cancelled.resolve(signal.reason));
    started.resolve();
    return work();
  };
  return { handler, started: started.promise, cancelled: cancelled.promise };
}

const forever = () => new Promise<never>(() => {});
const slowly = async () => {
  await pause(300);
  return { hits: [] };
};

describe("closing the server", () => {
  test("lets what runs finish, closes its connections and takes no new ones", async () => {
    const { handler, started } = watched(slowly);
    server = await startRcpServer({ handlers: { retrieve: handler, ping } });
    const token = await server.token();
    const running = server.call("retrieve", {}, { token });
    await started;

    const closing = server.close();
    const refused = server.call("ping", {}, { token });

    await expect(refused).rejects.toThrow(/ECONNREFUSED|ECONNRESET/);
    const answer = await running;
    expect(answer).toMatchObject({ status: 200, body: { result: { hits: [] } }, headers: { connection: "close" } });
    await closing;
  });

  test("cuts off what runs longer than the grace allows, and cancels it", async () => {
    const { handler, started, cancelled } = watched(forever);
    server = await startRcpServer({ config: { server: { shutdownGraceMs: 100 } }, handlers: { retrieve: handler } });
    const running = server.call("retrieve").catch((error: Error) => error);
    await started;

    const startedAt = performance.now();
    await server.close();

    expect(performance.now() - startedAt).toBeLessThan(SOON_MS);
    expect(await running).toBeInstanceOf(Error);
    expect(await cancelled).toMatchObject({ code: -32006 });
  });

  test("closes cleanly after a grace that is longer than Fastify gives a plugin", async () => {
    const { handler, started } = watched(forever);
    const shutdownGraceMs = 11_000;
    server = await startRcpServer({ config: { server: { shutdownGraceMs } }, handlers: { retrieve: handler } });
    const running = server.call("retrieve").catch((error: Error) => error);
    await started;

    await expect(server.close()).resolves.toBeUndefined();
    expect(await running).toBeInstanceOf(Error);
  });

  test("is not ready from the moment it drains, and goes on answering over the connections that there are", async () => {
    server = await startRcpServer();
    const readyz = () => server.send({ method: "GET", path: "/readyz" });
    expect(await readyz()).toMatchObject({ status: 200 });

    server.drain();

    expect(await readyz()).toMatchObject({ status: 503 });
    const socket = net.connect(server.port, "127.0.0.1");
    for (const ready of ["503", "503"]) {
      socket.write("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n");
      const [head] = await once(socket, "data");
      expect(String(head)).toMatch(new RegExp(`^HTTP/1.1 ${ready}`));
    }
    expect(await server.call("ping")).toMatchObject({ status: 200 });
    socket.destroy();
    await server.close();
  });

  test.each(["was just accepted", "was kept from an earlier request"])(
    "answers a request that is on its way over a connection that %s",
    async (which) => {
      server = await startRcpServer();
      const token = await server.token();
      const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
      const request =
        `POST /rcp/ping HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
      const socket = net.connect(server.port, "127.0.0.1");
      let answers = 0;
      socket.on("data", (bytes) => (answers += bytes.toString("latin1").split('"result":{}').length - 1));
      await new Promise((resolve) => socket.on("connect", resolve));
      if (which === "was kept from an earlier request") {
        socket.write(request);
        await expect.poll(() => answers).toBe(1);
      }
      const before = answers;

      const closing = server.close();
      await new Promise((resolve) => setTimeout(resolve, 50));
      socket.write(request);
      await new Promise((resolve) => socket.on("close", resolve));
      await closing;

      expect(answers).toBe(before + 1);
    },
  );

  test("does not wait for connections that are silent or idle", async () => {
    server = await startRcpServer();
    const silent = net.connect(server.port, "127.0.0.1");
    await new Promise((resolve) => silent.on("connect", resolve));
    const idle = net.connect(server.port, "127.0.0.1");
    idle.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    await new Promise((resolve) => idle.once("data", resolve));

    const startedAt = performance.now();
    await server.close();

    expect(performance.now() - startedAt).toBeLessThan(SOON_MS);
  });
});

test("a client that hangs up cancels its call", async () => {
  const { handler, started, cancelled } = watched(forever);
  server = await startRcpServer({ handlers: { retrieve: handler } });
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "retrieve" });
  const socket = net.connect(server.port, "127.0.0.1");
  socket.write(
    `POST /rcp/retrieve HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${await server.token()}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await started;
  socket.destroy();

  expect(await cancelled).toMatchObject({ code: -32006 });
  const line = expect.objectContaining({ method: "retrieve", code: -32006 });
  await expect.poll(() => server.observations).toContainEqual(line);
});

test("one client's stuck call keeps no other waiting", async () => {
  const { handler, started } = watched(forever);
  server = await startRcpServer({
    config: { server: { shutdownGraceMs: 1 } },
    handlers: { retrieve: handler, ping },
  });
  const token = await server.token();
  const stuck = server.call("retrieve", {}, { token }).catch(() => {});
  await started;

  expect((await server.call("ping", {}, { token })).status).toBe(200);
  await server.close();
  await stuck;
});

describe("health", () => {
  test("is told without a token: alive always, ready only when requests can be served", async () => {
    // A look is remembered for a second, which passes here when the test says so.
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    let ready = true;
    let looks = 0;
    server = await startRcpServer({
      isReady: async () => {
        looks++;
        return ready;
      },
    });
    const get = (target: string, method = "GET") => server.send({ method, path: target });

    expect(await get("/healthz")).toMatchObject({ status: 200, text: '{"status":"ok"}' });
    expect(await get("/readyz")).toMatchObject({ status: 200, text: '{"status":"ready"}' });
    ready = false;
    expect((await get("/readyz")).status).toBe(200);
    expect(looks).toBe(1);
    vi.advanceTimersByTime(1_000);
    expect(await get("/readyz?verbose")).toMatchObject({ status: 503, text: '{"status":"not ready"}' });
    expect((await get("/healthz")).status).toBe(200);
    expect(await get("/healthz", "HEAD")).toMatchObject({ status: 200, text: "" });
    expect(await get("/readyz", "POST")).toMatchObject({ status: 405, headers: { allow: "GET, HEAD" } });
  });
});

test("with server.tls the same server speaks HTTPS, and tells browsers to stay with it", async () => {
  const dir = mkdtempSync(path.join(tmpdir(), "pgrcp-tls-"));
  const [certFile, keyFile] = [path.join(dir, "cert.pem"), path.join(dir, "key.pem")];
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
  const subject = ["-subj", "/CN=localhost", "-days", "1"];
  execFileSync("openssl", ["req", "-x509", ...curve, "-nodes", ...subject, "-keyout", keyFile, "-out", certFile], {
    stdio: "ignore",
  });
  server = await startRcpServer({ config: { server: { tls: { certFile, keyFile } } } });
  const options = {
    host: "127.0.0.1",
    port: server.port,
    path: "/healthz",
    ca: readFileSync(certFile),
    servername: "localhost",
  };

  const response = await new Promise<http.IncomingMessage>((resolve, reject) =>
    https.get({ ...options, agent: false }, resolve).on("error", reject),
  );
  response.resume();

  expect(response.statusCode).toBe(200);
  expect(response.headers["strict-transport-security"]).toBe("max-age=31536000");
  rmSync(dir, { recursive: true });
});
