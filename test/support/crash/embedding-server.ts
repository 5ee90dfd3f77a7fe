import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import type { EmbeddingModel } from "../../../src/models/embedding.ts";
import { testEmbeddingModel } from "../test-embedding.ts";

/** An OpenAI-compatible embeddings service on loopback, and the settings with which a server uses it. */
export interface EmbeddingServer {
  readonly settings: Readonly<Record<string, unknown>>;
  close(): Promise<void>;
}

export async function startEmbeddingServer(
  dimension = 32,
  model: Pick<EmbeddingModel, "embed" | "maxTokens"> = testEmbeddingModel({ dimension }),
): Promise<EmbeddingServer> {
  const server = createServer((request, response) => {
    // A server that is killed may leave half a request.
    answer(model, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    settings: {
      repeatable: true,
      provider: "openai",
      url: `http://127.0.0.1:${port}/v1`,
      model: "bag-of-words",
      dimension,
      maxTokens: model.maxTokens,
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(
  model: Pick<EmbeddingModel, "embed">,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { input } = (await json(request)) as { readonly input: readonly string[] };
  const vectors = await model.embed(input, "document", new AbortController().signal);
  const data = vectors.map((vector, index) => ({ object: "embedding", index, embedding: [...vector] }));
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ object: "list", model: "bag-of-words", data }));
}
