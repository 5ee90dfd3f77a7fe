import { createHash, X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import https from "node:https";
import { tmpdir } from "node:os";
import path from "node:path";
import tls from "node:tls";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";
import { selfSigned } from "../support/self-signed.ts";

type Pair = ReturnType<typeof selfSigned>;

const [own, client, otherClient, stranger] = [
  selfSigned(),
  selfSigned("client"),
  selfSigned("other client"),
  selfSigned("client"),
];
const folder = mkdtempSync(path.join(tmpdir(), "pgrcp-mtls-"));
const write = (name: string, text: string) => {
  writeFileSync(path.join(folder, name), text);
  return path.join(folder, name);
};
const files = { certFile: write("cert.pem", own.cert), keyFile: write("key.pem", own.key) };
const clientCaFile = write("clients.pem", client.cert + otherClient.cert);
afterAll(() => rmSync(folder, { recursive: true }));

let server: RcpServer;
afterEach(() => server.close());
const serve = async (settings: object = {}) => {
  server = await startRcpServer({ config: { server: { tls: { ...files, clientCaFile, ...settings } } } });
};
const thumbprint = ({ cert }: Pair) => createHash("sha256").update(new X509Certificate(cert).raw).digest("base64url");

/** The status of a ping, or what ended the connection instead. */
function ping(token: string, certificate?: Pair, headers: object = {}): Promise<number | "refused"> {
  return new Promise((resolve) => {
    const request = https.request(
      {
        ...{ host: "127.0.0.1", port: server.port, path: "/rcp/ping", method: "POST", ca: own.cert, agent: false },
        ...certificate,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
      },
      (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      },
    );
    request.on("error", () => resolve("refused"));
    request.end('{"jsonrpc":"2.0","id":1,"method":"ping"}');
  });
}

describe("a client's certificate", () => {
  test("that is required is asked for besides the token, and decides before HTTP", async () => {
    await serve();
    const token = await server.token();

    expect(await ping(token, client)).toBe(200);
    expect(await ping("bad", client)).toBe(401);
    expect(await ping(token)).toBe("refused");
    expect(await ping(token, stranger)).toBe("refused");
    expect(server.observations.filter(({ kind }) => kind === "token-refused")).toHaveLength(1);
  });

  test("that is optional may be missing, and may not be anybody's", async () => {
    await serve({ clientCertificate: "optional" });
    const token = await server.token();

    expect(await ping(token)).toBe(200);
    expect(await ping(token, client)).toBe(200);
    expect(await ping(token, stranger)).toBe("refused");
  });

  test("is not asked for without clientCaFile", async () => {
    await serve({ clientCaFile: undefined });
    expect(await ping(await server.token())).toBe(200);
    expect(await ping(await server.token(), stranger)).toBe(200);
  });
});

describe("RFC 8705 §3: a token bound to a certificate", () => {
  const bound = (pair: Pair) => server.token({ cnf: { "x5t#S256": thumbprint(pair) } });

  test("is good over a connection with that certificate and no other", async () => {
    await serve({ clientCertificate: "optional" });

    expect(await ping(await bound(client), client)).toBe(200);
    expect(await ping(await bound(client), otherClient)).toBe(401);
    expect(await ping(await bound(client))).toBe(401);
    const checks = server.observations.flatMap((one) => (one.kind === "token-refused" ? [one.check] : []));
    expect(checks).toEqual(["certificate", "certificate"]);
  });

  test("is refused where clients are asked for no certificate, with or without TLS", async () => {
    await serve({ clientCaFile: undefined });
    expect(await ping(await bound(client), client)).toBe(401);
    await server.close();

    server = await startRcpServer();
    expect((await server.call("ping", {}, { token: await bound(client) })).status).toBe(401);
  });

  test("is never satisfied by a header", async () => {
    await serve({ clientCertificate: "optional" });
    const pem = encodeURIComponent(client.cert);
    const claims = {
      "x-client-cert": pem,
      "x-ssl-client-cert": pem,
      "x-ssl-client-verify": "SUCCESS",
      "x-forwarded-client-cert": `Hash=${thumbprint(client)};Cert="${pem}"`,
      "client-cert": `:${new X509Certificate(client.cert).raw.toString("base64")}:`,
    };
    expect(await ping(await bound(client), undefined, claims)).toBe(401);
    expect(await ping(await bound(client), otherClient, claims)).toBe(401);
    expect(await ping(await server.token(), undefined, claims)).toBe(200);
  });

  test.each([[null], ["x"], [{}], [{ jkt: "a".repeat(43) }], [{ "x5t#S256": 1 }], [{ "x5t#S256": "short" }]])(
    "is refused when it is bound by %j, which cannot be checked here",
    async (cnf) => {
      await serve();
      expect(await ping(await server.token({ cnf }), client)).toBe(401);
      expect(server.observations).toContainEqual(expect.objectContaining({ kind: "token-refused", check: "cnf" }));
    },
  );
});

test("a resumed session is as good as the handshake that it comes from", async () => {
  await serve({ clientCertificate: "optional" });
  const token = await server.token({ cnf: { "x5t#S256": thumbprint(client) } });
  const request =
    `POST /rcp/ping HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n` +
    'Content-Length: 40\r\n\r\n{"jsonrpc":"2.0","id":1,"method":"ping"}';
  const exchange = (options: tls.ConnectionOptions) =>
    new Promise<{ status: string; session: Buffer | undefined; resumed: boolean }>((resolve) => {
      let session: Buffer | undefined;
      const socket = tls.connect({ host: "127.0.0.1", port: server.port, ca: own.cert, ...options });
      socket.on("session", (ticket) => (session = ticket)).on("error", () => {});
      socket.on("secureConnect", () => socket.write(request));
      socket.once("data", (bytes) => {
        resolve({ status: bytes.toString("latin1").slice(9, 12), session, resumed: socket.isSessionReused() });
        socket.destroy();
      });
    });

  const first = await exchange({ ...client });
  const again = await exchange(first.session === undefined ? {} : { session: first.session });
  const none = await exchange({});
  const noneAgain = await exchange(none.session === undefined ? {} : { session: none.session });

  expect([first, again].map(({ status, resumed }) => [status, resumed])).toEqual([
    ["200", false],
    ["200", true],
  ]);
  expect([none, noneAgain].map(({ status, resumed }) => [status, resumed])).toEqual([
    ["401", false],
    ["401", true],
  ]);
});
