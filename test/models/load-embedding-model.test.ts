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
