import { once } from "node:events";
import http from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CREDENTIALS, type Credential } from "../../src/auth/principal.ts";
import { bodyLimit, readBody } from "../../src/http/read-body.ts";
import { sendBytes } from "../support/raw-http.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";

const limits = { maxBodyBytes: 1_000, maxAddBodyBytes: 4_000 };
let server: RcpServer;
beforeAll(async () => {
  server = await startRcpServer({ config: { server: limits, auth: { combinedTokens: true } } });
});
afterAll(() => server.close());

test("the body of a client that left before it is read is given up at once", async () => {
  const given = Promise.withResolvers<unknown>();
  const slow = http.createServer(async (request, response) => {
    await once(response, "close");
    given.resolve(await readBody(request, response, { bytes: 100, setting: "maxBodyBytes" }).catch((error) => error));
  });
  await once(slow.listen(0, "127.0.0.1"), "listening");
  const { port } = slow.address() as AddressInfo;
  const client = connect(port, "127.0.0.1", () => {
    client.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nhalf");
    setTimeout(() => client.destroy(), 50);
  });

  expect(await given.promise).toMatchObject({ status: 400 });
  slow.close();
});

describe("how long a body may be", () => {
  test.each<[readonly Credential[], string | undefined, number]>([
    [["read"], "retrieve", 1_000],
    [["read"], "index/add", 1_000],
    [["read"], undefined, 1_000],
    [["delete"], "index/delete", 1_000],
    [["delete"], "index/add", 1_000],
    [["add"], "index/add", 4_000],
    [["add"], undefined, 4_000],
    [CREDENTIALS, "index/add", 4_000],
    [CREDENTIALS, "retrieve", 1_000],
    [CREDENTIALS, "index/add/", 1_000],
  ])("with %j at %s is %d bytes", (credentials, method, bytes) => {
    expect(bodyLimit({ credentials: new Set(credentials) }, { method }, limits).bytes).toBe(bytes);
  });

  test("is never less for who may add", () => {
    const add = { credentials: new Set(["add"] as const) };
    expect(bodyLimit(add, { method: "index/add" }, { maxBodyBytes: 5_000, maxAddBodyBytes: 4_000 }).bytes).toBe(5_000);
  });

  test("holds to the byte, whether the length is told or not", async () => {
    const token = await server.token({ credentials: ["add"] });
    const call = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "index/add", params: 1 });
    const post = async (path: string, length: number) =>
      (await server.post(path, call.padEnd(length), { token })).body?.error;

    expect(await post("/rcp/index/add", 4_000)).toMatchObject({ code: -32602 });
    expect(await post("/rcp/index/add", 4_001)).toMatchObject({
      code: -32013,
      data: { detail: "a body holds at most 4000 bytes (server.maxAddBodyBytes)" },
    });
    expect(await post("/rcp/ping", 1_001)).toMatchObject({ code: -32013 });
    const chunked = await sendBytes(
      server.port,
      `${headOf("index/add", token)}Transfer-Encoding: chunked\r\n\r\nfa1\r\n${" ".repeat(4_001)}\r\n`,
      "closed",
    );
    expect(chunked).toMatchObject({ statuses: [413], closed: true });
  });
});

describe("a client that asks before it sends a body", () => {
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
  const ask = (token: string, length = ping.length) =>
    `${headOf("ping", token)}Content-Length: ${length}\r\nExpect: 100-continue\r\n\r\n`;

  test("is invited once its token and its headers are good, and keeps its connection", async () => {
    const answer = await sendBytes(server.port, `${ask(await server.token())}${ping}`, 2);
    expect(answer).toMatchObject({ statuses: [100, 200], closed: false });
  });

  test("is not invited with a bad token, with a body too long, or at no path of ours", async () => {
    const token = await server.token();
    expect(await sendBytes(server.port, ask("bad"), "closed")).toMatchObject({ statuses: [401], closed: true });
    expect(await sendBytes(server.port, ask(token, 1_001), "closed")).toMatchObject({ statuses: [413], closed: true });
    const elsewhere = ask(token).replace("/rcp/ping", "/nowhere");
    expect(await sendBytes(server.port, elsewhere, "closed")).toMatchObject({ statuses: [404], closed: true });
  });
});

const headOf = (method: string, token: string) =>
  `POST /rcp/${method} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n`;
