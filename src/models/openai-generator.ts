import { z } from "zod";
import type { Config } from "../config/config.ts";
import { ModelServer } from "./model-server.ts";
import { ProviderFailure } from "./provider-failure.ts";
import type { Prompt, TextGenerator } from "./text-generator.ts";

export type GeneratorConfig = NonNullable<Config["models"]["generator"]>;

const MAX_RESPONSE_BYTES = 1_048_576;

/**
 * The answers of any server that speaks OpenAI's `POST /v1/chat/completions`.
 */
export function openAiGenerator(config: GeneratorConfig): TextGenerator {
  const kind = { path: "chat/completions", name: "the text generator" };
  const server = new ModelServer<string>(config, kind);
  return {
    identity: config.model,
    async generate(prompt, signal, party) {
      const request = { body: bodyOf(prompt, config), maxResponseBytes: MAX_RESPONSE_BYTES, parse: parseText };
      return (await server.ask(prompt.kind, [request], signal, party)).join("");
    },
    close: async () => server.close(),
  };
}

const bodyOf = ({ system, user, maxTokens }: Prompt, config: GeneratorConfig) => ({
  model: config.model,
  messages: [
    { role: "system", content: system },
    { role: "user", content: user },
  ],
  [config.maxTokensName]: maxTokens + config.reasoningTokens,
  ...(config.temperature === null ? {} : { temperature: config.temperature }),
});

const answerSchema = z.object({
  choices: z.tuple([z.object({ message: z.object({ content: z.string() }) })], z.unknown()),
});

/** What models that think aloud put before their answer. */
const THOUGHTS = /^\s*<think>[\s\S]*?<\/think>/;

/** @throws ProviderFailure when there is no text, as when a model refuses or spends all its tokens on thinking */
function parseText(answer: unknown): string {
  const parsed = answerSchema.safeParse(answer);
  if (!parsed.success) throw unusable("no message");
  const [{ message }] = parsed.data.choices;
  const text = message.content.replace(THOUGHTS, "").replaceAll("\u0000", " ").toWellFormed();
  if (text.trim() === "" || /^\s*<think>/.test(text)) throw unusable("no text");
  return text;
}

const unusable = (what: string) => new ProviderFailure(`answered ${what}`, { temporary: false });
