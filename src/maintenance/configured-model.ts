import type { Config } from "../config/config.ts";
import type { EmbeddingModel } from "../models/embedding.ts";

/** Lends the configured embedding model for some work. */
export type WithModel = <Result>(work: (model: EmbeddingModel) => Result | Promise<Result>) => Promise<Result>;

/** In a process that has none loaded. */
export function configuredModel(config: Config): WithModel {
  return async (work) => {
    // Only this needs the inference runtime, which takes longer to load than the rest together.
    const { loadEmbeddingModel } = await import("../models/load-embedding-model.ts");
    const model = await loadEmbeddingModel(config.models.embedding);
    try {
      return await work(model);
    } finally {
      await model.close();
    }
  };
}

/** In a server. */
export const runningModel =
  (model: EmbeddingModel): WithModel =>
  async (work) =>
    await work(model);
