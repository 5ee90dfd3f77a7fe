import { describe, expect, onTestFinished, test } from "vitest";
import { type GeneratorConfig, openAiGenerator } from "../../src/models/openai-generator.ts";
import type { Prompt } from "../../src/models/text-generator.ts";
import {
  type Answer,
  expectNoSecrets,
  FLAKY_ANSWERS,
  failureOf,
  json,
  testModel,
  WRONG_ANSWERS,
} from "../support/loopback-model.ts";

const KEY = "sk-secret-of-the-test";
const TEXT = "a query nobody else may read";
const PROMPT: Prompt = { system: "Be brief.", user: TEXT, maxTokens: 100, kind: "query" };
const never = new AbortController().signal;

function generatorAt(url: string, settings: Partial<GeneratorConfig> = {}) {
  const generator = openAiGenerator({
    url,
    model: "small",
    apiKey: KEY,
    temperature: 0,
    maxTokensName: "max_tokens",
    reasoningTokens: 0,
    concurrency: 2,
    timeoutMs: 2_000,
    retries: 0,
    ...settings,
  });
  onTestFinished(() => generator.close());
  return generator;
}

async function serve(answer: Answer<unknown>, settings: Partial<GeneratorConfig> = {}) {
  const model = await testModel(answer);
  return { generator: generatorAt(`${model.url}/v1`, settings), received: model.received };
}

const says =
  (content: unknown): Answer<unknown> =>
  (_, response) =>
    json(response, { choices: [{ message: { role: "assistant", content }, finish_reason: "stop" }] });

describe("a server that behaves", () => {
  test("gets the prompt as a system and a user message, at temperature 0", async () => {
    const { generator, received } = await serve(says("an answer"));

    expect(await generator.generate(PROMPT, never)).toBe("an answer");
    expect(received).toEqual([
      {
        path: "/v1/chat/completions",
        authorization: `Bearer ${KEY}`,
        body: {
          model: "small",
          messages: [
            { role: "system", content: "Be brief." },
            { role: "user", content: TEXT },
          ],
          max_tokens: 100,
          temperature: 0,
        },
      },
    ]);
  });

  test("gets what newer models want: another name for the limit, room to think, no temperature", async () => {
    const { generator, received } = await serve(says("an answer"), {
      maxTokensName: "max_completion_tokens",
      reasoningTokens: 900,
      temperature: null,
    });

    await generator.generate(PROMPT, never);

    expect(received[0]?.body).toEqual({
      model: "small",
      messages: expect.anything(),
      max_completion_tokens: 1_000,
    });
  });

  test.each([
    ["thoughts before the answer are not part of it", "<think>\nHm, apples?\n</think>\n\napples", "apples"],
    ["a word about thinking stays", "the <think> tag", "the <think> tag"],
    ["U+0000 becomes a blank", "red\u0000apples", "red apples"],
    ["a lone surrogate becomes U+FFFD", "apple \ud800", "apple \ufffd"],
  ])("%s", async (_, content, text) => {
    const { generator } = await serve(says(content));

    expect((await generator.generate(PROMPT, never)).trim()).toBe(text);
  });

  test("queries go before the contexts of chunks", async () => {
    const order: string[] = [];
    const { generator } = await serve(
      ({ body }, response, call) => {
        order.push((body as { messages: { content: string }[] }).messages[1]?.content ?? "");
        setTimeout(() => says("x")({ path: "", authorization: undefined, body }, response, call), 30);
      },
      { concurrency: 1 },
    );
    const ask = (user: string, kind: Prompt["kind"]) => generator.generate({ ...PROMPT, user, kind }, never);

    await Promise.all([ask("d1", "document"), ask("d2", "document"), ask("q", "query")]);

    expect(order).toEqual(["d1", "q", "d2"]);
  });
});

describe("a server that answers wrongly", () => {
  const wrong: readonly (readonly [string, Answer<unknown>])[] = [
    ...WRONG_ANSWERS,
    ["no choices", (_, response) => json(response, { choices: [] })],
    ["a refusal", (_, response) => json(response, { choices: [{ message: { content: null, refusal: "no" } }] })],
    ["a message of parts", says([{ type: "text", text: "x" }])],
    ["a blank message", says(" \n")],
    ["thoughts alone", says("<think>apples</think>\n")],
    ["thoughts that were cut off", says("<think>apples are")],
  ];

  test.each(wrong)("%s is -32010, not retryable, and is asked once", async (_, answer) => {
    const { generator, received } = await serve(answer, { retries: 3 });

    const error = await failureOf(generator.generate(PROMPT, never));

    expect(error.code).toBe(-32010);
    expect(error.data).toEqual({ retryable: false, detail: "the text generator gave no usable answer" });
    expect(received).toHaveLength(1);
    expectNoSecrets(error, [KEY, TEXT]);
  });
});

describe("a server that is not well", () => {
  test.each(FLAKY_ANSWERS)("%s once is not noticed by the caller", async (_, answer) => {
    const { generator, received } = await serve(
      (request, response, call) => (call === 1 ? answer : says("x"))(request, response, call),
      { retries: 1, timeoutMs: 1_000 },
    );

    expect(await generator.generate(PROMPT, never)).toBe("x");
    expect(received).toHaveLength(2);
  });

  test.each(FLAKY_ANSWERS)("%s every time is -32010, retryable", async (_, answer) => {
    const { generator } = await serve(answer, { timeoutMs: 1_000 });

    const error = await failureOf(generator.generate(PROMPT, never));

    expect(error.code).toBe(-32010);
    expect(error.data.retryable).toBe(true);
    expectNoSecrets(error, [KEY, TEXT]);
  });

  test("no server at all is -32010, retryable", async () => {
    const gone = await testModel(() => {});
    await gone.close();

    expect((await failureOf(generatorAt(gone.url).generate(PROMPT, never))).data.retryable).toBe(true);
  });
});

test("the end of the caller ends the request to the server", async () => {
  const caller = new AbortController();
  const reason = new Error("the caller went away");
  const closed = Promise.withResolvers<void>();
  const { generator } = await serve(
    (_, response) => {
      response.on("close", () => closed.resolve());
      caller.abort(reason);
    },
    { timeoutMs: 60_000 },
  );

  await expect(generator.generate(PROMPT, caller.signal)).rejects.toBe(reason);
  await closed.promise;
});
