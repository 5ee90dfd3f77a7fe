import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { configSchema } from "../../src/config/config.ts";
import { loadEmbeddingModel } from "../../src/models/load-embedding-model.ts";

test("the default configuration gets the model that comes with the server", async () => {
  const model = await loadEmbeddingModel(configSchema.parse({}).models.embedding);

  expect(model.space.identity).toMatch(/^all-minilm-l6-v2-int8@[0-9a-f]{12}$/);
  await model.close();
});

test("provider openai gets a model of the configured name and dimension, without asking the server", async () => {
  const config = configSchema.parse({
    models: { embedding: { provider: "openai", url: "http://127.0.0.1:9/v1", model: "large", dimension: 1024 } },
  });

  const model = await loadEmbeddingModel(config.models.embedding);

  expect(model.space).toEqual({ identity: "large@1024", dimension: 1024 });
  await model.close();
});

test("models/README.md names the sha256 of every pinned file", async () => {
  const directory = new URL("../../models/", import.meta.url);
  const readme = await readFile(new URL("README.md", directory), "utf8");
  const manifest = JSON.parse(await readFile(new URL("all-minilm-l6-v2-int8/manifest.json", directory), "utf8"));

  for (const [file, { sha256 }] of Object.entries<{ sha256: string }>(manifest.files)) {
    expect(readme).toContain(`| \`${file}\` | \`${sha256}\` |`);
  }
});
