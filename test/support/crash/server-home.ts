import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestIssuer, testIssuer } from "../test-issuer.ts";
import type { Deployment } from "./deployment.ts";
import { embeddedDeployment } from "./embedded-deployment.ts";
import { startEmbeddingServer } from "./embedding-server.ts";
import { postgresDeployment } from "./postgres-deployment.ts";
import { type ServerProcess, startServer } from "./server-process.ts";

/** What processes of `pgrcp serve` live on: a folder, an empty database, a model and an issuer of tokens. */
export interface ServerHome {
  readonly folder: string;
  readonly deployment: Deployment;
  readonly issuer: TestIssuer;
  start(env?: NodeJS.ProcessEnv): ServerProcess;
  /** Ends every process that was started, and takes the rest away. */
  close(): Promise<void>;
}

/** @param settings sections of the configuration beside those that it has already; `server` is added to its own */
export async function openServerHome({
  server,
  ...settings
}: Readonly<Record<string, object>> = {}): Promise<ServerHome> {
  const folder = await mkdtemp(join(tmpdir(), "pgrcp-home-"));
  const isEmbedded = process.env.PGRCP_TEST_DATABASE_URL === undefined;
  const deployment = isEmbedded ? await embeddedDeployment(folder) : await postgresDeployment();
  const embedding = await startEmbeddingServer();
  const issuer = await testIssuer();
  const configFile = join(folder, "config.yaml");
  const config = {
    server: { port: 0, drainMs: 0, ...server },
    database: deployment.settings,
    auth: { issuers: [{ issuer: issuer.issuer, jwks: issuer.jwks, algorithms: ["ES256"] }] },
    rateLimit: { enabled: false },
    models: { embedding: embedding.settings },
    log: { level: "warn" },
    ...settings,
  };
  await writeFile(configFile, JSON.stringify(config));
  const started: ServerProcess[] = [];
  return {
    folder,
    deployment,
    issuer,
    start(env = {}) {
      const process = startServer(configFile, folder, { ...deployment.env, ...env });
      started.push(process);
      return process;
    },
    async close() {
      for (const process of started) process.kill("SIGTERM");
      await Promise.all(started.map(({ ended }) => ended));
      await Promise.all([embedding.close(), deployment.close()]);
      await rm(folder, { recursive: true });
    },
  };
}
