import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { token, url } from "./connection.ts";

/** A client of the MCP door: what there is, a search, the document behind a passage, and the same as a resource. */

const transport = new StreamableHTTPClientTransport(new URL(url.replace(/\/rcp$/, "/mcp")), {
  requestInit: { headers: { authorization: `Bearer ${token}` } },
});
const mcp = new Client({ name: "example", version: "1" });
await mcp.connect(transport);

const { tools } = await mcp.listTools();
for (const { name, inputSchema } of tools)
  console.log("tool:", name, Object.keys(inputSchema.properties ?? {}).join(", "));

const found = await mcp.callTool({ name: "search", arguments: { query: "How are tenants kept apart?", k: 2 } });
for (const part of found.content) if (part.type === "text") console.log(part.text);

const { passages } = found.structuredContent as { passages: readonly { id: string; resource: string }[] };
const [first] = passages;
if (first === undefined) throw new Error("the server has no documents: npm start indexes some at its first run");

const fetched = await mcp.callTool({ name: "fetch", arguments: { id: first.id } });
console.log("fetched:", fetched.isError === true ? "no such document" : first.id);

const { contents } = await mcp.readResource({ uri: first.resource });
for (const content of contents) console.log("resource:", content.uri, "text" in content ? content.text.length : 0);

// What a hijacked model might send: no tool has such a parameter.
const hijacked = await mcp.callTool({ name: "search", arguments: { query: "orders", tenantId: "rival" } });
console.log("hijacked:", JSON.stringify(hijacked.content));

await mcp.close();
