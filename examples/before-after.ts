import { createAgentTools } from "../src/client/index.ts"; // "pgrcp/client"
import { client, token, url, verified } from "./connection.ts";

/**
 * A model that was talked into naming another tenant, before and after. Before: `tenantId` is a parameter that it may fill, and the server is all that
 * stands in its way. After: a resolver binds it, so the model has nothing to fill, and what it says all the same goes nowhere.
 */

const hijackedArgs = { query: "How are tenants kept apart?", k: 2, tenantId: "rival" };

interface Tool {
  readonly name: string;
  readonly url: string;
  readonly params: readonly { readonly name: string }[];
}

// Before: the manifest of the REST Connector Protocol, handed to a model as it is.
const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
const manifest = await fetch(url.replace(/\/rcp$/, "/manifest"), { headers });
const { tools } = (await manifest.json()) as { readonly tools: readonly Tool[] };
const retrieve = tools.find(({ name }) => name === "retrieve");
if (retrieve === undefined) throw new Error("the server has no REST door");
console.log("before, the model may fill:", retrieve.params.map(({ name }) => name).join(", "));
const refused = await fetch(retrieve.url, { method: "POST", headers, body: JSON.stringify(hijackedArgs) });
console.log("before, hijacked:", refused.status, await refused.text());

// After: the same arguments, and a value that the host has verified.
const [search] = await createAgentTools({
  client,
  context: verified,
  resolvers: { tenantId: ({ tenant }) => tenant },
  logger: (event) => console.log("log:", JSON.stringify(event)),
});
console.log("after, the model may fill:", search?.exposedParams.map(({ name }) => name).join(", "));
const answer = await search?.call(hijackedArgs);
console.log("after, hijacked:", answer?.citations.map(({ docId }) => docId).join(", "));

// Nobody verified, nothing sent.
const [unbound] = await createAgentTools({
  client,
  context: { tenant: "" },
  resolvers: { tenantId: (who) => who.tenant },
});
await unbound?.call(hijackedArgs).catch((error: unknown) => console.log("unverified:", (error as Error).message));
