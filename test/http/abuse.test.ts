import net from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { sendBytes } from "../support/raw-http.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";

/** Far below what each of these would take if it were not cut off; far above what a busy machine adds. */
const SOON_MS = 10_000;
const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}';

let server: RcpServer;
afterEach(() => server.close());

const serve = async (settings: object = {}) => {
  server = await startRcpServer({ config: { server: settings } });
  return server.token();
};
const head = (token: string, more = "", target = "/rcp/ping") =>
  `POST ${target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n${more}`;
const request = (token: string, more = "", target = "/rcp/ping") =>
  `${head(token, more, target)}Content-Length: ${PING.length}\r\n\r\n${PING}`;

/** Sends bytes one by one, far faster than any limit between two bytes, until the server ends the connection. */
function trickle(port: number, start: string, piece: string): Promise<{ text: string; tookMs: number }> {
  return new Promise((resolve) => {
    const startedAt = performance.now();
    const socket = net.connect(port, "127.0.0.1", () => socket.write(start));
    const timer = setInterval(() => socket.writable && socket.write(piece), 50);
    let text = "";
    socket.on("data", (data) => (text += data)).on("error", () => {});
    socket.on("close", () => {
      clearInterval(timer);
      resolve({ text, tookMs: performance.now() - startedAt });
    });
  });
}

describe("a slow sender", () => {
  test.each([
    ["headers", "X-Slow: ", { headersTimeoutMs: 600 }],
    ["a body", "Content-Length: 400\r\n\r\n", { headersTimeoutMs: 600, receiveTimeoutMs: 600 }],
    ["chunks", "Transfer-Encoding: chunked\r\n\r\n", { headersTimeoutMs: 600, receiveTimeoutMs: 600 }],
  ])("of %s is cut off with 408, however regularly it sends", async (what, start, settings) => {
    const token = await serve(settings);
    const { text, tookMs } = await trickle(server.port, head(token, start), what === "chunks" ? "1\r\n \r\n" : " ");
    expect(text).toMatch(/^HTTP\/1\.1 408 /);
    expect(tookMs).toBeLessThan(600 + SOON_MS);
  });
});

describe("connections of one address", () => {
  /** One after the other, because a burst may wait in the kernel's queue. Each is answered, or closed without. */
  async function open(port: number, count: number) {
    const sockets: net.Socket[] = [];
    for (let index = 0; index < count; index += 1) {
      const socket = net.connect(port, "127.0.0.1").on("error", () => {});
      const ended = new Promise((resolve) => socket.once("data", resolve).once("close", resolve));
      socket.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
      await ended;
      sockets.push(socket);
    }
    return sockets;
  }
  const closedOf = (sockets: readonly net.Socket[]) => sockets.filter(({ destroyed }) => destroyed);
  const close = (sockets: readonly net.Socket[]) => sockets.map((socket) => socket.destroy());

  test("are closed over its share, and taken again when others have gone", async () => {
    const token = await serve({ maxConnectionsPerAddress: 3 });
    const sockets = await open(server.port, 5);
    expect(closedOf(sockets)).toHaveLength(2);

    close(sockets);
    await expect
      .poll(() => server.call("ping", {}, { token }).catch(() => ({ status: 0 })))
      .toMatchObject({ status: 200 });
  });

  test("are as many as there are when it is a trusted proxy's", async () => {
    await serve({ maxConnectionsPerAddress: 3, trustedProxies: ["127.0.0.0/8"] });
    const sockets = await open(server.port, 5);
    expect(closedOf(sockets)).toHaveLength(0);
    close(sockets);
  });

  test("of all addresses are no more than maxConnections", async () => {
    await serve({ maxConnections: 3 });
    const sockets = await open(server.port, 5);
    expect(closedOf(sockets)).toHaveLength(2);
    close(sockets);
  });
});

describe("a request that could be read in two ways", () => {
  test.each([
    ["two lengths", "Content-Length: 1\r\n"],
    ["a length and chunks", "Transfer-Encoding: chunked\r\n"],
    ["two hosts", "Host: y\r\n"],
  ])("with %s is refused with 400, and the connection ends", async (_, more) => {
    const token = await serve();
    expect(await sendBytes(server.port, request(token, more), "closed")).toMatchObject({
      statuses: [400],
      closed: true,
    });
  });

  test.each([
    ["another coding than chunks", "HTTP/1.1", "gzip, chunked"],
    ["chunks twice over", "HTTP/1.1", "chunked\r\nTransfer-Encoding: chunked"],
    ["chunks in HTTP/1.0, which has none", "HTTP/1.0", "chunked"],
  ])("with %s is refused with 400, and the connection ends", async (_, version, coding) => {
    const start = head(await serve(), `Connection: keep-alive\r\nTransfer-Encoding: ${coding}\r\n\r\n`);
    const bytes = `${start.replace("HTTP/1.1", version)}${PING.length.toString(16)}\r\n${PING}\r\n0\r\n\r\n`;
    expect(await sendBytes(server.port, bytes, "closed")).toMatchObject({ statuses: [400], closed: true });
  });

  test("with two Authorization headers is refused with 401, whichever is good", async () => {
    const token = await serve();
    for (const more of ["Authorization: Bearer bad\r\n", `Authorization: Bearer ${token}\r\n`])
      expect((await sendBytes(server.port, request(token, more))).statuses).toEqual([401]);
  });

  test("in absolute form leads where its path does, on whatever host", async () => {
    const token = await serve();
    const answer = await sendBytes(server.port, request(token, "", "http://elsewhere.example/rcp/ping"));
    expect(answer.statuses).toEqual([200]);
    expect((await sendBytes(server.port, request("bad", "", "http://x/rcp/ping"))).statuses).toEqual([401]);
  });
});

describe("what is not a plain request", () => {
  test("pipelined requests are answered in order, each by its own token", async () => {
    const token = await serve();
    const { statuses } = await sendBytes(server.port, request(token) + request("bad") + request(token), 3);
    expect(statuses).toEqual([200, 401, 200]);
  });

  test("HTTP/2 begun without an upgrade is refused with 400", async () => {
    await serve();
    const answer = await sendBytes(server.port, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "closed");
    expect(answer).toMatchObject({ statuses: [400], closed: true });
  });

  test("chunk extensions without end are refused, and no body grows from them", async () => {
    const token = await serve();
    const chunks = `${head(token, "Transfer-Encoding: chunked\r\n\r\n")}1;${"x".repeat(100_000)}\r\n `;
    const { statuses, closed } = await sendBytes(server.port, chunks, "closed");
    expect(closed).toBe(true);
    expect(statuses).toSatisfy((all: number[]) => all.length === 0 || all[0] === 400);
  });

  test("headers over the limit of bytes or of number are refused with 431", async () => {
    const token = await serve({ maxHeaderBytes: 16_384 });
    const long = await sendBytes(server.port, request(token, `X: ${"x".repeat(20_000)}\r\n`), "closed");
    const many = await sendBytes(server.port, request(token, "a:\r\n".repeat(1_001)), "closed");
    for (const answer of [long, many]) expect(answer).toMatchObject({ statuses: [431], closed: true });
  });
});
