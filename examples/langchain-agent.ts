import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { RcpRetriever, toLangChainTools } from "../src/client/adapters/langchain.ts"; // "pgrcp/client/langchain"
import { createAgentTools } from "../src/client/index.ts"; // "pgrcp/client"
import { client, verified } from "./connection.ts";
import { HIJACKED } from "./scripted-model.ts";

/** An agent of LangChain's parts: a chat model with tools in a loop, and a retriever. The model is scripted. */

class ScriptedModel extends BaseChatModel {
  readonly #left = HIJACKED.values();
  _llmType() {
    return "scripted";
  }
  override bindTools() {
    return this;
  }
  async _generate() {
    const turn = this.#left.next().value ?? { content: "I have nothing to add." };
    const calls = "tool" in turn ? [{ id: "call_1", name: turn.tool, args: { ...turn.args } }] : [];
    const message = new AIMessage({ content: "content" in turn ? turn.content : "", tool_calls: calls });
    return { generations: [{ text: message.text, message }] };
  }
}

const retriever = new RcpRetriever({ client, params: { k: 2 } });
for (const { metadata } of await retriever.invoke("How are tenants kept apart?"))
  console.log("retrieved:", metadata.docId, metadata.trust);

const tools = toLangChainTools(
  await createAgentTools({
    client,
    context: verified,
    resolvers: { tenantId: ({ tenant }) => tenant },
    logger: (event) => console.log("log:", JSON.stringify(event)),
  }),
);
const model = new ScriptedModel({}).bindTools();
const messages: BaseMessage[] = [new HumanMessage("How are tenants kept apart? Cite.")];
for (let turn = 0; turn < 5; turn += 1) {
  const message = await model.invoke(messages);
  messages.push(message);
  if ((message.tool_calls ?? []).length === 0) {
    console.log("answer:", message.text);
    break;
  }
  for (const call of message.tool_calls ?? []) {
    const tool = tools.find(({ name }) => name === call.name);
    const answer = await tool?.invoke({ ...call, type: "tool_call" });
    console.log("it is told:", answer.content);
    messages.push(answer);
  }
}
