import { describe, expect, onTestFinished, test } from "vitest";
import { configSchema } from "../../src/config/config.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import { httpReranker } from "../../src/models/http-reranker.ts";
import { openAiGenerator } from "../../src/models/openai-generator.ts";
import { type Answer, FLAKY_ANSWERS, json, testModel, WRONG_ANSWERS } from "../support/loopback-model.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";
import { testEmbeddingModel } from "../support/test-embedding.ts";
import { expectValidError, expectValidSuccess } from "../support/validate-response.ts";

/** Whole requests to the methods that stand on a model, with real model servers on loopback. */

interface Parts {
  readonly config?: Readonly<Record<string, unknown>> & { readonly capabilities?: Readonly<Record<string, unknown>> };
  readonly reranker?: Answer<{ texts: string[] }>;
  readonly generator?: Answer<{ messages: { content: string }[] }>;
}

async function start({ config = {}, ...answers }: Parts = {}): Promise<RcpServer> {
  const urlOf = async (answer: Answer<never>) => (await testModel(answer)).url;
  const quick = { retries: 0, timeoutMs: 3_000 };
  const { models } = configSchema.parse({
    models: {
      ...(answers.reranker && {
        reranker: { provider: "tei", model: "judge", url: await urlOf(answers.reranker), ...quick },
      }),
      ...(answers.generator && { generator: { model: "writer", url: await urlOf(answers.generator), ...quick } }),
    },
  });
  const server = await startRcpServer({
    // A catalogue is counted in a database, which none of these methods reaches.
    config: { ...config, capabilities: { catalog: false, ...config.capabilities } },
    handlers: HANDLERS,
    ...(models.reranker && { reranker: httpReranker(models.reranker) }),
    ...(models.generator && { generator: openAiGenerator(models.generator) }),
  });
  onTestFinished(() => server.close());
  return server;
}

/** A passage scores by how long it is. */
const byLength: NonNullable<Parts["reranker"]> = ({ body }, response) =>
  json(
    response,
    body.texts.map((text, index) => ({ index, score: text.length / 10 })),
  );

const says =
  (content: string): NonNullable<Parts["generator"]> =>
  (_, response) =>
    json(response, { choices: [{ message: { content } }] });

async function success(server: RcpServer, method: string, params: object) {
  const { body, status } = await server.call(method, params);
  expect(status).toBe(200);
  expectValidSuccess(method, body);
  return body?.result ?? {};
}

async function refusal(server: RcpServer, method: string, params: object) {
  const { body, status } = await server.call(method, params);
  expect(status).toBe(200);
  expectValidError(body);
  return { code: body?.error?.code, ...body?.error?.data };
}

const capabilities = async (server: RcpServer) =>
  (await success(server, "info", {})).capabilities as Record<string, unknown>;

describe("what is advertised", () => {
  test("embed stands on the embedding model, and is there from the start", async () => {
    const server = await start();

    expect(await capabilities(server)).toMatchObject({
      embed: {
        dimension: 32,
        identity: "test-bag-of-words@32",
        batchLimit: 100,
        normalized: true,
        encodings: ["json", "f32-base64"],
        modalities: ["text"],
      },
    });
  });

  test("rerank and transform are there with their models, and only then", async () => {
    const bare = await start();
    const full = await start({ reranker: byLength, generator: says("x") });

    expect(Object.keys(await capabilities(bare))).not.toEqual(expect.arrayContaining(["rerank"]));
    expect(Object.keys(await capabilities(bare))).not.toEqual(expect.arrayContaining(["transform"]));
    expect(await capabilities(full)).toMatchObject({
      rerank: { methods: ["cross-encoder"], maxCandidates: 200, models: ["judge"] },
      transform: { methods: ["rewrite", "hyde", "multi-query", "decompose", "step-back"] },
    });
    expect(await refusal(bare, "rerank", { query: "q", passages: [] })).toMatchObject({ code: -32003 });
    expect(await refusal(bare, "query/transform", { query: "q", method: "hyde" })).toMatchObject({ code: -32003 });
  });

  test("what is switched off is neither advertised nor answered", async () => {
    const server = await start({
      config: { capabilities: { embed: false, rerank: false, transform: false } },
      reranker: byLength,
      generator: says("x"),
    });

    const names = Object.keys(await capabilities(server));
    for (const name of ["embed", "rerank", "transform"]) expect(names).not.toContain(name);
    for (const method of ["embed", "rerank", "query/transform"])
      expect(await refusal(server, method, {})).toMatchObject({ code: -32003 });
  });

  test("some ways of transforming a query can be switched off", async () => {
    const server = await start({
      config: { capabilities: { transformMethods: ["hyde"] } },
      generator: says("x"),
    });

    expect(await capabilities(server)).toMatchObject({ transform: { methods: ["hyde"] } });
    expect(await refusal(server, "query/transform", { query: "q", method: "rewrite" })).toMatchObject({
      code: -32005,
      option: "method",
    });
  });
});

describe("embed", () => {
  test("gives one unit vector for each input, in order", async () => {
    const server = await start();
    const inputs = ["apple pear", { type: "text", text: "granite" }, "apple pear"];

    const { vectors, encoding, dimension } = await success(server, "embed", { inputs });

    const model = testEmbeddingModel();
    const [fruit, stone] = await model.embed(["apple pear", "granite"], "document", new AbortController().signal);
    expect(vectors).toEqual([[...(fruit ?? [])], [...(stone ?? [])], [...(fruit ?? [])]]);
    expect([encoding, dimension]).toEqual(["json", 32]);
  });

  test("f32-base64 holds the same numbers as little-endian binary32 with padding", async () => {
    const server = await start();
    const params = { inputs: ["apple pear", "granite"], kind: "query" };

    const plain = (await success(server, "embed", params)).vectors as number[][];
    const { vectors, encoding, dimension } = await success(server, "embed", { ...params, encoding: "f32-base64" });

    expect([encoding, dimension]).toEqual(["f32-base64", 32]);
    // 128 bytes are 172 characters, of which the last is padding.
    expect(vectors).toEqual([expect.stringMatching(/^[A-Za-z0-9+/]{171}=$/), expect.stringMatching(/=$/)]);
    const decoded = (vectors as string[]).map((text) => {
      const bytes = Buffer.from(text, "base64");
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      return Array.from({ length: bytes.length / 4 }, (_, index) => view.getFloat32(4 * index, true));
    });
    expect(decoded).toEqual(plain);
  });

  test("no inputs have no vectors", async () => {
    expect(await success(await start(), "embed", { inputs: [] })).toMatchObject({ vectors: [] });
  });

  test("an input without words has a finite vector like any other", async () => {
    const { vectors } = await success(await start(), "embed", { inputs: ["", " ", "!"] });

    expect((vectors as number[][]).flat().every(Number.isFinite)).toBe(true);
  });

  test("more inputs than advertised are -32013, naming the setting", async () => {
    const server = await start({ config: { limits: { maxInputsPerEmbed: 2 } } });

    expect(await capabilities(server)).toMatchObject({ embed: { batchLimit: 2 } });
    expect(await refusal(server, "embed", { inputs: ["a", "b", "c"] })).toEqual({
      code: -32013,
      field: "inputs",
      detail: "at most 2 texts a call (limits.maxInputsPerEmbed)",
    });
  });

  test("needs the read credential", async () => {
    const server = await start();
    const token = await server.token({ credentials: ["add"] });

    const { body } = await server.call("embed", { inputs: [] }, { token });

    expect(body?.error?.code).toBe(-32012);
  });
});

describe("rerank", () => {
  const passages = ["aa", "a", "aaa", "aa"];

  test("scores every passage and orders them best first; equal ones stay in order", async () => {
    const server = await start({ reranker: byLength });

    expect(await success(server, "rerank", { query: "q", passages })).toEqual({
      scores: [0.2, 0.1, 0.3, 0.2],
      order: [2, 0, 3, 1],
      results: [
        { index: 2, score: 0.3 },
        { index: 0, score: 0.2 },
        { index: 3, score: 0.2 },
        { index: 1, score: 0.1 },
      ],
      usage: {
        candidates: 4,
        reranked: 4,
        latencyMs: expect.any(Number),
        strategy: { method: "cross-encoder", model: "judge" },
      },
    });
  });

  test("topN cuts order and results, and leaves the scores", async () => {
    const server = await start({ reranker: byLength });

    const { scores, order, results } = await success(server, "rerank", { query: "q", documents: passages, topN: 2 });

    expect(scores).toHaveLength(4);
    expect(order).toEqual([2, 0]);
    expect(results).toEqual([
      { index: 2, score: 0.3 },
      { index: 0, score: 0.2 },
    ]);
  });

  test("no passages have no scores, and the model is not asked", async () => {
    const server = await start({ reranker: (_, response) => response.destroy() });

    expect(await success(server, "rerank", { query: "q", passages: [] })).toMatchObject({ scores: [], order: [] });
  });

  test("more passages than advertised are -32013, naming the setting", async () => {
    const server = await start({ reranker: byLength });

    expect(await refusal(server, "rerank", { query: "q", passages: Array(201).fill("a") })).toEqual({
      code: -32013,
      field: "passages",
      detail: "at most 200 texts a call (models.reranker.maxCandidates)",
    });
  });
});

describe("query/transform", () => {
  test("gives queries, and for hyde a passage besides", async () => {
    const server = await start({ generator: says("1. red apples\n2. green apples\n3. red apples\n4. apple trees") });
    const ask = (method: string, n?: number) => success(server, "query/transform", { query: "apples", method, n });

    expect(await ask("multi-query", 2)).toEqual({ queries: ["red apples", "green apples"] });
    expect(await ask("decompose")).toEqual({ queries: ["red apples", "green apples", "apple trees"] });
    expect(await ask("hyde")).toEqual({
      queries: ["apples"],
      hypothetical: expect.stringContaining("red apples"),
    });
  });

  test("makes no more queries than the configuration allows, whatever n is", async () => {
    const server = await start({
      config: { limits: { maxTransformQueries: 2 } },
      generator: says("a\nb\nc\nd"),
    });

    expect(await success(server, "query/transform", { query: "q", method: "multi-query", n: 1_000_000 })).toEqual({
      queries: ["a", "b"],
    });
  });
});

describe("a model server that fails", () => {
  const CALLS = [
    ["rerank", { query: "a secret query", passages: ["a secret passage"] }],
    ["query/transform", { query: "a secret query", method: "rewrite" }],
  ] as const;

  test.each(CALLS)("%s is -32010 with retryable, says nothing of it, and stays advertised", async (method, params) => {
    for (const [, answer] of [...WRONG_ANSWERS, ...FLAKY_ANSWERS]) {
      const server = await start({ reranker: answer, generator: answer });

      const error = await refusal(server, method, params);

      expect(error).toEqual({
        code: -32010,
        retryable: expect.any(Boolean),
        detail: expect.stringMatching(/^the (reranker|text generator) gave no usable answer$/),
      });
      expect(Object.keys(await capabilities(server))).toEqual(expect.arrayContaining(["rerank", "transform"]));
      const failed = server.observations.find(({ kind }) => kind === "backend-failed");
      expect(failed).toMatchObject({ where: method, code: -32010 });
      expect(JSON.stringify(server.observations)).not.toContain("secret");
    }
  });

  test.each(CALLS)("%s is over at its deadline, and the request to the server ends", async (method, params) => {
    const closed = Promise.withResolvers<void>();
    const silent: Answer<unknown> = (_, response) => void response.on("close", () => closed.resolve());
    const server = await start({
      config: { server: { requestTimeoutMs: 1_000 } },
      reranker: silent,
      generator: silent,
    });

    expect(await refusal(server, method, params)).toMatchObject({ code: -32014, retryable: true });
    await closed.promise;
  });
});
