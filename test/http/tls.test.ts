import { X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type http from "node:http";
import https from "node:https";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { Duplex } from "node:stream";
import tls from "node:tls";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Handler } from "../../src/methods/handler.ts";
import { ping } from "../../src/methods/ping.ts";
import { sendBytes } from "../support/raw-http.ts";
import { type RcpServer, type RcpServerParts, startRcpServer } from "../support/rcp-server.ts";
import { selfSigned } from "../support/self-signed.ts";

/** Far below the 10 s that closing waits for what is stuck; far above what a busy machine adds. */
const SOON_MS = 8_000;

const folder = mkdtempSync(path.join(tmpdir(), "pgrcp-tls-"));
const certificate = selfSigned();
const files = { certFile: path.join(folder, "cert.pem"), keyFile: path.join(folder, "key.pem") };
writeFileSync(files.certFile, certificate.cert);
writeFileSync(files.keyFile, certificate.key);
afterAll(() => rmSync(folder, { recursive: true }));

let server: RcpServer;
let token: string;
beforeEach(async () => {
  server = await serve();
  token = await server.token();
});
afterEach(() => server.close());

const serve = (settings: object = {}, handlers: RcpServerParts["handlers"] = { ping }) =>
  startRcpServer({ config: { server: { tls: files, ...settings } }, handlers });

/** Restarts the server of the running test with other settings. */
async function serveAnew(...parts: Parameters<typeof serve>): Promise<void> {
  await server.close();
  server = await serve(...parts);
  token = await server.token();
}

interface Answer {
  readonly status: number | undefined;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
  readonly peer: string;
}

/** One call over HTTPS by a client that believes in the server's certificate and in no other. */
function call(method: string, params: object, body = bodyOf(method, params)): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = https.request(
      {
        host: "127.0.0.1",
        port: server.port,
        path: `/rcp/${method}`,
        method: "POST",
        ca: certificate.cert,
        agent: false,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      },
      (response) => {
        const peer = (response.socket as tls.TLSSocket).getPeerX509Certificate()?.fingerprint256 ?? "";
        let text = "";
        response.setEncoding("utf8").on("data", (piece) => {
          text += piece;
        });
        response.on("error", reject);
        response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, text, peer }));
      },
    );
    request.on("error", reject);
    request.end(body);
  });
}

const bodyOf = (method: string, params: object) => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
const PONG = '{"jsonrpc":"2.0","id":1,"result":{"nonce":"over TLS"}}';
const pong = () => call("ping", { nonce: "over TLS" });

/** A connection that has not begun to shake hands. */
async function connected(): Promise<net.Socket> {
  const socket = net.connect(server.port, "127.0.0.1");
  await new Promise((resolve) => socket.once("connect", resolve));
  socket.on("error", () => {}).resume();
  return socket;
}

const closed = (socket: net.Socket) =>
  new Promise<void>((resolve) => (socket.destroyed ? resolve() : socket.once("close", () => resolve())));

describe("with server.tls", () => {
  test("ping is answered over HTTPS, under the configured certificate", async () => {
    const answer = await pong();

    expect(answer).toMatchObject({ status: 200, text: PONG });
    expect(answer.peer).toBe(new X509Certificate(certificate.cert).fingerprint256);
    expect(answer.headers["strict-transport-security"]).toBe("max-age=31536000");
  });

  test("a bad token is refused as it is without TLS", async () => {
    token = "nonsense";
    expect(await pong()).toMatchObject({ status: 401, headers: { "www-authenticate": expect.any(String) } });
  });

  test("plain HTTP gets no answer, and the next client is served", async () => {
    const plain = `POST /rcp/ping HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Length: 0\r\n\r\n`;

    const { text, closed } = await sendBytes(server.port, plain, "closed");

    expect(closed).toBe(true);
    expect(text).not.toContain("jsonrpc");
    expect((await pong()).text).toBe(PONG);
  });

  test.each(["TLSv1", "TLSv1.1"] as const)("%s is not spoken", async (version) => {
    const outcome = await new Promise((resolve) => {
      const options = { minVersion: version, maxVersion: version, ciphers: "ALL:@SECLEVEL=0" } as const;
      const socket = tls.connect({ host: "127.0.0.1", port: server.port, ca: certificate.cert, ...options });
      socket.on("secureConnect", () => resolve("connected"));
      socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code));
    });
    expect(outcome).toMatch(/^(ERR_SSL_|ECONNRESET)/);
  });

  test("a body over the limit is told so before the connection ends", async () => {
    await serveAnew({ maxBodyBytes: 10_000 });

    const answer = await call("ping", {}, bodyOf("ping", { nonce: "x".repeat(2_000_000) }));

    expect(answer).toMatchObject({ status: 413, headers: { connection: "close" } });
    expect(answer.text).toContain('"code":-32013');
  });
});

describe("a handshake", () => {
  test.each([
    ["is never begun", (_socket: net.Socket) => {}],
    ["stops in its first message", (socket: net.Socket) => void socket.write(clientHello().subarray(0, 40))],
    ["comes a byte at a time", (socket: net.Socket) => trickle(socket, clientHello())],
    ["is answered and then left", (socket: net.Socket) => void socket.write(clientHello())],
  ])("that %s is given up, and keeps nobody waiting meanwhile", async (_, begin) => {
    await serveAnew({ headersTimeoutMs: 2_000 });
    const startedAt = performance.now();
    const slow = await connected();
    begin(slow);

    expect((await pong()).text).toBe(PONG);
    await expect.poll(() => slow.destroyed).toBe(true);

    expect(performance.now() - startedAt).toBeGreaterThan(1_900);
    expect((await pong()).text).toBe(PONG);
  });
});

describe("closing", () => {
  test("lets a running call finish and takes no new one", async () => {
    const { handler, started, finish } = held();
    await serveAnew({}, { retrieve: handler, ping });
    const running = call("retrieve", {});
    await started;

    const closing = server.close();
    await expect(pong()).rejects.toThrow(/ECONNREFUSED|ECONNRESET|socket hang up/);
    finish({ hits: [] });

    expect(await running).toMatchObject({ status: 200, headers: { connection: "close" } });
    await closing;
  });

  test("cuts off a call that outlives shutdownGraceMs, and cancels it", async () => {
    const { handler, started, cancelled } = held();
    await serveAnew({ shutdownGraceMs: 100 }, { retrieve: handler });
    const running = call("retrieve", {}).catch((error: Error) => error);
    await started;

    const startedAt = performance.now();
    await server.close();

    expect(performance.now() - startedAt).toBeLessThan(SOON_MS);
    expect(await running).toBeInstanceOf(Error);
    expect(await cancelled).toMatchObject({ code: -32006 });
  });

  test("waits for no connection without a request, whether or not its handshake is over", async () => {
    const silent = await connected();
    const halfway = await connected();
    halfway.write(clientHello());
    const idle = tls.connect({ host: "127.0.0.1", port: server.port, ca: certificate.cert });
    await new Promise((resolve) => idle.once("secureConnect", resolve));
    const kept = tls.connect({ host: "127.0.0.1", port: server.port, ca: certificate.cert });
    kept.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    await new Promise((resolve) => kept.once("data", resolve));
    const gone = Promise.all([silent, halfway, idle.resume(), kept.resume()].map(closed));

    const startedAt = performance.now();
    await server.close();

    expect(performance.now() - startedAt).toBeLessThan(SOON_MS);
    await gone;
  });
});

/** A handler that runs until the test says so. */
function held() {
  const started = Promise.withResolvers<void>();
  const finished = Promise.withResolvers<object>();
  const cancelled = Promise.withResolvers<unknown>();
  const handler: Handler = (_params, { signal }) => {
    signal.addEventListener("abort", () => cancelled.resolve(signal.reason));
    started.resolve();
    return finished.promise;
  };
  return { handler, started: started.promise, cancelled: cancelled.promise, finish: finished.resolve };
}

/** What a client says first. */
function clientHello(): Buffer {
  const written: Buffer[] = [];
  const wire = new Duplex({
    read() {},
    write(chunk, _encoding, done) {
      written.push(chunk);
      done();
    },
  });
  tls.connect({ socket: wire, servername: "localhost" }).on("error", () => {});
  return Buffer.concat(written);
}

function trickle(socket: net.Socket, bytes: Buffer): void {
  const left = bytes[Symbol.iterator]();
  const timer = setInterval(() => {
    const next = left.next();
    if (!next.done && socket.writable) socket.write(Buffer.of(next.value));
  }, 100);
  socket.once("close", () => clearInterval(timer));
}
