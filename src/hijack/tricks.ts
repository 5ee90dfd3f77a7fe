import { MCP_TRICKS } from "./mcp-tricks.ts";
import { RCP_TRICKS } from "./rcp-tricks.ts";
import { REST_TRICKS } from "./rest-tricks.ts";
import type { Trick } from "./trick.ts";

/** Every trick that is known here, door by door. */
export const TRICKS: readonly Trick[] = [...RCP_TRICKS, ...REST_TRICKS, ...MCP_TRICKS];
