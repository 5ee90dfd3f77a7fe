import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { CommitPoint, Deployment } from "../support/crash/deployment.ts";
import { embeddedDeployment } from "../support/crash/embedded-deployment.ts";
import { type EmbeddingServer, startEmbeddingServer } from "../support/crash/embedding-server.ts";
import { postgresDeployment } from "../support/crash/postgres-deployment.ts";
import { type ServerProcess, startServer } from "../support/crash/server-process.ts";
import type { Response } from "../support/rcp-server.ts";
import { testIssuer } from "../support/test-issuer.ts";

/** Real processes of `pgrcp serve`: one is killed while it commits a write, and the write is sent again to the next. */

const ON_POSTGRES = process.env.PGRCP_TEST_DATABASE_URL !== undefined;

let folder: string;
let deployment: Deployment;
let embedding: EmbeddingServer;
let token: string;
const started: ServerProcess[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pgrcp-retry-"));
  deployment = ON_POSTGRES ? await postgresDeployment() : await embeddedDeployment(folder);
  embedding = await startEmbeddingServer();
  const issuer = await testIssuer();
  token = await issuer.mint({ credentials: ["add"], expiresIn: 3_600 });
  const config = {
    server: { port: 0 },
    database: deployment.settings,
    auth: { issuers: [{ issuer: issuer.issuer, jwks: issuer.jwks, algorithms: ["ES256"] }] },
    rateLimit: { enabled: false },
    models: { embedding: embedding.settings },
    log: { level: "warn" },
  };
  await writeFile(join(folder, "config.yaml"), JSON.stringify(config));
});
afterAll(async () => {
  for (const server of started) server.kill("SIGKILL");
  await Promise.all(started.map(({ ended }) => ended));
  await Promise.all([embedding.close(), deployment.close()]);
  await rm(folder, { recursive: true });
});

function serve(): ServerProcess {
  const server = startServer(join(folder, "config.yaml"), folder, deployment.env);
  started.push(server);
  return server;
}

/** The same document, which has no id, each time with the same key for the same text. */
async function add(url: string, text: string): Promise<Response> {
  const answer = await fetch(`${url}/index/add`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", connection: "close" },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "index/add",
      params: { documents: [{ text }], _meta: { idempotencyKey: text } },
    }),
  });
  return (await answer.json()) as Response;
}

/** Ids and versions of the documents with this text, whoever made them. */
async function written(text: string, isDead: boolean) {
  const { texts } = await (await deployment.snapshot(isDead))();
  return texts.filter(({ body }) => body === text).map(({ id }) => id);
}

const KEPT: Readonly<Record<CommitPoint, readonly number[]>> = { before: [0], midway: [0, 1], after: [1] };

test.each(Object.keys(KEPT) as CommitPoint[])(
  "a server killed %s the commit has written once when the write is sent again",
  async (point) => {
    const text = `killed ${point}`;
    const server = serve();
    const url = await server.ready;
    await deployment.killAtCommit(point, () => server.kill("SIGKILL"));
    await expect(add(url, text)).rejects.toThrow();
    await server.ended;
    const left = await written(text, true);
    expect(KEPT[point]).toContain(left.length);

    const next = serve();
    const [retry, repeat] = [await add(await next.ready, text), await add(await next.ready, text)];

    expect(retry.result).toMatchObject({ ids: [expect.any(String)], chunks: 1 });
    if (left.length > 0) expect(retry.result?.ids).toEqual(left);
    expect(repeat).toEqual(retry);
    expect(await written(text, false)).toEqual(retry.result?.ids);
    next.kill("SIGTERM");
    await next.ended;
  },
  180_000,
);

if (ON_POSTGRES) {
  test("20 repeats at two processes write once and have one answer", async () => {
    const urls = await Promise.all([serve(), serve()].map(({ ready }) => ready));

    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => add(urls[index % 2] ?? "", "sent to two")),
    );

    expect(answers[0]?.result).toMatchObject({ ids: [expect.any(String)], chunks: 1 });
    expect(answers).toEqual(answers.map(() => answers[0]));
    expect(await written("sent to two", false)).toEqual(answers[0]?.result?.ids);
  }, 60_000);
}
