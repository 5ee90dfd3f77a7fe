import { jsonSchema, type Tool, tool } from "ai";
import type { AgentTool } from "../agent-tools.ts";
import type { Citation } from "../render-hits.ts";
import { answerFramework } from "./answer-model.ts";

/** Tools for Vercel's AI SDK. */

/** `text` is what the model reads; `citations` are for whoever shows its answer. */
export interface AiSdkToolOutput {
  readonly text: string;
  readonly citations: readonly Citation[];
}

/** For `generateText({ tools })` and its like. The SDK's abort signal ends the call. */
export const toAiSdkTools = (tools: readonly AgentTool[]): Record<string, Tool<unknown, AiSdkToolOutput>> =>
  Object.fromEntries(tools.map((one) => [one.name, toAiSdkTool(one)]));

const toAiSdkTool = (one: AgentTool) =>
  tool({
    description: one.description,
    // Without a validator of its own: the tool reads its arguments, and leaves out what the model may not say.
    inputSchema: jsonSchema<unknown>(structuredClone(one.parameters) as Parameters<typeof jsonSchema>[0]),
    async execute(input: unknown, { abortSignal }): Promise<AiSdkToolOutput> {
      const told = await answerFramework(one, input, abortSignal === undefined ? {} : { signal: abortSignal });
      return { text: told.text, citations: told.isError ? [] : told.answer.citations };
    },
    toModelOutput: ({ output }) => ({ type: "text", value: output.text }),
  });
