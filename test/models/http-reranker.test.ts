import { describe, expect, onTestFinished, test } from "vitest";
import { httpReranker, type RerankerConfig } from "../../src/models/http-reranker.ts";
import { heldUntil } from "../support/held-until.ts";
import {
  type Answer,
  expectNoSecrets,
  FLAKY_ANSWERS,
  failureOf,
  json,
  testModel,
  WRONG_ANSWERS,
} from "../support/loopback-model.ts";

interface Body {
  readonly model?: string;
  readonly query: string;
  readonly documents?: readonly string[];
  readonly texts?: readonly string[];
}

const KEY = "sk-secret-of-the-test";
const TEXT = "a passage nobody else may read";
const never = new AbortController().signal;

function rerankerAt(url: string, settings: Partial<RerankerConfig> = {}) {
  const reranker = httpReranker({
    provider: "tei",
    url,
    model: "small",
    apiKey: KEY,
    method: "cross-encoder",
    maxCandidates: 200,
    concurrency: 2,
    timeoutMs: 2_000,
    retries: 0,
    ...settings,
  });
  onTestFinished(() => reranker.close());
  return reranker;
}

async function serve(answer: Answer<Body>, settings: Partial<RerankerConfig> = {}, path = "") {
  const model = await testModel(answer);
  return { reranker: rerankerAt(model.url + path, settings), received: model.received };
}

/** The length of a passage is its score; the best stands first. */
const scored = (texts: readonly string[]) =>
  texts.map((text, index) => ({ index, score: text.length })).sort((a, b) => b.score - a.score);
const teiAnswer: Answer<Body> = ({ body }, response) => json(response, scored(body.texts ?? []));
const cohereAnswer: Answer<Body> = ({ body }, response) =>
  json(response, {
    id: "x",
    results: scored(body.documents ?? []).map(({ index, score }) => ({ index, relevance_score: score })),
    meta: {},
  });

describe("a server that behaves", () => {
  test("tei gets texts, cut by itself when they are too long, and no model", async () => {
    const { reranker, received } = await serve(teiAnswer, { provider: "tei" });

    expect(await reranker.score("q", ["aa", "a", "aaa"], never)).toEqual([2, 1, 3]);
    expect(received).toEqual([
      {
        path: "/rerank",
        authorization: `Bearer ${KEY}`,
        body: { query: "q", texts: ["aa", "a", "aaa"], truncate: true },
      },
    ]);
  });

  test("cohere gets the model, the documents and a top_n that cuts nothing", async () => {
    const { reranker, received } = await serve(cohereAnswer, { provider: "cohere" }, "/v2/");

    expect(await reranker.score("q", ["aa", "a", "aaa"], never)).toEqual([2, 1, 3]);
    expect(received[0]?.path).toBe("/v2/rerank");
    expect(received[0]?.body).toEqual({ model: "small", query: "q", documents: ["aa", "a", "aaa"], top_n: 3 });
  });

  test("jina is told not to send the documents back", async () => {
    const { reranker, received } = await serve(cohereAnswer, { provider: "jina" }, "/v1");

    expect(await reranker.score("q", ["aa", "a"], never)).toEqual([2, 1]);
    expect(received[0]?.path).toBe("/v1/rerank");
    expect(received[0]?.body).toEqual({
      model: "small",
      query: "q",
      documents: ["aa", "a"],
      top_n: 2,
      return_documents: false,
    });
  });

  test("an answer that sends long documents back all the same is read", async () => {
    const long = "x".repeat(1_500_000);
    const { reranker } = await serve(
      ({ body }, response) =>
        json(response, {
          results: body.documents?.map((text, index) => ({ index, document: { text }, relevance_score: 1 })),
        }),
      { provider: "jina" },
    );

    expect(await reranker.score("q", [long], never)).toEqual([1]);
  });

  test.each([
    ["tei", teiAnswer, 33, [32, 1]],
    ["cohere", cohereAnswer, 101, [100, 1]],
    ["jina", cohereAnswer, 101, [100, 1]],
  ] as const)("%s gets batches of its own size", async (provider, answer, count, sizes) => {
    const { reranker, received } = await serve(answer, { provider, concurrency: 1 });
    const passages = Array.from({ length: count }, (_, n) => "x".repeat(n + 1));

    expect(await reranker.score("q", passages, never)).toEqual(passages.map(({ length }) => length));
    expect(received.map(({ body }) => (body.texts ?? body.documents)?.length)).toEqual(sizes);
  });

  test("a configured batch is kept to, and no more requests are open than the concurrency", async () => {
    const held = heldUntil(3);
    const { reranker, received } = await serve(
      (request, response, call) => held.take(() => teiAnswer(request, response, call)),
      { batch: 1, concurrency: 3, timeoutMs: 60_000 },
    );

    await reranker.score("q", Array(9).fill("x"), never);

    expect(received).toHaveLength(9);
    expect(held.most()).toBe(3);
  });

  test("blank passages are not sent and score like the worst of the others", async () => {
    const { reranker, received } = await serve(teiAnswer);

    expect(await reranker.score("q", ["", "aa", " \n", "a"], never)).toEqual([1, 2, 1, 1]);
    expect(received[0]?.body.texts).toEqual(["aa", "a"]);
    expect(await reranker.score("q", ["", " "], never)).toEqual([0, 0]);
    expect(await reranker.score("q", [], never)).toEqual([]);
    expect(received).toHaveLength(1);
  });

  test("letters are sent composed", async () => {
    const { reranker, received } = await serve(teiAnswer);

    await reranker.score("cafe\u0301", ["e\u0301"], never);

    expect(received[0]?.body).toMatchObject({ query: "café", texts: ["é"] });
  });

  test("no authorization header without a key", async () => {
    const { reranker, received } = await serve(teiAnswer, { apiKey: undefined });

    await reranker.score("q", ["a"], never);

    expect(received[0]?.authorization).toBeUndefined();
  });

  test("negative scores are scores", async () => {
    const { reranker } = await serve((_, response) =>
      json(response, [
        { index: 1, score: -7.5 },
        { index: 0, score: -3 },
      ]),
    );

    expect(await reranker.score("q", ["a", "b", ""], never)).toEqual([-3, -7.5, -7.5]);
  });

  test("it says what it is", async () => {
    const reranker = rerankerAt("http://127.0.0.1:9", { method: "colbert", maxCandidates: 120 });

    expect(reranker).toMatchObject({ identity: "small", method: "colbert", maxCandidates: 120 });
  });
});

describe("a server that answers wrongly", () => {
  const wrong: readonly (readonly [string, Answer<Body>])[] = [
    ...WRONG_ANSWERS,
    ["too few scores", (_, response) => json(response, [{ index: 0, score: 1 }])],
    ["no scores", (_, response) => json(response, [])],
    [
      "too many scores",
      (_, response) =>
        json(
          response,
          [0, 1, 2].map((index) => ({ index, score: 1 })),
        ),
    ],
    [
      "one index twice",
      (_, response) =>
        json(
          response,
          [0, 0].map((index) => ({ index, score: 1 })),
        ),
    ],
    [
      "an index that was not asked for",
      (_, response) =>
        json(
          response,
          [0, 7].map((index) => ({ index, score: 1 })),
        ),
    ],
    [
      "a score that is null",
      (_, response) =>
        json(
          response,
          [0, 1].map((index) => ({ index, score: null })),
        ),
    ],
    [
      "a score that is text",
      (_, response) =>
        json(
          response,
          [0, 1].map((index) => ({ index, score: "1" })),
        ),
    ],
    [
      "a number too large to be finite",
      (_, response) => response.end('[{"index":0,"score":1e999},{"index":1,"score":1}]'),
    ],
    [
      "a number beyond single precision, whose difference to another may not be finite",
      (_, response) => response.end('[{"index":0,"score":-3.5e38},{"index":1,"score":1}]'),
    ],
  ];

  test.each(wrong)("%s is -32010, not retryable, and is asked once", async (_, answer) => {
    const { reranker, received } = await serve(answer, { retries: 3 });

    const error = await failureOf(reranker.score(TEXT, [TEXT, "b"], never));

    expect(error.code).toBe(-32010);
    expect(error.data).toEqual({ retryable: false, detail: "the reranker gave no usable answer" });
    expect(received).toHaveLength(1);
    expectNoSecrets(error, [KEY, TEXT]);
  });
});

describe("a server that is not well", () => {
  test.each(FLAKY_ANSWERS)("%s once is not noticed by the caller", async (_, answer) => {
    const { reranker, received } = await serve(
      (request, response, call) => (call === 1 ? answer : teiAnswer)(request, response, call),
      { retries: 1, timeoutMs: 1_000 },
    );

    expect(await reranker.score("q", ["a"], never)).toEqual([1]);
    expect(received).toHaveLength(2);
  });

  test.each(FLAKY_ANSWERS)("%s every time is -32010, retryable, after the configured tries", async (_, answer) => {
    const { reranker, received } = await serve(answer, { retries: 1, timeoutMs: 1_000 });

    const error = await failureOf(reranker.score(TEXT, [TEXT], never));

    expect(error.code).toBe(-32010);
    expect(error.data.retryable).toBe(true);
    expect(received).toHaveLength(2);
    expectNoSecrets(error, [KEY, TEXT]);
  });

  test("no server at all is -32010, retryable", async () => {
    const gone = await testModel(() => {});
    await gone.close();

    const error = await failureOf(rerankerAt(gone.url).score(TEXT, [TEXT], never));

    expect(error.data.retryable).toBe(true);
    expect((error.cause as Error).message).toBe("connection failed (ECONNREFUSED)");
    expectNoSecrets(error, [KEY, TEXT]);
  });

  test("a Retry-After that is too long to wait for is handed to the caller", async () => {
    const { reranker, received } = await serve(
      (_, response) => response.writeHead(429, { "retry-after": "120" }).end(),
      { retries: 5 },
    );

    expect((await failureOf(reranker.score("q", ["a"], never))).data).toMatchObject({
      retryable: true,
      retryAfterMs: 120_000,
    });
    expect(received).toHaveLength(1);
  });
});

describe("the end", () => {
  test("of the caller ends the request to the server", async () => {
    const caller = new AbortController();
    const reason = new Error("the caller went away");
    const closed = Promise.withResolvers<void>();
    const { reranker } = await serve(
      (_, response) => {
        response.on("close", () => closed.resolve());
        caller.abort(reason);
      },
      { timeoutMs: 60_000 },
    );

    await expect(reranker.score("q", ["a"], caller.signal)).rejects.toBe(reason);
    await closed.promise;
  });

  test("of the reranker ends the requests that run and refuses those to come", async () => {
    const arrived = Promise.withResolvers<void>();
    const { reranker } = await serve(() => arrived.resolve(), { timeoutMs: 60_000 });
    const running = failureOf(reranker.score("q", ["a"], never));
    await arrived.promise;

    await reranker.close();

    expect((await running).data).toEqual({ retryable: false, detail: "the reranker is closed" });
    expect((await failureOf(reranker.score("q", ["a"], never))).code).toBe(-32010);
  });
});
