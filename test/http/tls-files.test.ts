import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ConfigError } from "../../src/config/config-error.ts";
import { readTls } from "../../src/http/node-server.ts";
import { OTHER_KEY, TLS_CERT, TLS_KEY } from "../support/tls-pair.ts";

let folder: string;
const file = (name: string) => join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pgrcp-tls-"));
  await writeFile(file("cert.pem"), TLS_CERT);
  await writeFile(file("key.pem"), TLS_KEY);
  await writeFile(file("other.pem"), OTHER_KEY);
  await writeFile(file("notes.pem"), "not PEM at all");
});
afterAll(() => rm(folder, { recursive: true }));

function problemsOf(certFile: string, keyFile: string, clientCaFile?: string): readonly string[] {
  try {
    readTls({
      certFile: file(certFile),
      keyFile: file(keyFile),
      ...(clientCaFile !== undefined && { clientCaFile: file(clientCaFile) }),
    });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems;
  }
}

test("a certificate and its own key are read as they are", () => {
  expect(readTls({ certFile: file("cert.pem"), keyFile: file("key.pem") })).toEqual({
    cert: Buffer.from(TLS_CERT),
    key: Buffer.from(TLS_KEY),
  });
});

test.each([
  ["cert.pem", "gone.pem", "server.tls.keyFile: the file cannot be read; name one that this user may read"],
  ["gone.pem", "key.pem", "server.tls.certFile: the file cannot be read; name one that this user may read"],
  ["notes.pem", "key.pem", "server.tls: certFile and keyFile must be a certificate chain and its own key, in PEM"],
  ["cert.pem", "notes.pem", "server.tls: certFile and keyFile must be a certificate chain and its own key, in PEM"],
  ["cert.pem", "other.pem", "server.tls: certFile and keyFile must be a certificate chain and its own key, in PEM"],
])("%s with %s is a matter of configuration, told by its setting", (certFile, keyFile, problem) => {
  expect(problemsOf(certFile, keyFile)).toEqual([problem]);
});

test.each([
  ["gone.pem", "server.tls.clientCaFile: the file cannot be read; name one that this user may read"],
  ["notes.pem", "server.tls.clientCaFile: must hold certificates, in PEM"],
  ["key.pem", "server.tls.clientCaFile: must hold certificates, in PEM"],
])("%s vouches for no client, which is refused at start", (clientCaFile, problem) => {
  expect(problemsOf("cert.pem", "key.pem", clientCaFile)).toEqual([problem]);
});
