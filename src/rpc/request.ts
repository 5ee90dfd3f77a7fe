import type { Principal } from "../auth/principal.ts";
import type { RequestPath } from "./request-path.ts";

/** A request body with what its transport knows about it. */
export interface RpcRequest {
  readonly body: Uint8Array;
  readonly path: RequestPath;
  readonly principal: Principal;
  /** The values of every RCP-Session header, as received. */
  readonly sessionTokens: readonly string[];
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** Takes one unit of the caller's rate. @returns the milliseconds to wait when none was left */
  readonly takeUnit: () => Promise<number | undefined>;
}

/** `silent` when nothing but notifications was sent. */
export type RpcReply = { readonly kind: "silent" } | { readonly kind: "answer"; readonly text: string };
