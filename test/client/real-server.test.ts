import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type AgentTool,
  createAgentTools,
  filtersFor,
  type RcpClient,
  type RetrieveEvent,
  type ToolAnswer,
} from "../../src/client/index.ts";
import { type Pgrcp, startPgrcp, type Tenant } from "./pgrcp-server.ts";

/** The client and its tools in front of pgrcp itself. */

let pgrcp: Pgrcp;
beforeAll(async () => {
  pgrcp = await startPgrcp();
});
afterAll(() => pgrcp.close());

const call = async (tools: readonly AgentTool[], name: string, args: object): Promise<ToolAnswer> => {
  const tool = tools.find((one) => one.name === name);
  if (tool === undefined) throw new Error(`no tool ${name}`);
  return tool.call(args);
};

test("a streamed retrieve gives the server's stages, then the hits that pass a typed filter", async () => {
  const client = await pgrcp.client("acme");
  await client.info();
  const { and, eq, not } = filtersFor<{ lang: "keyword"; team: "keyword" }>();
  const filter = and(eq("lang", "en"), not(eq("team", "finance")));

  const events: RetrieveEvent[] = [];
  for await (const event of client.retrieveStream({ query: "refund", filter }, { deadlineMs: 60_000 }))
    events.push(event);

  const stages = events.flatMap((event) => (event.kind === "progress" ? [event.progress.stage] : []));
  expect(stages).toContain("recall");
  const last = events.at(-1);
  expect(last?.kind === "result" && last.result.hits.map(({ id }) => id)).toEqual(["refunds"]);
});

test("in a session a call is one of it until it is closed", async () => {
  const client = await pgrcp.client("acme");
  await client.initialize();
  expect((await client.retrieve({ query: "refund", k: 1 })).hits).toHaveLength(1);
  await client.close();
});

test("an agent for two tenants is kept apart by what the host verified, not by what the model says", async () => {
  const clients: Readonly<Record<string, RcpClient>> = {
    acme: await pgrcp.client("acme"),
    rival: await pgrcp.client("rival"),
  };
  let verified: { tenant?: Tenant } = { tenant: "acme" };
  const ignored: unknown[] = [];
  const tools = await createAgentTools({
    client: ({ tenantId }) => clients[String(tenantId)] as RcpClient,
    resolvers: { tenantId: (context) => context.tenant },
    context: (): { tenant?: Tenant } => verified,
    logger: (event) => event.kind === "ignored" && ignored.push(event.bound),
  });

  for (const hijack of [{ tenantId: "rival" }, { tenantId: ["rival"] }, { "tenantId ": "rival" }]) {
    const { text } = await call(tools, "search", { query: "refunds RIVAL-SECRET", ...hijack });
    expect(text).toContain("Acme refunds");
    expect(text).not.toContain("SECRET");
  }
  expect((await call(tools, "fetch_document", { id: "refunds", tenantId: "rival" })).text).toContain("Acme refunds");
  expect(ignored).toEqual([["tenantId"], ["tenantId"], [], ["tenantId"]]);

  verified = {};
  const before = pgrcp.server.observations.length;
  expect(before).toBeGreaterThan(0);
  await expect(call(tools, "search", { query: "refunds", tenantId: "rival" })).rejects.toThrow("tenantId");
  expect(pgrcp.server.observations).toHaveLength(before);
});

test("a bound filter field confines searches and documents to it", async () => {
  const client = await pgrcp.client("acme");
  const tools = await createAgentTools({ client, resolvers: { team: () => "sales" } });

  const { text, result } = await call(tools, "search", { query: "refund day", team: "finance" });

  expect(text).toContain('title="Refunds"');
  expect(result).toMatchObject({ hits: [{ id: "refunds" }] });
  expect((await call(tools, "fetch_document", { id: "refunds" })).text).toContain("thirty days");
  await expect(call(tools, "fetch_document", { id: "pay" })).rejects.toMatchObject({ code: -32015 });
});

test("tools that write do it with the credential of each", async () => {
  const [client, add, remove] = await Promise.all([
    pgrcp.client("acme"),
    pgrcp.client("acme", ["add"]),
    pgrcp.client("acme", ["delete"]),
  ]);
  const tools = await createAgentTools({ client, write: { add, delete: remove } });

  expect((await call(tools, "add_document", { id: "zebra", text: "A zebra has stripes." })).text).toContain("zebra");
  expect((await call(tools, "search", { query: "zebra stripes", k: 1 })).text).toContain("A zebra has stripes.");
  expect((await call(tools, "delete_document", { id: "zebra" })).text).toBe("Deleted.");
});
