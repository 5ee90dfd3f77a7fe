import OpenAI from "openai";
import { answerToolCalls, toChatTools } from "../src/client/adapters/openai.ts"; // "pgrcp/client/openai"
import { createAgentTools } from "../src/client/index.ts"; // "pgrcp/client"
import { client, verified } from "./connection.ts";
import { HIJACKED, startScriptedModel } from "./scripted-model.ts";

/** A loop with OpenAI's client. The model is scripted, and was talked into naming another tenant: it is ignored, and logged. */

const model = await startScriptedModel(HIJACKED);
const openai = new OpenAI({ baseURL: model.url, apiKey: "none" });

const tools = await createAgentTools({
  client,
  context: verified,
  resolvers: { tenantId: ({ tenant }) => tenant },
  logger: (event) => console.log("log:", JSON.stringify(event)),
});
console.log("the model may fill:", tools[0]?.exposedParams.map(({ name }) => name).join(", "));

const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "How are tenants kept apart? Cite." }];
for (let turn = 0; turn < 5; turn += 1) {
  const completion = await openai.chat.completions.create({ model: "scripted", messages, tools: toChatTools(tools) });
  const message = completion.choices[0]?.message;
  if (message?.tool_calls === undefined) {
    console.log("answer:", message?.content);
    break;
  }
  console.log("the model asks:", JSON.stringify(message.tool_calls.map((call) => "function" in call && call.function)));
  const answers = await answerToolCalls(tools, message.tool_calls);
  console.log("it is told:", answers[0]?.content);
  messages.push(message, ...answers);
}
model.close();
