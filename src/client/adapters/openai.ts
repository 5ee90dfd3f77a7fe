import type {
  ChatCompletionFunctionTool,
  ChatCompletionMessageToolCall,
  ChatCompletionToolMessageParam,
} from "openai/resources/chat/completions";
import type { FunctionTool, ResponseInputItem, ResponseOutputItem } from "openai/resources/responses/responses";
import type { AgentTool } from "../agent-tools.ts";
import type { CallOptions } from "../caller.ts";
import { answerModel } from "./answer-model.ts";

/** Tools for OpenAI's models, in Chat Completions and in Responses. Takes only types from the package. */

const functionOf = ({ name, description, parameters }: AgentTool) => ({
  ...{ name, description },
  parameters: structuredClone(parameters) as unknown as Record<string, unknown>,
});

/** For `chat.completions.create({ tools })`. */
export const toChatTools = (tools: readonly AgentTool[]): ChatCompletionFunctionTool[] =>
  tools.map((tool) => ({ type: "function", function: functionOf(tool) }));

/** Answers each of `message.tool_calls`, for the next request's messages. */
export const answerToolCalls = (
  tools: readonly AgentTool[],
  calls: readonly ChatCompletionMessageToolCall[],
  options: CallOptions = {},
): Promise<ChatCompletionToolMessageParam[]> =>
  Promise.all(
    calls.map(async (call) => {
      const [name, args] = call.type === "function" ? [call.function.name, call.function.arguments] : ["", ""];
      const { text } = await answerModel(tools, name, args, options);
      return { role: "tool", tool_call_id: call.id, content: text };
    }),
  );

/** For `responses.create({ tools })`. */
export const toResponseTools = (tools: readonly AgentTool[]): FunctionTool[] =>
  tools.map((tool) => ({ type: "function", strict: false, ...functionOf(tool) }));

/** Answers each function call of `response.output`, for the next request's input. */
export const answerFunctionCalls = (
  tools: readonly AgentTool[],
  output: readonly ResponseOutputItem[],
  options: CallOptions = {},
): Promise<ResponseInputItem.FunctionCallOutput[]> =>
  Promise.all(
    output
      .filter((item) => item.type === "function_call")
      .map(async (call) => {
        const { text } = await answerModel(tools, call.name, call.arguments, options);
        return { type: "function_call_output", call_id: call.call_id, output: text };
      }),
  );
