import type { ContentBlock, Tool, ToolResultBlockParam } from "@anthropic-ai/sdk/resources/messages";
import type { AgentTool } from "../agent-tools.ts";
import type { CallOptions } from "../caller.ts";
import { answerModel } from "./answer-model.ts";

/** Tools for Anthropic's models. Takes only types from the package. */

/** For `messages.create({ tools })`. */
export const toAnthropicTools = (tools: readonly AgentTool[]): Tool[] =>
  tools.map(({ name, description, parameters }) => {
    const { properties, required, additionalProperties } = structuredClone(parameters);
    return {
      ...{ name, description },
      input_schema: { type: "object", properties, required: [...required], additionalProperties },
    };
  });

/** Answers each tool use in `message.content`, for the next request's user message. */
export const answerToolUses = (
  tools: readonly AgentTool[],
  content: readonly ContentBlock[],
  options: CallOptions = {},
): Promise<ToolResultBlockParam[]> =>
  Promise.all(
    content
      .filter((block) => block.type === "tool_use")
      .map(async ({ id, name, input }) => {
        const { text, isError } = await answerModel(tools, name, input, options);
        return { type: "tool_result", tool_use_id: id, content: text, ...(isError && { is_error: true }) };
      }),
  );
