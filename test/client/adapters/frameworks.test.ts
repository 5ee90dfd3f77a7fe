import { AIMessage, type BaseMessage, HumanMessage, isAIMessage, ToolMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import { generateText, isStepCount } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { toAiSdkTools } from "../../../src/client/adapters/ai-sdk.ts";
import { RcpRetriever, toLangChainTools } from "../../../src/client/adapters/langchain.ts";
import type { CallOptions } from "../../../src/client/index.ts";
import { eq, UnresolvedParamError } from "../../../src/client/index.ts";
import { expectHeld, HIJACK, type HijackedAgent, startHijackedAgent } from "./hijacked-agent.ts";

let agent: HijackedAgent;
beforeAll(async () => {
  agent = await startHijackedAgent();
});
afterAll(() => agent.close());
beforeEach(() => {
  agent.events.length = 0;
  agent.tenant = "acme";
});

const FINAL = "Acme refunds within thirty days [1].";

describe("the AI SDK", () => {
  const tokens = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 };
  const usage = { inputTokens: tokens, outputTokens: { total: 1, text: 1, reasoning: 0 } };
  const toolCall = (toolName: string, input: object) => ({
    content: [{ type: "tool-call" as const, toolCallId: "1", toolName, input: JSON.stringify(input) }],
    finishReason: { unified: "tool-calls" as const, raw: undefined },
    ...{ usage, warnings: [] },
  });
  const final = {
    content: [{ type: "text" as const, text: FINAL }],
    finishReason: { unified: "stop" as const, raw: undefined },
    ...{ usage, warnings: [] },
  };
  const run = (model: MockLanguageModelV4) =>
    generateText({ model, tools: toAiSdkTools(agent.tools), stopWhen: isStepCount(3), prompt: "When do we refund?" });
  const toldOf = (model: MockLanguageModelV4) => JSON.stringify(model.doGenerateCalls.at(-1)?.prompt.at(-1));

  test("generateText runs the tools to the model's answer, and the model never sees the tenant's param", async () => {
    const model = new MockLanguageModelV4({ doGenerate: [toolCall("search", HIJACK), final] });

    const result = await run(model);

    expect(result.text).toBe(FINAL);
    expect(JSON.stringify(model.doGenerateCalls[0]?.tools)).not.toMatch(/tenant/i);
    expect(model.doGenerateCalls[0]?.tools).toMatchObject([
      { type: "function", name: "search", inputSchema: { type: "object", required: ["query"] } },
      { type: "function", name: "fetch_document" },
    ]);
    const [done] = result.steps[0]?.toolResults ?? [];
    const output = done?.output as { text: string; citations: readonly { docId: string }[] } | undefined;
    expectHeld(agent, output?.text);
    expect(output?.citations.map(({ docId }) => docId)).toContain("refunds");
    expect(toldOf(model)).toContain('"type":"text"');
    expect(toldOf(model)).toContain("| Acme refunds within thirty days.");
  });

  test("what the model did wrong is told to it", async () => {
    const model = new MockLanguageModelV4({ doGenerate: [toolCall("search", { k: 2 }), final] });
    await run(model);
    expect(toldOf(model)).toContain("Not called: query is missing.");
  });

  test("of a bound param without a value the model learns nothing, not even its name", async () => {
    agent.tenant = undefined;
    const model = new MockLanguageModelV4({ doGenerate: [toolCall("search", HIJACK), final] });

    const result = await run(model);

    expect(toldOf(model)).toContain("the tool is not available now");
    expect(toldOf(model)).not.toMatch(/tenant/i);
    const failed = result.steps[0]?.content.find((part) => part.type === "tool-error");
    expect((failed?.error as Error | undefined)?.cause).toBeInstanceOf(UnresolvedParamError);
    expect(agent.events).toContainEqual({ kind: "unresolved", tool: "search", param: "tenantId" });
  });
});

describe("LangChain", () => {
  test("a loop over tools ends with the model's answer, and the model never sees the tenant's param", async () => {
    const tools = toLangChainTools(agent.tools);
    const model = fakeModel()
      .respondWithTools([{ name: "search", args: HIJACK, id: "1" }])
      .respond(new AIMessage(FINAL));
    const bound = model.bindTools(tools);
    const messages: BaseMessage[] = [new HumanMessage("When do we refund?")];

    let last: BaseMessage;
    do {
      last = await bound.invoke(messages);
      messages.push(last);
      for (const call of (isAIMessage(last) && last.tool_calls) || [])
        messages.push(await tools.find(({ name }) => name === call.name)?.invoke({ ...call, type: "tool_call" }));
    } while (messages.at(-1) !== last);

    expect(last.text).toBe(FINAL);
    expect(JSON.stringify(tools.map((tool) => convertToOpenAITool(tool)))).not.toMatch(/tenant/i);
    const [told] = messages.filter((message) => ToolMessage.isInstance(message));
    expectHeld(agent, told?.content);
    expect(told).toMatchObject({ tool_call_id: "1", artifact: { result: { hits: expect.any(Array) } } });
  });

  test("of a bound param without a value the model learns nothing, not even its name", async () => {
    agent.tenant = undefined;
    const [search] = toLangChainTools(agent.tools);
    const error = await search?.invoke({ query: "q" }).catch((e: unknown) => e);
    expect(String(error)).toBe("Error: the tool is not available now");
    expect(error.cause).toBeInstanceOf(UnresolvedParamError);
  });

  test("a signal ends the call", async () => {
    const [tool] = agent.tools;
    if (tool === undefined) throw new Error("there is a search");
    const stop = new AbortController();
    let heard: unknown;
    const call = (_args: unknown, { signal }: CallOptions = {}) =>
      new Promise<never>((_resolve, reject) => {
        signal?.addEventListener("abort", () => {
          heard = signal.reason;
          reject(signal.reason);
        });
        stop.abort(new Error("enough"));
      });
    const [search] = toLangChainTools([{ ...tool, call }]);
    await expect(search?.invoke({ query: "q" }, { signal: stop.signal })).rejects.toThrow();
    expect(heard).toEqual(new Error("enough"));
  });

  test("the retriever gives passages as documents, within its params", async () => {
    const client = await agent.pgrcp.client("acme");
    const retriever = new RcpRetriever({ client, params: { k: 5, filter: eq("team", "sales") } });

    const documents = await retriever.invoke("refund day");

    expect(documents).toHaveLength(1);
    expect(documents[0]).toMatchObject({
      id: "refunds",
      pageContent: "Acme refunds within thirty days.",
      metadata: {
        docId: "refunds",
        title: "Refunds",
        trust: "untrusted",
        injectionSuspected: false,
        meta: { team: "sales" },
      },
    });
    expect(JSON.stringify(retriever)).not.toContain("127.0.0.1");
  });

  test("the retriever leaves out what it is told to", async () => {
    const client = await agent.pgrcp.client("acme");
    expect(await new RcpRetriever({ client, untrusted: "leave-out" }).invoke("refund day")).toEqual([]);
  });
});
