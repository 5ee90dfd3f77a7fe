import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { testEmbeddingModel } from "../test-embedding.ts";
import type { TestIssuer } from "../test-issuer.ts";
import type { Deployment } from "./deployment.ts";
import type { SubjectAnswer, SubjectApi, SubjectCall, SubjectData } from "./subject-worker.ts";

/** This repository. */
export const REPOSITORY = new URL("../../../", import.meta.url).pathname;

/** A server in a thread of this process, and a back door to it and its database. */
export interface Subject extends Deployment {
  call<Name extends keyof SubjectApi>(
    name: Name,
    ...args: Parameters<SubjectApi[Name]>
  ): Promise<Awaited<ReturnType<SubjectApi[Name]>>>;
}

/**
 * Starts a server in a thread.
 *
 * @param root the tree whose `src` runs: this repository, or a copy of it
 */
export async function startSubject(issuer: TestIssuer, root = REPOSITORY): Promise<Subject> {
  const workerData: SubjectData = { issuer: issuer.issuer, jwks: issuer.jwks };
  const worker = new Worker(join(root, "test/support/isolation/subject-worker.ts"), { workerData, execArgv: [] });
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let ended: Error | undefined;
  const end = (error: Error) => {
    ended ??= error;
    for (const { reject } of waiting.values()) reject(ended);
    waiting.clear();
  };
  worker.on("error", end);
  worker.on("exit", () => end(new Error("the server's thread has ended")));
  worker.on("message", ({ id, value, error }: SubjectAnswer) => {
    const asked = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) asked?.resolve(value);
    else asked?.reject(new Error(error));
  });

  const answerOf = (id: number): Promise<unknown> => {
    const asked = Promise.withResolvers<unknown>();
    if (ended === undefined) waiting.set(id, asked);
    else asked.reject(ended);
    return asked.promise;
  };
  let id = 0;
  const call = ((name: keyof SubjectApi, ...args: readonly unknown[]): Promise<unknown> => {
    id += 1;
    worker.postMessage({ id, name, args } satisfies SubjectCall);
    return answerOf(id);
  }) as Subject["call"];
  await answerOf(0);
  return { ...(await deploymentOf(call, issuer)), call };
}

const TENANT = "insert into pgrcp.tenants (tenant_id) values ($1)";
const CORPUS = `insert into pgrcp.corpora (tenant_id, corpus, language, model_identity, dimension, screening)
values ($1, $2, 'none', $3, $4, 'flag')`;

async function deploymentOf(call: Subject["call"], issuer: TestIssuer): Promise<Deployment> {
  const embedding = testEmbeddingModel();
  return {
    url: await call("url"),
    embedding,
    token: (tenant, credential) => issuer.mint({ tenant, credentials: [credential], expiresIn: 3_600 }),
    async createTenant(tenant, corpus) {
      const { identity, dimension } = embedding.space;
      await call("query", TENANT, [tenant]);
      await call("query", CORPUS, [tenant, corpus, identity, String(dimension)]);
    },
    rest: () => call("settle"),
    rows: (text, values) => call("query", text, values),
  };
}
