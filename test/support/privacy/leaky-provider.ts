import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { testEmbeddingModel } from "../test-embedding.ts";

const DIMENSION = 16;
const model = testEmbeddingModel({ dimension: DIMENSION });

/** Embedding, reranking and writing on loopback, by a server that repeats what it is asked whenever it fails. */
export interface LeakyProvider {
  /** The `models` section. */
  readonly settings: (keys: {
    readonly embedding: string;
    readonly reranker: string;
    readonly generator: string;
  }) => object;
  close(): Promise<void>;
}

/** @param secret what its failures hold besides what was asked */
export async function startLeakyProvider(secret: string): Promise<LeakyProvider> {
  let calls = 0;
  const server = createServer((request, response) => {
    calls += 1;
    answer(request, response, calls, secret).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    settings: ({ embedding, reranker, generator }) => ({
      embedding: {
        ...{ provider: "openai", url: `${url}/v1`, model: "words", dimension: DIMENSION, maxTokens: 256 },
        ...{ apiKey: embedding, retries: 0 },
      },
      reranker: { provider: "tei", url, model: "words", apiKey: reranker, retries: 0 },
      generator: { url: `${url}/v1`, model: "words", apiKey: generator, retries: 0 },
    }),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

interface Asked {
  readonly input?: readonly string[];
  readonly texts?: readonly string[];
  readonly messages?: readonly { readonly content: string }[];
}

/** Every fourth call fails, each time in another way. */
async function answer(request: IncomingMessage, response: ServerResponse, call: number, secret: string): Promise<void> {
  const asked = (await json(request)) as Asked;
  const said = `${secret} ${JSON.stringify(asked)} ${request.headers.authorization}`;
  const send = (body: unknown, status = 200) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };
  if (call % 4 === 0) {
    const failures = [
      () => send({ error: { message: said } }, 500),
      () => send(`not JSON: ${said}`),
      () => send({ data: said, results: said, choices: said }),
      () => response.writeHead(302, { location: `/${encodeURIComponent(said)}` }).end(),
      () => response.destroy(),
      () => send({ data: [{ index: 0, embedding: [said] }], choices: [{ message: { content: 1 } }] }),
      () => send({ error: said }, 401),
    ];
    return failures[(call / 4) % failures.length]?.();
  }
  if (asked.input !== undefined) {
    const vectors = await model.embed(asked.input, "document", new AbortController().signal);
    return send({ data: vectors.map((vector, index) => ({ index, embedding: [...vector] })) });
  }
  if (asked.texts !== undefined) return send(asked.texts.map((_, index) => ({ index, score: 1 / (1 + index) })));
  send({ choices: [{ message: { content: asked.messages?.at(-1)?.content ?? "" } }] });
}
