import type { Config } from "../config/config.ts";
import type { Observe } from "../observability/observation.ts";
import { loadBuiltinModel } from "./builtin-model.ts";
import type { EmbeddingModel } from "./embedding.ts";
import { openAiEmbeddingModel } from "./openai-embeddings.ts";

/** The model that comes with the server; `src/` and `dist/` lie beside `models/` alike. */
const BUILTIN_DIRECTORY = new URL("../../models/all-minilm-l6-v2-int8/", import.meta.url);

/**
 * The embedding model that the configuration names.
 *
 * @param observe told when the built-in model has to start again
 * @throws ModelFilesError when the built-in model's files are missing or are not the pinned ones
 */
export async function loadEmbeddingModel(
  config: Config["models"]["embedding"],
  observe: Observe = () => {},
): Promise<EmbeddingModel> {
  switch (config.provider) {
    case "builtin":
      return loadBuiltinModel({ directory: BUILTIN_DIRECTORY, threads: config.threads }, observe);
    case "openai":
      return openAiEmbeddingModel(config);
  }
}
