import { Client, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { onTestFinished } from "vitest";

/** The newest revision of MCP, and the one before it, which is spoken with a handshake. */
export const REVISIONS = ["2026-07-28", "2025-11-25"] as const;
export type Revision = (typeof REVISIONS)[number];

/** The official client, connected. It ends with the test. */
export async function connectMcp(transport: Transport, revision: Revision): Promise<Client> {
  const mode = revision === "2026-07-28" ? { pin: revision } : "legacy";
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  onTestFinished(() => client.close());
  await client.connect(transport);
  return client;
}

export function connectMcpHttp(url: string, token: string, revision: Revision): Promise<Client> {
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  return connectMcp(new StreamableHTTPClientTransport(new URL(url), { requestInit }), revision);
}
