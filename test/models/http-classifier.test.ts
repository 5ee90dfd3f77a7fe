import { describe, expect, onTestFinished, test } from "vitest";
import { type ClassifierConfig, httpClassifier } from "../../src/models/http-classifier.ts";
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
  readonly inputs: readonly (readonly string[])[];
  readonly truncate: boolean;
}

const KEY = "sk-secret-of-the-test";
const TEXT = "a document nobody else may read";
const never = new AbortController().signal;

function classifierAt(url: string, settings: Partial<ClassifierConfig> = {}) {
  const classifier = httpClassifier({
    url,
    apiKey: KEY,
    labels: ["INJECTION", "JAILBREAK"],
    threshold: 0.5,
    batch: 32,
    windowCharacters: 50,
    onFailure: "fail",
    concurrency: 2,
    timeoutMs: 2_000,
    retries: 0,
    ...settings,
  });
  onTestFinished(() => classifier.close());
  return classifier;
}

async function serve(answer: Answer<Body>, settings: Partial<ClassifierConfig> = {}) {
  const model = await testModel(answer);
  return { classifier: classifierAt(model.url, settings), received: model.received };
}

/** As a model with three labels would answer, likeliest first. */
const judged = (injection: number, jailbreak = 0) =>
  [
    { score: injection, label: "INJECTION" },
    { score: jailbreak, label: "JAILBREAK" },
    { score: 1 - injection - jailbreak, label: "BENIGN" },
  ].sort((a, b) => b.score - a.score);
const finds =
  (word: string): Answer<Body> =>
  ({ body }, response) =>
    json(
      response,
      body.inputs.map(([text = ""]) => judged(text.includes(word) ? 0.9 : 0.1)),
    );

describe("a server that behaves", () => {
  test("gets each text as a list of its own and is told to cut nothing", async () => {
    const { classifier, received } = await serve(finds("evil"));

    expect(await classifier.suspects(["good", "so evil", "fine"], never)).toEqual([false, true, false]);
    expect(received).toEqual([
      {
        path: "/predict",
        authorization: `Bearer ${KEY}`,
        body: { inputs: [["good"], ["so evil"], ["fine"]], truncate: false },
      },
    ]);
  });

  test.each([
    ["a label at the threshold", judged(0.5), true],
    ["a label just below it", judged(0.499), false],
    ["the second label", judged(0.1, 0.8), true],
    ["two labels that only together reach it", judged(0.4, 0.4), false],
    ["a probability that rounding took over 1", [{ label: "INJECTION", score: 1.0000001 }], true],
  ])("suspects by %s: %o is %s", async (_, predictions, suspected) => {
    const { classifier } = await serve((_request, response) => json(response, [predictions]));

    expect(await classifier.suspects([TEXT], never)).toEqual([suspected]);
  });

  test("reads a long text to its end, in windows that overlap, whatever stands across a cut", async () => {
    const { classifier, received } = await serve(finds("evil"));
    for (const at of [0, 40, 47, 48, 49, 88, 126]) {
      const text = `${"x".repeat(at)}evil`.padEnd(130, "y");
      expect(await classifier.suspects([text], never)).toEqual([true]);
    }
    // 130 characters in windows of 50, each beginning 40 after the one before.
    expect(received.at(-1)?.body.inputs.map(([text = ""]) => text.length)).toEqual([50, 50, 50]);
    const whole = received.at(-1)?.body.inputs.flat() ?? [];
    expect(whole[0]?.slice(40)).toBe(whole[1]?.slice(0, 10));
    expect(whole[2]).toBe(`${"x".repeat(46)}evil`);
  });

  test("gets a text of just a window's length in one", async () => {
    const { classifier, received } = await serve(finds("evil"));

    await classifier.suspects(["x".repeat(50)], never);

    expect(received[0]?.body.inputs).toEqual([["x".repeat(50)]]);
  });

  test("gets no blank text, and nothing at all when there is nothing else", async () => {
    const { classifier, received } = await serve(finds("evil"));

    expect(await classifier.suspects(["", " \n"], never)).toEqual([false, false]);
    expect(received).toEqual([]);
    expect(await classifier.suspects([" ", "evil"], never)).toEqual([false, true]);
    expect(received[0]?.body.inputs).toEqual([["evil"]]);
  });

  test("gets batches, no more of them at a time than configured", async () => {
    const held = heldUntil(2);
    const { classifier, received } = await serve(
      (request, response, call) => held.take(() => finds("evil")(request, response, call)),
      { batch: 2, timeoutMs: 60_000 },
    );

    const texts = Array.from({ length: 9 }, (_, index) => (index === 7 ? "evil" : `text ${index}`));
    expect(await classifier.suspects(texts, never)).toEqual(texts.map((text) => text === "evil"));
    expect(received.map(({ body }) => body.inputs.length)).toEqual([2, 2, 2, 2, 1]);
    expect(held.most()).toBe(2);
  });
});

describe("a server that does not", () => {
  const wrong: readonly (readonly [string, unknown])[] = [
    ["none of the labels", [[{ label: "LABEL_1", score: 0.9 }]]],
    ["a label in another case", [[{ label: "injection", score: 0.9 }]]],
    ["no labels", [[]]],
    ["too few lists", []],
    ["too many lists", [judged(0.1), judged(0.1)]],
    ["one list where a batch was sent", judged(0.1)],
    ["a score that is no probability", [[{ label: "INJECTION", score: -3.2 }]]],
    ["a score above 1", [[{ label: "INJECTION", score: 4.1 }]]],
    ["a score of null, as NaN is written", [[{ label: "INJECTION", score: null }]]],
  ];
  test.each([
    ...WRONG_ANSWERS,
    ...wrong.map(
      ([name, answer]) => [name, (_, response) => json(response, answer)] as readonly [string, Answer<unknown>],
    ),
  ])("that answers %s is out of order: -32010, asked once", async (_, answer) => {
    const { classifier, received } = await serve(answer, { retries: 2 });

    const error = await failureOf(classifier.suspects([TEXT], never));

    expect(error.code).toBe(-32010);
    expect(error.data).toEqual({ retryable: false, detail: "the classifier gave no usable answer" });
    expectNoSecrets(error, [KEY, TEXT]);
    expect(received).toHaveLength(1);
  });

  test.each(FLAKY_ANSWERS)("that fails with %s is asked again", async (_, answer) => {
    const { classifier } = await serve(
      (request, response, call) =>
        call === 1 ? answer(request, response, call) : finds("evil")(request, response, call),
      { retries: 1, timeoutMs: 1_000 },
    );

    expect(await classifier.suspects(["evil"], never)).toEqual([true]);
  });

  test("listen is -32010, retryable", async () => {
    const model = await testModel(() => {});
    await model.close();

    const error = await failureOf(classifierAt(model.url).suspects([TEXT], never));

    expect(error).toMatchObject({ code: -32010, data: { retryable: true } });
    expectNoSecrets(error, [KEY, TEXT]);
  });

  test("answer ends at once when the caller leaves, and so do its requests", async () => {
    const gone = new AbortController();
    let closed: (() => void) | undefined;
    const ended = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const { classifier } = await serve((_, response) => {
      response.on("close", () => closed?.());
      gone.abort(new Error("the caller left"));
    });

    await expect(classifier.suspects([TEXT], gone.signal)).rejects.toThrow("the caller left");
    await ended;
  });
});
