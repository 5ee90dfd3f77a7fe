import type { ServerResponse } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import type { EmbeddingModel } from "../../src/models/embedding.ts";
import { type OpenAiEmbeddingConfig, openAiEmbeddingModel } from "../../src/models/openai-embeddings.ts";
import { heldUntil } from "../support/held-until.ts";
import {
  type Answer as AnyAnswer,
  expectNoSecrets,
  FLAKY_ANSWERS,
  failureOf,
  json,
  testModel,
  WRONG_ANSWERS,
} from "../support/loopback-model.ts";

interface Body {
  readonly model: string;
  readonly input: readonly string[];
  readonly encoding_format: string;
}

type Answer = AnyAnswer<Body>;

const KEY = "sk-secret-of-the-test";
const TEXT = "a text nobody else may read";
const never = new AbortController().signal;

/** A model of dimension 3 on a real server on loopback, and everything that server received. */
async function serve(answer: Answer, settings: Partial<OpenAiEmbeddingConfig> = {}, path = "/v1/") {
  const server = await testModel(answer);
  return { model: modelAt(server.url + path, settings), received: server.received };
}

function modelAt(url: string, settings: Partial<OpenAiEmbeddingConfig> = {}): EmbeddingModel {
  const model = openAiEmbeddingModel({
    provider: "openai",
    url,
    model: "small",
    apiKey: KEY,
    dimension: 3,
    maxTokens: 512,
    batch: 2,
    concurrency: 2,
    timeoutMs: 2_000,
    retries: 0,
    queryPrefix: "",
    documentPrefix: "",
    repeatable: false,
    ...settings,
  });
  onTestFinished(() => model.close());
  return model;
}

const embeddings = (response: ServerResponse, ...vectors: unknown[]) =>
  json(response, { data: vectors.map((embedding, index) => ({ index, embedding })) });

/** Text "x" lies along the first axis, everything else along the second; none is of unit length. */
const wellBehaved: Answer = ({ body }, response) =>
  embeddings(response, ...body.input.map((text) => (text.endsWith("x") ? [2, 0, 0] : [0, 3, 0])));

describe("a server that behaves", () => {
  test("is asked for float embeddings of the configured model, with the key, below the base URL", async () => {
    const { model, received } = await serve(wellBehaved);

    await model.embed(["x"], "query", never);

    expect(received).toEqual([
      {
        path: "/v1/embeddings",
        authorization: `Bearer ${KEY}`,
        body: { model: "small", input: ["x"], encoding_format: "float" },
      },
    ]);
  });

  test("keeps the query of its base URL", async () => {
    const { model, received } = await serve(wellBehaved, {}, "/v2?api-version=1");

    await model.embed(["x"], "query", never);

    expect(received[0]?.path).toBe("/v2/embeddings?api-version=1");
  });

  test("gets no authorization header when no key is configured", async () => {
    const { model, received } = await serve(wellBehaved, { apiKey: undefined });

    await model.embed(["x"], "query", never);

    expect(received[0]?.authorization).toBeUndefined();
  });

  test("is sent batches of the configured size, and the vectors come back in the order of the texts", async () => {
    const { model, received } = await serve(wellBehaved, { batch: 2 });

    const vectors = await model.embed(["x", "y", "y", "x", "x"], "document", never);

    expect(received.map(({ body }) => body.input.length).sort()).toEqual([1, 2, 2]);
    expect(vectors.map((vector) => [...vector])).toEqual([
      [1, 0, 0],
      [0, 1, 0],
      [0, 1, 0],
      [1, 0, 0],
      [1, 0, 0],
    ]);
  });

  test("may answer in any order, since each embedding says which text it is of", async () => {
    const { model } = await serve((_, response) =>
      json(response, {
        data: [
          { index: 1, embedding: [0, 5, 0] },
          { index: 0, embedding: [5, 0, 0] },
        ],
      }),
    );

    const vectors = await model.embed(["first", "second"], "document", never);

    expect(vectors.map((vector) => [...vector])).toEqual([
      [1, 0, 0],
      [0, 1, 0],
    ]);
  });

  test("never has more requests open than the concurrency", async () => {
    const held = heldUntil(3);
    const { model } = await serve((request, response, call) => held.take(() => wellBehaved(request, response, call)), {
      batch: 1,
      concurrency: 3,
      timeoutMs: 60_000,
    });

    await model.embed(Array(12).fill("x"), "document", never);

    expect(held.most()).toBe(3);
  });

  test("reads the prefix of the kind, and composed letters", async () => {
    const { model, received } = await serve(wellBehaved, { queryPrefix: "query: ", documentPrefix: "passage: " });

    await model.embed(["cafe\u0301"], "query", never);
    await model.embed(["x"], "document", never);

    expect(received.map(({ body }) => body.input)).toEqual([["query: café"], ["passage: x"]]);
  });

  test("is not asked when there is nothing to embed", async () => {
    const { model, received } = await serve(wellBehaved);

    expect(await model.embed([], "document", never)).toEqual([]);
    expect(received).toEqual([]);
  });

  test("gives the space its name and dimension", async () => {
    const { model } = await serve(wellBehaved);

    expect(model.space).toEqual({ identity: "small@3", dimension: 3 });
    expect(model.maxTokens).toBe(512);
  });
});

describe("a server that answers wrongly", () => {
  const wrong: readonly (readonly [string, Answer])[] = [
    ...WRONG_ANSWERS,
    ["a vector that is too short", (_, response) => embeddings(response, [1, 2])],
    ["a vector that is too long", (_, response) => embeddings(response, [1, 2, 3, 4])],
    ["a null component", (_, response) => embeddings(response, [1, null, 3])],
    [
      "a number too large to be finite",
      (_, response) => response.end('{"data":[{"index":0,"embedding":[1e999,0,0]}]}'),
    ],
    ["a zero vector", (_, response) => embeddings(response, [0, 0, 0])],
    ["base64 instead of numbers", (_, response) => embeddings(response, "AACAPwAAAAAAAAAA")],
    ["too many embeddings", (_, response) => embeddings(response, [1, 0, 0], [1, 0, 0])],
    [
      "an index that was not asked for",
      (_, response) => json(response, { data: [{ index: 7, embedding: [1, 0, 0] }] }),
    ],
    ["embeddings without an index", (_, response) => json(response, { data: [{ embedding: [1, 0, 0] }] })],
    ["another shape", (_, response) => json(response, { embeddings: [[1, 0, 0]] })],
    ["HTTP 400 that quotes the text", (_, response) => json(response, { error: { message: TEXT } }, 400)],
    ["HTTP 401 that quotes the key", (_, response) => json(response, { error: { message: `bad key ${KEY}` } }, 401)],
  ];

  test.each(wrong)("%s is -32010, not retryable, and is asked once", async (_, answer) => {
    const { model, received } = await serve(answer, { retries: 3 });

    const error = await failureOf(model.embed([TEXT], "document", never));

    expect(error.code).toBe(-32010);
    expect(error.data.retryable).toBe(false);
    expect(received).toHaveLength(1);
    expectNoSecrets(error, [KEY, TEXT]);
  });

  test("two embeddings of one index leave a text without a vector, which is -32010", async () => {
    const data = [
      { index: 0, embedding: [1, 0, 0] },
      { index: 0, embedding: [0, 1, 0] },
    ];
    const { model } = await serve((_, response) => json(response, { data }));

    expect((await failureOf(model.embed(["a", "b"], "document", never))).data.retryable).toBe(false);
  });
});

describe("a server that is not well", () => {
  test.each(FLAKY_ANSWERS)("%s once is not noticed by the caller", async (_, answer) => {
    const { model, received } = await serve(
      (request, response, call) => (call === 1 ? answer : wellBehaved)(request, response, call),
      { retries: 1, timeoutMs: 1_500 },
    );

    expect((await model.embed(["x"], "query", never)).map((vector) => [...vector])).toEqual([[1, 0, 0]]);
    expect(received).toHaveLength(2);
  });

  test.each(FLAKY_ANSWERS)("%s every time is -32010, retryable, after the configured tries", async (_, answer) => {
    const { model, received } = await serve(answer, { retries: 2, timeoutMs: 1_000 });

    const error = await failureOf(model.embed([TEXT], "query", never));

    expect(error.code).toBe(-32010);
    expect(error.data.retryable).toBe(true);
    expect(received).toHaveLength(3);
    expectNoSecrets(error, [KEY, TEXT]);
  });

  test("a slow answer within the timeout is waited for", async () => {
    const { model } = await serve((request, response, call) => {
      setTimeout(() => wellBehaved(request, response, call), 200);
    });

    expect(await model.embed(["x"], "query", never)).toHaveLength(1);
  });

  test("no server at all is -32010, retryable", async () => {
    const gone = await testModel(() => {});
    await gone.close();

    const error = await failureOf(modelAt(gone.url, { retries: 1 }).embed([TEXT], "query", never));

    expect(error.code).toBe(-32010);
    expect(error.data.retryable).toBe(true);
    expect((error.cause as Error).message).toBe("connection failed (ECONNREFUSED)");
    expectNoSecrets(error, [KEY, TEXT]);
  });

  test("Retry-After is obeyed before the next try", async () => {
    const times: number[] = [];
    const { model } = await serve(
      (request, response, call) => {
        times.push(performance.now());
        if (call === 1) response.writeHead(429, { "retry-after": "1" }).end();
        else wellBehaved(request, response, call);
      },
      { retries: 1 },
    );

    await model.embed(["x"], "query", never);

    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(995);
  });

  test("a Retry-After that is too long to wait for is handed to the caller", async () => {
    const { model, received } = await serve((_, response) => response.writeHead(429, { "retry-after": "120" }).end(), {
      retries: 5,
    });

    const error = await failureOf(model.embed(["x"], "query", never));

    expect(error.data).toMatchObject({ retryable: true, retryAfterMs: 120_000 });
    expect(received).toHaveLength(1);
  });
});

describe("abort", () => {
  test("a call ends at once with the signal's reason, and the request to the server is closed", async () => {
    const caller = new AbortController();
    const reason = new Error("the caller went away");
    const closed = Promise.withResolvers<void>();
    const { model } = await serve(
      (_, response) => {
        response.on("close", () => closed.resolve());
        caller.abort(reason);
      },
      { timeoutMs: 60_000 },
    );

    await expect(model.embed(["x"], "query", caller.signal)).rejects.toBe(reason);
    await closed.promise;
  });

  test("a pause between tries is cut short", async () => {
    const caller = new AbortController();
    const { model } = await serve(
      (_, response) => {
        response.writeHead(429, { "retry-after": "10" }).end();
        setTimeout(() => caller.abort("gone"), 50);
      },
      { retries: 1 },
    );
    const start = performance.now();

    await expect(model.embed(["x"], "query", caller.signal)).rejects.toBe("gone");
    expect(performance.now() - start).toBeLessThan(5_000);
  });

  test("a batch that fails takes the call's other batches with it", async () => {
    const arrived = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    const { model } = await serve(
      ({ body }, response) => {
        if (body.input[0] === "bad") void arrived.promise.then(() => json(response, {}, 400));
        else {
          response.on("close", () => closed.resolve());
          arrived.resolve();
        }
      },
      { batch: 1, concurrency: 2, timeoutMs: 60_000 },
    );

    await failureOf(model.embed(["slow", "bad"], "document", never));
    await closed.promise;
  });

  test("closing the model ends the requests that run and refuses the ones to come", async () => {
    const arrived = Promise.withResolvers<void>();
    const { model } = await serve(() => arrived.resolve(), { timeoutMs: 60_000 });
    const running = failureOf(model.embed(["x"], "query", never));
    await arrived.promise;

    await model.close();

    expect((await running).code).toBe(-32010);
    expect((await failureOf(model.embed(["x"], "query", never))).code).toBe(-32010);
  });
});

describe("configuration", () => {
  test("tokens are counted with the prefix that documents get", async () => {
    const model = modelAt("http://127.0.0.1:1/v1", { documentPrefix: "passage: " });

    // Two special tokens, passa-ge and a colon, cat.
    expect(await model.countTokens(["cat"])).toEqual([2 + 3 + 1]);
  });
});
