import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { FIRST_RUN_ISSUER } from "./auth/first-run-keys.ts";
import { type Corpus, DEFAULT_CORPUS, type TenantId } from "./catalog/corpus.ts";
import { FIRST_RUN_TENANT } from "./config/auth-mode.ts";
import { isFirstRun } from "./config/first-run-fields.ts";
import { addDocuments } from "./indexing/add-documents.ts";
import type { Services } from "./methods/handler.ts";
import { planAdd } from "./plan/plan-add.ts";

const SAMPLES = new URL("../samples/corpus.jsonl", import.meta.url);
const BATCH = 8;
/** Per batch; indexing samples has no caller with a deadline. */
const TIMEOUT_MS = 120_000;

/**
 * Indexes the sample corpus into the first run's tenant, once: a file beside the data remembers that it was done.
 *
 * @param onProgress documents done, of how many
 */
export async function indexSamples(
  services: Services,
  onProgress: (done: number, total: number) => void,
): Promise<void> {
  const { config, database, embedding, offer } = services;
  const doneFile = join(config.database.embeddedDir, "samples-indexed");
  if (!isFirstRun(config) || existsSync(doneFile)) return;
  const documents = (await readFile(SAMPLES, "utf8"))
    .split("\n")
    .filter((line) => line !== "")
    .map(toDocument);
  const corpus: Corpus = {
    tenantId: FIRST_RUN_TENANT as TenantId,
    name: DEFAULT_CORPUS,
    language: config.indexing.defaultLanguage,
    space: embedding.space,
    screening: config.indexing.defaultScreening,
    placement: "shared",
  };
  for (let from = 0; from < documents.length; from += BATCH) {
    onProgress(from, documents.length);
    const plan = planAdd({ documents: documents.slice(from, from + BATCH) }, offer.add);
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    await addDocuments(plan, corpus, {
      database,
      embedding,
      limits: { signal, remainingMs: () => TIMEOUT_MS },
      by: {
        source: "samples",
        issuer: FIRST_RUN_ISSUER,
        subject: "samples",
        tokenId: undefined,
        trustCeiling: "trusted",
      },
      fields: offer.add.fields,
      ...config.indexing,
      create: "tenant and corpus",
    });
  }
  onProgress(documents.length, documents.length);
  await writeFile(doneFile, "The sample corpus was indexed; it is not indexed again while this file is here.\n");
}

/** Samples are files of this package: `{id, title, text, meta}` a line, the shape that `pgrcp import` reads. */
function toDocument(line: string): object {
  const { id, title, text, meta } = JSON.parse(line);
  return { id, text, meta: { ...meta, title } };
}
