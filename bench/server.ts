import { mkdtemp, rm, writeFile } from "node:fs/promises";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FilterFields } from "../src/catalog/corpus.ts";
import { startEmbeddingServer } from "../test/support/crash/embedding-server.ts";
import { startServer } from "../test/support/crash/server-process.ts";
import { openTestDatabase, type TestDatabase } from "../test/support/database.ts";
import { type TestIssuer, testIssuer } from "../test/support/test-issuer.ts";

/** `pgrcp serve` as users run it, on a throw-away database of the cluster that PGRCP_TEST_DATABASE_URL names. */
export interface BenchServer {
  readonly database: TestDatabase;
  readonly issuer: TestIssuer;
  readonly pid: number;
  /** @throws Error for any answer but a result */
  call(method: string, params: object, token: string): Promise<Readonly<Record<string, unknown>>>;
  close(): Promise<void>;
}

export interface BenchServerOptions {
  /** Of the vectors that the stand-in model on loopback gives. */
  readonly dimension: number;
  readonly fields?: FilterFields;
  /** Sections of the configuration, over what a measurement needs. */
  readonly config?: Readonly<Record<string, unknown>>;
}

const ROLES = ["reader", "adder", "deleter", "state"] as const;

export async function startBenchServer({ dimension, fields, config }: BenchServerOptions): Promise<BenchServer> {
  const folder = await mkdtemp(join(tmpdir(), "pgrcp-bench-"));
  const database = await openTestDatabase(fields === undefined ? {} : { fields });
  const embedding = await startEmbeddingServer(dimension);
  const issuer = await testIssuer();
  const configFile = join(folder, "config.yaml");
  const settings = {
    server: { port: 0 },
    database: {
      ...Object.fromEntries(ROLES.map((role) => [role, database.config.database[role]])),
      url: database.config.database.url,
    },
    auth: {
      combinedTokens: true,
      issuers: [{ issuer: issuer.issuer, jwks: issuer.jwks, algorithms: ["ES256"] }],
    },
    rateLimit: { enabled: false },
    models: { embedding: embedding.settings },
    log: { level: "warn" },
    ...config,
  };
  await writeFile(configFile, JSON.stringify(settings));
  const server = startServer(configFile, folder, {});
  const { port } = new URL(await server.ready);
  const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
  return {
    database,
    issuer,
    pid: server.pid,
    call: (method, params, token) => post(agent, Number(port), method, params, token),
    async close() {
      agent.destroy();
      server.kill("SIGINT");
      await server.ended;
      await embedding.close();
      await database.close();
      await rm(folder, { recursive: true });
    },
  };
}

function post(
  agent: http.Agent,
  port: number,
  method: string,
  params: object,
  token: string,
): Promise<Readonly<Record<string, unknown>>> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, path: `/rcp/${method}`, method: "POST", agent, headers };
    const request = http.request(options, (response) => {
      const pieces: Buffer[] = [];
      response.on("data", (piece: Buffer) => pieces.push(piece));
      response.on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(pieces).toString("utf8");
        const { result } = JSON.parse(text) as { result?: Record<string, unknown> };
        if (result === undefined) reject(new Error(`${method} answered ${response.statusCode}: ${text.slice(0, 200)}`));
        else resolve(result);
      });
    });
    request.on("error", reject);
    request.end(body);
  });
}
