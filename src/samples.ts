import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { FIRST_RUN_ISSUER } from "./auth/first-run-keys.ts";
import { type Corpus, DEFAULT_CORPUS, type TenantId } from "./catalog/corpus.ts";
import { FIRST_RUN_TENANT } from "./config/auth-mode.ts";
import { isFirstRun } from "./config/first-run-fields.ts";
import { type AddContext, addDocuments } from "./indexing/add-documents.ts";
import type { Services } from "./methods/handler.ts";
import { type AddPlan, planAdd } from "./plan/plan-add.ts";
import { RpcError, timeout } from "./protocol/errors.ts";
import { backendFailed } from "./rpc/response.ts";

const SAMPLES = new URL("../samples/corpus.jsonl", import.meta.url);
const BATCH = 8;
/** Per batch; indexing samples has no caller with a deadline. */
const TIMEOUT_MS = 120_000;

/**
 * Indexes the sample corpus into the first run's tenant, once: a file beside the data remembers that it was done. Samples that the
 * configuration would refuse from a caller are left out, and a model or database that fails puts the rest off to the next start:
 * neither keeps the server from starting.
 *
 * @param stop ends it between two documents
 * @param onProgress documents done, of how many
 * @throws the signal's reason
 */
export async function indexSamples(
  services: Services,
  stop: AbortSignal,
  onProgress: (done: number, total: number) => void,
): Promise<void> {
  stop.throwIfAborted();
  const { config, observe } = services;
  const doneFile = join(config.database.embeddedDir, "samples-indexed");
  if (!isFirstRun(config) || existsSync(doneFile)) return;
  const plan = planFitting(await readSamples(), services);
  const total = plan.documents.length;
  try {
    for (let from = 0; from < total; from += BATCH) {
      onProgress(from, total);
      await addBatch({ ...plan, documents: plan.documents.slice(from, from + BATCH) }, services, stop);
    }
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    observe(backendFailed("sample corpus", error));
    observe({ kind: "warning", text: "the sample corpus is not indexed yet; the next start tries again" });
    return;
  }
  onProgress(total, total);
  await writeFile(doneFile, "The sample corpus was indexed; it is not indexed again while this file is here.\n");
}

/** What may be added as it is. One warning tells of the rest, by its first refusal. */
function planFitting(samples: readonly object[], { offer, observe }: Services): AddPlan {
  const plans: AddPlan[] = [];
  const refusals: RpcError[] = [];
  for (const sample of samples) {
    try {
      plans.push(planAdd({ documents: [sample] }, offer.add));
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      refusals.push(error);
    }
  }
  const [first] = refusals;
  if (first !== undefined) {
    const place = first.data.field?.replace("documents[0].", "") ?? "document";
    const text = `${refusals.length} of ${samples.length} sample documents do not fit the configuration and are left out`;
    observe({ kind: "warning", text: `${text} (${place}: ${first.data.detail})` });
  }
  return {
    documents: plans.flatMap((plan) => plan.documents),
    chunk: offer.add.chunking,
    contextual: false,
    notes: [],
    idempotencyKey: undefined,
  };
}

async function addBatch(plan: AddPlan, services: Services, stop: AbortSignal): Promise<void> {
  const { config, database, embedding, offer } = services;
  const corpus: Corpus = {
    tenantId: FIRST_RUN_TENANT as TenantId,
    name: DEFAULT_CORPUS,
    language: config.indexing.defaultLanguage,
    space: embedding.space,
    screening: config.indexing.defaultScreening,
    placement: "shared",
  };
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(timeout("a batch of samples took too long")), TIMEOUT_MS);
  const signal = AbortSignal.any([stop, deadline.signal]);
  const context: AddContext = {
    database,
    embedding,
    limits: { signal, remainingMs: () => TIMEOUT_MS },
    by: {
      tenantId: corpus.tenantId,
      credentials: new Set(["add"]),
      source: "samples",
      issuer: FIRST_RUN_ISSUER,
      subject: "samples",
      tokenId: undefined,
      trustCeiling: "trusted",
    },
    fields: offer.add.fields,
    ...config.indexing,
    classifier: undefined, // they come with the server
    observe: () => {},
    contexts: undefined,
    fetch: undefined,
    create: "tenant and corpus",
    quotas: config.quotas,
    once: undefined,
  };
  await addDocuments(plan, corpus, context).finally(() => clearTimeout(timer));
}

async function readSamples(): Promise<readonly object[]> {
  return (await readFile(SAMPLES, "utf8"))
    .split("\n")
    .filter((line) => line !== "")
    .map(toDocument);
}

/** Samples are files of this package: `{id, title, text, meta}` a line, the shape that `pgrcp import` reads. */
function toDocument(line: string): object {
  const { id, title, text, meta } = JSON.parse(line);
  return { id, text, meta: { ...meta, title } };
}
