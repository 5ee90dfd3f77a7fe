import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { answerToolUses, toAnthropicTools } from "../../../src/client/adapters/anthropic.ts";
import {
  answerFunctionCalls,
  answerToolCalls,
  toChatTools,
  toResponseTools,
} from "../../../src/client/adapters/openai.ts";
import { UnresolvedParamError } from "../../../src/client/index.ts";
import { expectHeld, HIJACK, type HijackedAgent, startHijackedAgent } from "./hijacked-agent.ts";
import { type ScriptedModel, startScriptedModel } from "./scripted-model.ts";

let agent: HijackedAgent;
beforeAll(async () => {
  agent = await startHijackedAgent();
});
afterAll(() => agent.close());
beforeEach(() => {
  agent.events.length = 0;
  agent.tenant = "acme";
});

const models: ScriptedModel[] = [];
afterEach(async () => {
  await Promise.all(models.splice(0).map((model) => model.close()));
});
async function script(...answers: object[]): Promise<ScriptedModel> {
  const model = await startScriptedModel(answers);
  models.push(model);
  return model;
}

const FINAL = "Acme refunds within thirty days [1].";

describe("OpenAI, Chat Completions", () => {
  const turn = (message: object, finish_reason: string) => ({
    ...{ id: "c", object: "chat.completion", created: 1, model: "m" },
    choices: [{ index: 0, finish_reason, logprobs: null, message: { role: "assistant", content: null, ...message } }],
  });
  const callOf = (id: string, name: string, args: string) => ({
    ...{ id, type: "function" as const, function: { name, arguments: args } },
  });

  const messagesOf = (request: ScriptedModel["requests"][number] | undefined) =>
    (request?.body.messages as { role: string; tool_call_id: string; content: string }[] | undefined) ?? [];

  test("a loop over tools ends with the model's answer, and no request to it names the tenant's param", async () => {
    const model = await script(
      turn(
        {
          tool_calls: [
            callOf("1", "search", JSON.stringify(HIJACK)),
            callOf("2", "fetch_document", '{"id":"refunds"}'),
          ],
        },
        "tool_calls",
      ),
      turn({ content: FINAL }, "stop"),
    );
    const openai = new OpenAI({ apiKey: "k", baseURL: model.url, maxRetries: 0 });
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "When do we refund?" }];

    let last: OpenAI.ChatCompletionMessage | undefined;
    do {
      const tools = toChatTools(agent.tools);
      last = (await openai.chat.completions.create({ model: "m", messages, tools })).choices[0]?.message;
      if (last !== undefined) messages.push(last, ...(await answerToolCalls(agent.tools, last.tool_calls ?? [])));
    } while (last?.tool_calls !== undefined);

    expect(last?.content).toBe(FINAL);
    const [first, second] = model.requests;
    expect(JSON.stringify(first?.body.tools)).not.toMatch(/tenant/i);
    expect(first?.body.tools).toMatchObject([
      { type: "function", function: { name: "search", parameters: { type: "object", required: ["query"] } } },
      { type: "function", function: { name: "fetch_document" } },
    ]);
    const told = messagesOf(second).slice(-2);
    expect(told.map(({ role, tool_call_id }) => [role, tool_call_id])).toEqual([
      ["tool", "1"],
      ["tool", "2"],
    ]);
    for (const { content } of told) expectHeld(agent, content);
  });

  test("what the model did wrong is told to it, so that the loop goes on", async () => {
    const calls = [
      callOf("1", "search", "{"),
      callOf("2", "search", '{"query":"q","year":"2020"}'),
      callOf("3", "drop_tables", "{}"),
      callOf("4", "fetch_document", '{"id":"nowhere"}'),
    ];
    expect((await answerToolCalls(agent.tools, calls)).map(({ content }) => content)).toEqual([
      "Not called: the arguments must be a JSON object.",
      "Not called: year must be an integer.",
      "There is no such tool. The tools are search, fetch_document.",
      expect.stringContaining("The server refused: "),
    ]);
  });

  test("a bound param without a value is the host's to know, and the loop ends", async () => {
    agent.tenant = undefined;
    const answers = answerToolCalls(agent.tools, [callOf("1", "search", JSON.stringify(HIJACK))]);
    await expect(answers).rejects.toBeInstanceOf(UnresolvedParamError);
  });
});

test("OpenAI, Responses: a loop over tools ends with the model's answer", async () => {
  const response = (output: object[]) => ({ id: "r", object: "response", status: "completed", model: "m", output });
  const model = await script(
    response([
      {
        type: "function_call",
        id: "f",
        call_id: "1",
        name: "search",
        arguments: JSON.stringify(HIJACK),
        status: "completed",
      },
    ]),
    response([
      {
        ...{ type: "message", id: "m", role: "assistant", status: "completed" },
        content: [{ type: "output_text", text: FINAL, annotations: [] }],
      },
    ]),
  );
  const openai = new OpenAI({ apiKey: "k", baseURL: model.url, maxRetries: 0 });
  const input: OpenAI.Responses.ResponseInputItem[] = [{ role: "user", content: "When do we refund?" }];

  let last: OpenAI.Responses.Response;
  let answers: OpenAI.Responses.ResponseInputItem[];
  do {
    last = await openai.responses.create({ model: "m", input, tools: toResponseTools(agent.tools) });
    answers = await answerFunctionCalls(agent.tools, last.output);
    for (const item of last.output) if (item.type === "function_call") input.push(item);
    input.push(...answers);
  } while (answers.length > 0);

  expect(last.output_text).toBe(FINAL);
  expect(JSON.stringify(model.requests[0]?.body.tools)).not.toMatch(/tenant/i);
  const told = (model.requests[1]?.body.input as { type: string; output: string }[] | undefined)?.at(-1);
  expect(told?.type).toBe("function_call_output");
  expectHeld(agent, told?.output);
});

describe("Anthropic", () => {
  const turn = (content: object[], stop_reason: string) => ({
    ...{ id: "m", type: "message", role: "assistant", model: "m", stop_sequence: null, stop_reason, content },
    usage: { input_tokens: 1, output_tokens: 1 },
  });

  test("a loop over tools ends with the model's answer, and no request to it names the tenant's param", async () => {
    const model = await script(
      turn(
        [
          { type: "text", text: "I look." },
          { type: "tool_use", id: "1", name: "search", input: HIJACK },
          { type: "tool_use", id: "2", name: "search", input: {} },
        ],
        "tool_use",
      ),
      turn([{ type: "text", text: FINAL }], "end_turn"),
    );
    const anthropic = new Anthropic({ apiKey: "k", baseURL: model.url, maxRetries: 0 });
    const messages: Anthropic.MessageParam[] = [{ role: "user", content: "When do we refund?" }];

    let last: Anthropic.Message;
    do {
      last = await anthropic.messages.create({
        model: "m",
        max_tokens: 100,
        messages,
        tools: toAnthropicTools(agent.tools),
      });
      messages.push({ role: "assistant", content: last.content });
      messages.push({ role: "user", content: await answerToolUses(agent.tools, last.content) });
    } while (last.stop_reason === "tool_use");

    expect(last.content).toMatchObject([{ type: "text", text: FINAL }]);
    expect(JSON.stringify(model.requests[0]?.body.tools)).not.toMatch(/tenant/i);
    expect(model.requests[0]?.body.tools).toMatchObject([
      { name: "search", input_schema: { type: "object", required: ["query"] } },
      { name: "fetch_document" },
    ]);
    const [found, refused] =
      (model.requests[1]?.body.messages as { content: { content: string }[] }[] | undefined)?.at(-1)?.content ?? [];
    expectHeld(agent, found?.content);
    expect(refused).toEqual({
      ...{ type: "tool_result", tool_use_id: "2", is_error: true, content: "Not called: query is missing." },
    });
  });

  test("a bound param without a value is the host's to know, and the loop ends", async () => {
    agent.tenant = undefined;
    const block = { type: "tool_use", id: "1", name: "search", input: HIJACK, caller: { type: "direct" } } as const;
    await expect(answerToolUses(agent.tools, [block])).rejects.toBeInstanceOf(UnresolvedParamError);
  });
});
