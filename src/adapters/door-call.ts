import type { Principal } from "../auth/principal.ts";
import type { CorpusName } from "../catalog/corpus.ts";
import { type ErrorCode, type ErrorData, RpcError } from "../protocol/errors.ts";
import type { MethodName } from "../protocol/methods.ts";
import type { Params } from "../protocol/params.ts";
import type { Dispatcher } from "../rpc/dispatch.ts";

/** Who stands at a door that is not RCP's, and how long it waits. */
export interface DoorCaller {
  readonly principal: Principal;
  /** Aborts when nobody waits for the answer any more, with the RpcError that the call then ends with. */
  readonly signal: AbortSignal;
  /** Why the door itself lets it go no further, if it does not. */
  readonly refusal?: RpcError | undefined;
}

/** How a call ended, in RCP's own words (RCP §4.2, §4.3). */
export type DoorOutcome<Result = Params> =
  | { readonly result: Result }
  | { readonly error: { readonly code: ErrorCode; readonly message: string; readonly data?: ErrorData } };

/**
 * Makes one RCP call of what came through another door. The dispatcher judges it as it judges RCP's own, but for a session, which
 * these doors do not have.
 */
export async function callThroughDoor<Result = Params>(
  dispatcher: Dispatcher,
  { principal, signal, refusal }: DoorCaller,
  corpus: CorpusName,
  method: MethodName,
  params: object,
): Promise<DoorOutcome<Result>> {
  const reply = await dispatcher.dispatch({
    body: Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })),
    path: { corpus, method },
    principal,
    sessionTokens: undefined,
    refusal,
    signal,
    // Asked for the further members of a batch alone.
    takeUnit: async () => undefined,
    notify: undefined,
  });
  if (reply.kind !== "answer") throw new Error("a call has one answer");
  return JSON.parse(reply.text);
}

/** @throws RpcError what the call was refused with */
export function resultOf<Result>(outcome: DoorOutcome<Result>): Result {
  if ("result" in outcome) return outcome.result;
  const { code, message, data } = outcome.error;
  throw new RpcError(code, message, data);
}
