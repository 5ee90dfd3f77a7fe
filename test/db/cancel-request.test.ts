import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { requestCancel } from "../../src/db/cancel-request.ts";
import { TLS_CERT, TLS_KEY } from "../support/tls-pair.ts";

/** Message formats of the protocol: length 16, code 80877102, process id 7, key 9; and length 8, code 80877103. */
const CANCEL = "0000001004d2162e0000000700000009";
const SSL = "0000000804d2162f";

async function serverThat(answers: (socket: Socket) => void) {
  const server = createServer((socket) => answers(socket.on("error", () => {}))).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  /** As much of a pg client as is looked at. */
  return (ssl: boolean | object) =>
    ({ host: "127.0.0.1", port, ssl, processID: 7, secretKey: 9 }) as unknown as pg.PoolClient;
}

test("sends the process id and key of the connection and waits until the server has closed", async () => {
  let received = "";
  const client = await serverThat((socket) =>
    socket.on("data", (bytes) => {
      received += bytes.toString("hex");
      socket.end();
    }),
  );

  await requestCancel(client(false), 5_000);

  expect(received).toBe(CANCEL);
});

test("encrypts them where the connection is", async () => {
  let plain = "";
  let received = "";
  const client = await serverThat((socket) =>
    socket.once("data", (bytes) => {
      plain += bytes.toString("hex");
      socket.write("S");
      const secure = new TLSSocket(socket, { isServer: true, cert: TLS_CERT, key: TLS_KEY });
      secure.on("data", (inner: Buffer) => {
        received += inner.toString("hex");
        secure.end();
      });
    }),
  );

  await requestCancel(client({ rejectUnauthorized: false }), 5_000);

  expect([plain, received]).toEqual([SSL, CANCEL]);
});

test.each([false, true])("gives up on a server that says nothing after timeoutMs (TLS: %s)", async (ssl) => {
  const client = await serverThat(() => {});
  const start = performance.now();

  await requestCancel(client(ssl), 100);

  expect(performance.now() - start).toBeLessThan(5_000);
});

test("sends nothing in the clear to a server that refuses TLS", async () => {
  let received = "";
  const client = await serverThat((socket) =>
    socket.on("data", (bytes) => {
      received += bytes.toString("hex");
      socket.write("N");
    }),
  );

  await requestCancel(client(true), 500);

  expect(received).toBe(SSL);
});
