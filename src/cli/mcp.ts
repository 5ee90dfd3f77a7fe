import type { Command } from "commander";
import { createPoster } from "../bridge/https-post.ts";
import { McpProxy } from "../bridge/mcp-proxy.ts";
import { corpusEndpoint } from "../client/endpoint.ts";
import {
  addBridgeOptions,
  type BridgeOptions,
  createSay,
  privateEndpoint,
  readBridgeFiles,
  runStdio,
} from "./bridge-options.ts";
import { stopOnSignal } from "./stop-signal.ts";

/** `pgrcp mcp`: how an agent that launches MCP servers on stdio reaches a pgrcp server over https with a token. */

interface McpOptions extends BridgeOptions {
  readonly corpus?: string;
}

const HELP = `
Without --token-file the token is in RCP_TOKEN, or in the file that RCP_TOKEN_FILE names. A file is read before every request.
Standard output carries MCP messages and nothing else; diagnostics go to standard error.

Example: pgrcp mcp --url https://rcp.example.org/rcp --token-file read.token`;

export function registerMcp(program: Command): void {
  const command = program.command("mcp").description("be an MCP server on stdio that forwards to a server over https");
  addBridgeOptions(command)
    .option("--corpus <name>", "this corpus alone; without it, the agent may name one")
    .addHelpText("after", HELP)
    .action(mcp);
}

async function mcp(options: McpOptions): Promise<void> {
  const say = createSay("mcp");
  const base = privateEndpoint(() => doorOf(options));
  const poster = createPoster({ base, ...(await readBridgeFiles(options, say)) });
  const proxy = new McpProxy({ poster, path: base.pathname, timeoutMs: options.timeout * 1_000, say });
  const stop = stopOnSignal();
  try {
    await runStdio(proxy, (line, caller) => proxy.answerLine(line, caller), stop);
  } finally {
    stop.release();
    poster.close();
  }
}

/** Beside `/rcp`; who has the door's own address may give that. @throws TypeError for no server's URL */
function doorOf({ url, corpus }: McpOptions): URL {
  const base = corpusEndpoint(url.replace(/\/mcp\/*$/, "/rcp"));
  const door = corpus === undefined ? "/mcp" : `/corpora/${encodeURIComponent(corpus)}/mcp`;
  base.pathname = base.pathname.replace(/\/rcp$/, door);
  return base;
}
