import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TokenRefused, type TokenVerifier } from "../../src/auth/verify-token.ts";
import { backendUnavailable } from "../../src/protocol/errors.ts";
import { type RawRequest, sendBytes } from "../support/raw-http.ts";
import { type RcpServer, type RpcAnswer, startRcpServer } from "../support/rcp-server.ts";
import { expectValidError } from "../support/validate-response.ts";

const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}';

let server: RcpServer;
let token: string;
beforeAll(async () => {
  server = await startRcpServer({ config: { server: { maxBodyBytes: 1_000, receiveTimeoutMs: 600 } } });
  token = await server.token();
});
afterAll(() => server.close());

const bearer = () => ["authorization", `Bearer ${token}`] as const;
const json = ["content-type", "application/json"] as const;

/** What answers a request: its status, its error's code if it has one, and whether there is a body at all. */
const rowOf = ({ status, body, text }: RpcAnswer) => [status, body?.error?.code ?? (text === "" ? "empty" : "result")];

describe("the table from outcome to status", () => {
  test("is exactly these rows", async () => {
    const post = (path: string, body: string, headers: RawRequest["headers"] = [bearer(), json]) =>
      server.send({ path, body, headers });
    const rows = {
      result: await post("/rcp/ping", PING),
      "JSON-RPC error": await post("/rcp/retrieve", PING.replace("ping", "retrieve")),
      "not JSON": await post("/rcp/ping", "{"),
      notification: await post("/rcp/ping", '{"method":"ping"}'),
      "batch of notifications": await post("/rcp", '[{"method":"ping"}]'),
      "without the scope": await post("/rcp/index/add", PING.replace("ping", "index/add")),
      "target that cannot be decoded": await post("/rcp/%zz", PING),
      "no token": await post("/rcp/ping", PING, [json]),
      "bad token": await post("/rcp/ping", PING, [["authorization", "Bearer x"], json]),
      "unknown path": await post("/nowhere", PING),
      "another verb": await server.send({ method: "PUT", path: "/rcp/ping", body: PING, headers: [bearer(), json] }),
      preflight: await server.send({ method: "OPTIONS", path: "/rcp/ping" }),
      "body over the cap": await post("/rcp/ping", PING.padEnd(1_001)),
      "another media type": await post("/rcp/ping", PING, [bearer(), ["content-type", "text/plain"]]),
    };

    expect(Object.fromEntries(Object.entries(rows).map(([name, answer]) => [name, rowOf(answer)]))).toEqual({
      result: [200, "result"],
      "JSON-RPC error": [200, -32602],
      "not JSON": [200, -32700],
      notification: [204, "empty"],
      "batch of notifications": [204, "empty"],
      "without the scope": [200, -32012],
      "target that cannot be decoded": [400, "empty"],
      "no token": [401, -32012],
      "bad token": [401, -32012],
      "unknown path": [404, "empty"],
      "another verb": [405, "empty"],
      preflight: [204, "empty"],
      "body over the cap": [413, -32013],
      "another media type": [415, "empty"],
    });
    for (const { body } of Object.values(rows)) if (body?.error !== undefined) expectValidError(body);
  });

  test.each([
    ["OPTIONS", "/rcp/ping", 204, "POST, OPTIONS"],
    ["OPTIONS", "/rcp", 204, "POST, OPTIONS"],
    ["OPTIONS", "/healthz", 204, "GET, HEAD"],
    ["OPTIONS", "/nowhere", 404, undefined],
    ["PUT", "/rcp/ping", 405, "POST, OPTIONS"],
  ])("is the same for %s %s whatever the body is said to be", async (method, path, status, allow) => {
    for (const type of ["application/json", "text/plain", "no media type"]) {
      for (const body of [{}, { body: PING }]) {
        const answer = await server.send({ method, path, headers: [["content-type", type]], ...body });
        expect([type, answer.status, answer.headers.allow, answer.text]).toEqual([type, status, allow, ""]);
      }
    }
  });

  test("has 503 with Retry-After while no key can be had, and 500 for a bug", async () => {
    const failing = (error: Error): TokenVerifier => ({ verify: () => Promise.reject(error) });
    const keyless = await startRcpServer({
      verifier: failing(backendUnavailable({ retryable: true, detail: "signing keys", retryAfterMs: 2_500 })),
    });
    const buggy = await startRcpServer({ verifier: failing(new Error("secret=1")) });

    const unavailable = await keyless.call("ping");
    const broken = await buggy.call("ping");

    expect(rowOf(unavailable)).toEqual([503, -32010]);
    expect(unavailable.headers["retry-after"]).toBe("3");
    expect(unavailable.body).toMatchObject({ id: null, error: { data: { retryable: true } } });
    expect(rowOf(broken)).toEqual([500, -32603]);
    expect(broken.text).not.toContain("secret");
    expect(keyless.observations).toMatchObject([
      { kind: "backend-failed", where: "http", code: -32010, detail: "signing keys" },
    ]);
    expect(buggy.observations).toMatchObject([{ kind: "internal-error", where: "http" }]);
    for (const { body } of [unavailable, broken]) expectValidError(body);
    await Promise.all([keyless.close(), buggy.close()]);
  });

  test("has bare statuses for what is not HTTP, too slow or too long in the head", async () => {
    const head = `POST /rcp/ping HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n`;
    const nonsense = await sendBytes(server.port, "nonsense\r\n\r\n", "closed");
    const slow = await sendBytes(
      server.port,
      `${head}Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{`,
      "closed",
    );
    const longHead = await sendBytes(server.port, `${head}X: ${"x".repeat(20_000)}\r\n\r\n`, "closed");

    const bare = (status: string) => ({
      closed: true,
      text: `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
    });
    expect(nonsense).toMatchObject(bare("400 Bad Request"));
    expect(slow).toMatchObject(bare("408 Request Timeout"));
    expect(longHead).toMatchObject(bare("431 Request Header Fields Too Large"));
  });
});

describe("a refused token", () => {
  test("is answered with the same bytes whatever was wrong, but for error=", async () => {
    const expired = await server.token({ expiresIn: -400 });
    const send = (authorization?: string) =>
      server.send({
        path: "/rcp/ping",
        body: PING,
        headers: authorization ? [["authorization", authorization], json] : [json],
      });
    const none = await send();
    const bad = [await send("Bearer x"), await send("Basic dTpw"), await send(`Bearer ${expired}`)];

    expect(none.headers["www-authenticate"]).toBe('Bearer realm="pgrcp"');
    for (const answer of bad) {
      expect(answer.headers["www-authenticate"]).toBe('Bearer realm="pgrcp", error="invalid_token"');
      expect(answer.text).toBe(none.text);
    }
  });

  test("is logged with the check that failed and public claims, never with the token", async () => {
    const expired = await server.token({ expiresIn: -400 });
    await server.call("ping", {}, { token: expired });

    const line = server.observations.findLast((one) => one.kind === "token-refused");
    expect(line).toMatchObject({ check: "exp", issuer: "https://issuer.test", keyId: "test-key" });
    expect(JSON.stringify(server.observations)).not.toContain(expired.slice(-20));
  });

  test("is refused before a byte of the body is read", async () => {
    let asked = 0;
    const refusing = await startRcpServer({
      verifier: {
        async verify() {
          asked++;
          throw new TokenRefused("signature");
        },
      },
    });
    const head =
      "POST /rcp/ping HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n";

    const answer = await sendBytes(refusing.port, head);

    expect(answer.statuses).toEqual([401]);
    expect(asked).toBe(1);
    await refusing.close();
  });
});
