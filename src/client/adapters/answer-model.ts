import { ErrorCode } from "../../protocol/errors.ts";
import type { AgentTool } from "../agent-tools.ts";
import type { CallOptions } from "../caller.ts";
import { RcpCallError } from "../errors.ts";
import type { ToolAnswer } from "../tool-definitions.ts";
import { ToolInputError } from "../tool-params.ts";
import { quoted } from "../visible-text.ts";

/** What a model is told of a call that it asked for. */
export type ModelAnswer =
  | { readonly isError: false; readonly text: string; readonly answer: ToolAnswer }
  | { readonly isError: true; readonly text: string };

const MAX_DETAIL_CHARACTERS = 300;

/**
 * Calls a tool as a model asked for it. What the model did wrong is told to it, so that it can do better; any other failure is the
 * host's, and rises: a bound param without a value, a server that is away.
 *
 * @param args as an object, or as the JSON text that the model wrote
 */
export async function answerModel(
  tools: readonly AgentTool[],
  name: string,
  args: unknown,
  options: CallOptions,
): Promise<ModelAnswer> {
  const tool = tools.find((one) => one.name === name);
  if (tool === undefined)
    return { isError: true, text: `There is no such tool. The tools are ${tools.map((one) => one.name).join(", ")}.` };
  try {
    const answer = await tool.call(typeof args === "string" ? parseArguments(args) : args, options);
    return { isError: false, text: answer.text, answer };
  } catch (error) {
    const text = correction(error);
    if (text === undefined) throw error;
    return { isError: true, text };
  }
}

function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ToolInputError("the arguments must be a JSON object");
  }
}

/** @returns undefined for what is not the model's doing */
function correction(error: unknown): string | undefined {
  if (error instanceof ToolInputError) return `Not called: ${error.message}.`;
  if (!(error instanceof RcpCallError)) return undefined;
  if (error.code !== ErrorCode.InvalidParams && error.code !== ErrorCode.NotFound) return undefined;
  const { field, detail } = error.data;
  const said = [error.message, field, detail].filter((part) => part !== undefined).join(": ");
  return `The server refused: ${quoted(said, MAX_DETAIL_CHARACTERS)}.`;
}

/**
 * The same for a framework that shows a model every error of a tool: of a failure that is the host's, the model gets to read that
 * there was one. The failure itself is the `cause`.
 */
export async function answerFramework(tool: AgentTool, args: unknown, options: CallOptions): Promise<ModelAnswer> {
  try {
    return await answerModel([tool], tool.name, args, options);
  } catch (cause) {
    throw new Error("the tool is not available now", { cause });
  }
}
