import { expect } from "vitest";
import { type AgentTool, type AgentToolEvent, createAgentTools } from "../../../src/client/index.ts";
import { type Pgrcp, startPgrcp } from "../pgrcp-server.ts";

/** An agent for acme, whose model was told to look at rival's documents. */
export interface HijackedAgent {
  readonly tools: readonly AgentTool[];
  readonly pgrcp: Pgrcp;
  readonly events: AgentToolEvent[];
  /** What the host's session says; undefined: nobody is signed in. */
  tenant: "acme" | undefined;
  close(): Promise<void>;
}

/** What the model asks for. */
export const HIJACK = { query: "refunds RIVAL-SECRET", tenantId: "rival" };

export async function startHijackedAgent(): Promise<HijackedAgent> {
  const pgrcp = await startPgrcp();
  const events: AgentToolEvent[] = [];
  const client = await pgrcp.client("acme");
  const agent: Pick<HijackedAgent, "tenant"> = { tenant: "acme" };
  const tools = await createAgentTools({
    client: () => client,
    resolvers: { tenantId: () => agent.tenant },
    logger: (event) => events.push(event),
  });
  return Object.assign(agent, { tools, pgrcp, events, close: pgrcp.close });
}

/** The answer is acme's, and the attempt was reported. */
export function expectHeld(agent: HijackedAgent, text: unknown): void {
  expect(text).toMatch(/<data-[0-9a-f]{32}>[\s\S]*\| Acme refunds within thirty days\./);
  expect(text).not.toContain("SECRET");
  expect(agent.events).toContainEqual({ kind: "ignored", tool: "search", bound: ["tenantId"], others: 0 });
}
