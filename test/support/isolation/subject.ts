import { join } from "node:path";
import { Worker } from "node:worker_threads";
import type { TestIssuer } from "../test-issuer.ts";
import type { SubjectAnswer, SubjectApi, SubjectCall, SubjectData } from "./subject-worker.ts";

/** This repository. */
export const REPOSITORY = new URL("../../../", import.meta.url).pathname;

/** A running server under test, and a back door to its database. */
export interface Subject {
  /** Of the default corpus. */
  readonly url: string;
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
  const call = (name: keyof SubjectApi, ...args: readonly unknown[]): Promise<unknown> => {
    id += 1;
    worker.postMessage({ id, name, args } satisfies SubjectCall);
    return answerOf(id);
  };
  await answerOf(0);
  return { url: (await call("url")) as string, call: call as Subject["call"] };
}
