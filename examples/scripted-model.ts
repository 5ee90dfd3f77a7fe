import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";

/** What a stand-in says in one turn: text, or a call of a tool. */
export type Turn = { readonly content: string } | { readonly tool: string; readonly args: object };

/** What a model says that was talked into asking for another tenant's documents, and then answers. */
export const HIJACKED: readonly Turn[] = [
  { tool: "search", args: { query: "How are tenants kept apart?", k: 2, tenantId: "rival" } },
  { content: "By policies in the database and by the token [1]." },
];

/** A model's API on loopback that speaks OpenAI's Chat Completions and says one turn after the other. */
export async function startScriptedModel(turns: readonly Turn[]): Promise<{ url: string; close(): void }> {
  const left = turns.values();
  const server = http.createServer(async (request, response) => {
    for await (const _ of request);
    const turn = left.next().value ?? { content: "I have nothing to add." };
    const call = "tool" in turn && { name: turn.tool, arguments: JSON.stringify(turn.args) };
    const message = call
      ? { role: "assistant", content: null, tool_calls: [{ id: "call_1", type: "function", function: call }] }
      : { role: "assistant", ...turn };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: call ? "tool_calls" : "stop" }] }));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, close: () => server.close() };
}
