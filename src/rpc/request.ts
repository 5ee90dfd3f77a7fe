import type { Principal } from "../auth/principal.ts";
import type { RpcError } from "../protocol/errors.ts";
import type { Notify } from "./notifications.ts";
import type { RequestPath } from "./request-path.ts";

/** A request body with what its transport knows about it. */
export interface RpcRequest {
  readonly body: Uint8Array;
  readonly path: RequestPath;
  readonly principal: Principal;
  /** The values of every RCP-Session header, as received. Undefined through a door that has no RCP sessions: then none is needed. */
  readonly sessionTokens: readonly string[] | undefined;
  /** Why its door lets it go no further: the call does not run, and is answered and recorded like any other that is refused. */
  readonly refusal?: RpcError | undefined;
  /** Aborts when nobody waits for the answer any more, with the RpcError that the calls then end with. */
  readonly signal: AbortSignal;
  /** Takes one unit of the caller's rate. @returns the milliseconds to wait when none was left */
  readonly takeUnit: () => Promise<number | undefined>;
  /** Sends a notification before the answer; undefined when the transport or the caller has no way for one. */
  readonly notify: Notify | undefined;
}

/** One answer, the answers of a batch, or `silent` when nothing but notifications was sent. */
export type RpcReply = { readonly kind: "silent" } | { readonly kind: "answer" | "batch"; readonly text: string };
