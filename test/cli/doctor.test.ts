import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { TLS_CERT, TLS_KEY } from "../support/tls-pair.ts";
import { runCli } from "./run-cli.ts";

vi.setConfig({ testTimeout: 120_000 });

let folder: string;
let keyServer: ReturnType<typeof createServer>;
let keysUrl: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pgrcp-doctor-"));
  await writeFile(join(folder, "cert.pem"), TLS_CERT);
  await writeFile(join(folder, "key.pem"), TLS_KEY);
  await writeFile(join(folder, "notes.json"), '{"keys": "none"}');
  keyServer = createServer(({ url }, response) => {
    response.statusCode = url === "/keys" ? 200 : 404;
    response.end('{"keys":[]}');
  });
  await new Promise<void>((resolve) => keyServer.listen(0, "127.0.0.1", resolve));
  keysUrl = `http://127.0.0.1:${(keyServer.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await new Promise((resolve) => keyServer.close(resolve));
  await rm(folder, { recursive: true });
});

/** Runs doctor with these settings; the embedded database is not there yet, which is a warning. */
async function doctor(settings: object): Promise<{ code: number | null; rows: Record<string, string> }> {
  const file = join(folder, "config.yaml");
  await writeFile(file, JSON.stringify({ server: { port: 0 }, ...settings }));
  const { code, stdout } = await runCli(["doctor", "--config", file], folder);
  const rows = stdout.matchAll(/^(\w.*?) {2,}(ok|warning|error)\n((?: .*\n)*)/gm);
  return {
    code,
    rows: Object.fromEntries(Array.from(rows, ([, name, worst, details]) => [name, `${worst}\n${details}`])),
  };
}

test("names every file that a start would miss, each under its own check", async () => {
  const { code, rows } = await doctor({
    server: { port: 0, tls: { certFile: join(folder, "cert.pem"), keyFile: join(folder, "gone.pem") } },
    auth: { issuers: [{ issuer: "https://a.example/", jwksFile: join(folder, "notes.json") }] },
    indexing: { defaultLanguage: "klingon" },
  });

  expect(code).toBe(2);
  expect(rows).toMatchObject({
    "embedding model": "ok\n",
    language: expect.stringMatching(/^error\n {2}indexing\.defaultLanguage: must be one of arabic, .*\n {2}remedy: /),
    "TLS files": expect.stringMatching(/^error\n {2}server\.tls\.keyFile: the file cannot be read; .*\n {2}remedy: /),
    "token issuers": expect.stringMatching(/^error\n {2}auth\.issuers\[0\]\.jwksFile: must be a JWK set: /),
    port: "ok\n",
    database: expect.stringMatching(/^warning\n {2}there is no embedded database in \.pgrcp yet\n/),
  });
});

test("is content with TLS files that fit and keys that are there, and only warns of an address without keys", async () => {
  const { code, rows } = await doctor({
    server: { port: 0, tls: { certFile: join(folder, "cert.pem"), keyFile: join(folder, "key.pem") } },
    auth: {
      issuers: [
        { issuer: "https://a.example/", jwksUri: `${keysUrl}/keys` },
        { issuer: "https://b.example/", jwksUri: `${keysUrl}/nothing` },
      ],
    },
  });

  expect(code).toBe(0);
  expect(rows).toMatchObject({
    "TLS files": "ok\n",
    "token issuers":
      "warning\n  auth.issuers[1].jwksUri gives no keys: the key set's address answered 404 where 200 was due\n" +
      "  remedy: correct it, or let this machine reach it; until then this issuer's tokens get 503\n",
  });
});

test("a Postgres that does not answer does not hide the other checks", async () => {
  const { code, rows } = await doctor({ database: { url: "postgres://127.0.0.1:1/docs" } });

  expect(code).toBe(4);
  expect(rows).toMatchObject({ "embedding model": "ok\n", "login reader": expect.stringMatching(/^error\n/) });
});
