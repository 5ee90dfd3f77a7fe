import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkPort } from "../../src/cli/check-port.ts";
import { configSchema } from "../../src/config/config.ts";
import { startRcpServer } from "../support/rcp-server.ts";
import { selfSigned } from "../support/self-signed.ts";

/** What `pgrcp doctor` says of a port where a server with TLS answers. */

let folder: string;
const [own, other] = [selfSigned(), selfSigned()];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pgrcp-port-"));
  for (const [name, { cert, key }] of Object.entries({ own, other })) {
    await writeFile(join(folder, `${name}.cert`), cert);
    await writeFile(join(folder, `${name}.key`), key);
  }
});
afterAll(() => rm(folder, { recursive: true }));

const tlsOf = (name: string, more: object = {}) => ({
  ...{ certFile: join(folder, `${name}.cert`), keyFile: join(folder, `${name}.key`) },
  ...more,
});

describe("a port that a server has", () => {
  test.each([
    ["asks for no certificate", undefined],
    ["takes a client's certificate", "optional"],
    ["hears nobody without a certificate", "required"],
  ])("is worth a warning when it is the one that is configured, which %s", async (_what, clientCertificate) => {
    const clients = { clientCaFile: join(folder, "own.cert"), clientCertificate };
    const tls = tlsOf("own", clientCertificate === undefined ? {} : clients);
    const server = await startRcpServer({ config: { server: { tls } } });

    const found = await checkPort(configSchema.parse({ server: { port: server.port, tls } }).server);

    expect(found).toMatchObject([{ severity: "warning", line: `a pgrcp server answers on port ${server.port}` }]);
    await server.close();
  });

  test("is taken when who hears nobody without a certificate is somebody else", async () => {
    const clients = { clientCaFile: join(folder, "own.cert"), clientCertificate: "required" };
    const server = await startRcpServer({ config: { server: { tls: tlsOf("own", clients) } } });

    const configured = configSchema.parse({ server: { port: server.port, tls: tlsOf("other", clients) } }).server;

    await expect(checkPort(configured)).rejects.toThrow(String(server.port));
    await server.close();
  });
});
