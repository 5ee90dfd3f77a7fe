import { mkdtemp, rm, writeFile } from "node:fs/promises";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import type { FilterFields } from "../src/catalog/corpus.ts";
import type { EmbeddingModel } from "../src/models/embedding.ts";
import { runCli } from "../test/cli/run-cli.ts";
import { startEmbeddingServer } from "../test/support/crash/embedding-server.ts";
import { startServer } from "../test/support/crash/server-process.ts";
import { openTestDatabase, type TestDatabase } from "../test/support/database.ts";
import { type TestIssuer, testIssuer } from "../test/support/test-issuer.ts";

/** `pgrcp serve` as users run it, on a throw-away database of the cluster that PGRCP_TEST_DATABASE_URL names. */
export interface BenchServer {
  readonly database: TestDatabase;
  readonly issuer: TestIssuer;
  readonly pid: number;
  /** Of the endpoint. */
  readonly url: string;
  /** @throws Error for any answer but a result */
  call(method: string, params: object, token: string): Promise<Readonly<Record<string, unknown>>>;
  /** One round of `pgrcp maintain`. @returns what it did */
  maintain(): Promise<readonly object[]>;
  /** `pgrcp collect`. */
  collect(): Promise<void>;
  close(): Promise<void>;
}

export interface BenchServerOptions {
  /** Of the vectors that the stand-in model on loopback gives. */
  readonly dimension: number;
  /** Stands in for the model that the server asks; without one, words are hashed. */
  readonly model?: Pick<EmbeddingModel, "embed" | "maxTokens">;
  readonly fields?: FilterFields;
  /** Sections of the configuration, over what a measurement needs. */
  readonly config?: Readonly<Record<string, unknown>>;
}

const ROLES = ["reader", "adder", "deleter", "state"] as const;

export async function startBenchServer({ dimension, model, fields, config }: BenchServerOptions): Promise<BenchServer> {
  const folder = await mkdtemp(join(tmpdir(), "pgrcp-bench-"));
  const database = await openTestDatabase(fields === undefined ? {} : { fields });
  const embedding = await startEmbeddingServer(dimension, model);
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
  const operatorFile = join(folder, "operator.yaml");
  const asOperator = { ...settings.database, operator: database.config.database.operator };
  await writeFile(operatorFile, JSON.stringify({ ...settings, database: asOperator }));
  const server = startServer(configFile, folder, {});
  const kill = () => server.kill("SIGKILL");
  process.once("exit", kill);
  void server.ended.then(() => process.off("exit", kill));
  const url = await server.ready;
  const { port } = new URL(url);
  const operate = async (...command: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await runCli([...command, "--config", operatorFile], folder);
    if (code !== 0) throw new Error(`pgrcp ${command[0]} ended with ${code}:\n${stdout}${stderr}`);
    return stdout;
  };
  const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
  return {
    database,
    issuer,
    pid: server.pid,
    url,
    call: (method, params, token) => post(agent, Number(port), method, params, token),
    async maintain() {
      const lines = (await operate("maintain", "--json")).split("\n");
      return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as object);
    },
    async collect() {
      await operate("collect");
    },
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

/** A connection as the owner of everything, under no policy. */
export async function connectAsOwner({ database }: BenchServer): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.config.database.migrateUrl });
  await client.connect();
  return client;
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
