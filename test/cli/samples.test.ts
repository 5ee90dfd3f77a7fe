import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseLine } from "../../src/cli/import-jsonl.ts";
import { configSchema } from "../../src/config/config.ts";
import { withSampleFields } from "../../src/config/first-run-fields.ts";
import { CursorKeys } from "../../src/db/cursor-keys.ts";
import { listTenants } from "../../src/maintenance/tenants.ts";
import type { Services } from "../../src/methods/handler.ts";
import { offerOf } from "../../src/methods/offer.ts";
import type { EmbeddingModel } from "../../src/models/embedding.ts";
import type { Observation } from "../../src/observability/observation.ts";
import { filterFields } from "../../src/plan/filter-fields.ts";
import { backendUnavailable } from "../../src/protocol/errors.ts";
import { indexSamples } from "../../src/samples.ts";
import { screenText } from "../../src/trust/screen-text.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { NO_CORPORA } from "../support/no-database.ts";
import { testEmbeddingModel } from "../support/test-embedding.ts";

const SAMPLES = new URL("../../samples/corpus.jsonl", import.meta.url);

test("every sample is a document that import reads, with a topic and a year to filter by, and no sample is suspicious", async () => {
  const lines = (await readFile(SAMPLES, "utf8")).split("\n").filter((line) => line !== "");

  const documents = lines.map((line) => parseLine(Buffer.from(line)));

  expect(documents.length).toBeGreaterThanOrEqual(40);
  for (const document of documents) {
    expect(document).toMatchObject({
      id: expect.any(String),
      text: expect.any(String),
      meta: { title: expect.any(String), topic: expect.any(String), year: expect.any(Number) },
    });
    if (typeof document !== "string") expect(screenText(String(document.text)).injectionSuspected).toBe(false);
  }
  expect(new Set(documents.map((document) => (typeof document === "string" ? "" : document.id))).size).toBe(
    lines.length,
  );
});

describe("a first start", () => {
  const never = new AbortController().signal;
  let folder: string;
  let db: TestDatabase;
  let observations: Observation[];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "pgrcp-samples-"));
    observations = [];
  });
  afterEach(async () => {
    await db.close();
    await rm(folder, { recursive: true });
  });

  /** What a server with these settings works with, on an empty database. */
  async function services(settings: object = {}, embedding: EmbeddingModel = testEmbeddingModel()): Promise<Services> {
    const config = withSampleFields(configSchema.parse({ ...settings, database: { embeddedDir: folder } }));
    db = await openTestDatabase({ fields: filterFields(config.filter.fields) });
    const observe = (observation: Observation) => void observations.push(observation);
    return {
      config,
      offer: offerOf(config),
      database: db.database,
      corpora: NO_CORPORA,
      embedding,
      cursorKeys: new CursorKeys(db.database),
      reranker: undefined,
      generator: undefined,
      fetcher: undefined,
      classifier: undefined,
      observe,
    };
  }

  const documents = async () => (await listTenants(db.operator)).map((row) => [row.tenant, row.documents]);
  const isDone = () => existsSync(join(folder, "samples-indexed"));
  const texts = async () =>
    (await readFile(SAMPLES, "utf8"))
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line).text as string);

  test("indexes every sample, and the next start none", async () => {
    const server = await services();
    const progress: number[] = [];

    await indexSamples(server, never, (done) => progress.push(done));
    const again: number[] = [];
    await indexSamples(server, never, (done) => again.push(done));

    const total = (await texts()).length;
    expect(await documents()).toEqual([["demo", total]]);
    expect(progress.at(-1)).toBe(total);
    expect([again, observations]).toEqual([[], []]);
  });

  test("that takes few documents in a request indexes them all the same", async () => {
    await indexSamples(await services({ limits: { maxDocumentsPerAdd: 3 } }), never, () => {});

    expect(await documents()).toEqual([["demo", (await texts()).length]]);
    expect(observations).toEqual([]);
  });

  test("leaves out samples that the limits refuse, with one warning, and indexes the others", async () => {
    const all = await texts();
    const maxTextBytes = 450;
    const fitting = all.filter((text) => Buffer.byteLength(text) <= maxTextBytes).length;
    // Otherwise there would be nothing to see.
    expect([fitting > 0, fitting < all.length]).toEqual([true, true]);

    await indexSamples(await services({ limits: { maxTextBytes } }), never, () => {});

    expect(await documents()).toEqual([["demo", fitting]]);
    expect(observations).toEqual([
      {
        kind: "warning",
        text: `${all.length - fitting} of ${all.length} sample documents do not fit the configuration and are left out (text: a text is at most 450 bytes in UTF-8 (limits.maxTextBytes))`,
      },
    ]);
  });

  test("goes on without samples where no sample fits a field of the configuration", async () => {
    await indexSamples(await services({ filter: { fields: { year: "keyword" } } }), never, () => {});

    const total = (await texts()).length;
    expect(await documents()).toEqual([]);
    expect(observations).toMatchObject([
      { kind: "warning", text: expect.stringContaining(`${total} of ${total} sample documents do not fit`) },
    ]);
    expect(isDone()).toBe(true);
  });

  test("goes on without an embedding model, says why, and leaves the samples to the next start", async () => {
    const away = backendUnavailable({ retryable: true, detail: "the embedding server gave no usable answer" });
    const server = await services({}, { ...testEmbeddingModel(), embed: () => Promise.reject(away) });

    await indexSamples(server, never, () => {});

    expect(isDone()).toBe(false);
    expect(observations).toEqual([
      { kind: "backend-failed", where: "sample corpus", code: -32010, detail: away.data.detail, error: away },
      { kind: "warning", text: "the sample corpus is not indexed yet; the next start tries again" },
    ]);
    await indexSamples({ ...server, embedding: testEmbeddingModel() }, never, () => {});
    expect(await documents()).toEqual([["demo", (await texts()).length]]);
  });

  test("that is told to stop ends with the reason, and the next start begins anew", async () => {
    const server = await services();
    const stop = new AbortController();
    const reason = new Error("stopped");
    const seen: number[] = [];

    const stopped = indexSamples(server, stop.signal, (done) => {
      seen.push(done);
      if (done >= 16) stop.abort(reason);
    });

    await expect(stopped).rejects.toBe(reason);
    expect([seen, isDone()]).toEqual([[0, 8, 16], false]);
    await indexSamples(server, never, () => {});
    expect(await documents()).toEqual([["demo", (await texts()).length]]);
  });

  test("with issuers of its own has no samples", async () => {
    const issuer = { issuer: "https://idp.example.org/", jwksUri: "https://idp.example.org/keys" };

    await indexSamples(await services({ auth: { issuers: [issuer] } }), never, () => {});

    expect([await documents(), isDone()]).toEqual([[], false]);
  });
});
