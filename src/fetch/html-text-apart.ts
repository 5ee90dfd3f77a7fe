import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { HtmlPage } from "./html-text.ts";
import { FetchRefusal } from "./refusal.ts";

// The sources run as they are, and so do the compiled files: a worker starts from the file of its own kind.
const WORKER = new URL(
  import.meta.url.endsWith(".ts") ? "./html-text-worker.ts" : "./html-text-worker.js",
  import.meta.url,
);

const MAX_MS = 3_000;
const MAX_HEAP_MB = 256;

/**
 * The text of a stranger's page, read in a thread that is ended when it asks for too much: a table cell that claims a million
 * columns takes minutes and gigabytes.
 *
 * @throws FetchRefusal
 */
export async function htmlTextApart(html: string, signal: AbortSignal): Promise<HtmlPage> {
  const worker = new Worker(WORKER, {
    workerData: html,
    name: "html",
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB, maxYoungGenerationSizeMb: 32 },
  });
  try {
    const ended = once(worker, "exit").then(() => {
      throw new Error("the thread ended without an answer");
    });
    const limit = AbortSignal.any([signal, AbortSignal.timeout(MAX_MS)]);
    const [page] = await Promise.race([once(worker, "message", { signal: limit }), ended]);
    return page as HtmlPage;
  } catch (cause) {
    throw new FetchRefusal("response", { cause });
  } finally {
    worker.on("error", () => {});
    await worker.terminate();
  }
}
