import { cancelled, timeout } from "../protocol/errors.ts";
import type { CallMessage } from "../protocol/message.ts";
import { isObject, member, type Params } from "../protocol/params.ts";

/** Who sent a message and waits for its answer. */
export interface Caller {
  /** Aborts when nobody waits any more. */
  readonly gone?: AbortSignal;
  /** Takes a frame that comes before the answer, or undefined as a sign of life; absent when only the answer is wanted. */
  readonly onFrame?: ((frame: string | undefined) => Promise<void>) | undefined;
}

/** Where a call is at the server, so that it can be cancelled there. */
export interface UpstreamPlace {
  readonly id: number;
  readonly session: string | undefined;
}

/** A call of the client from its arrival to its answer. */
export interface RunningCall {
  readonly message: CallMessage;
  readonly caller: Caller;
  /** Aborts with the RpcError that the call is answered with. */
  readonly signal: AbortSignal;
  place: UpstreamPlace | undefined;
  abort(reason: Error): void;
  /** Settles when the call is over. */
  readonly done: Promise<void>;
  finish(): void;
}

/** What the server is given beyond its own deadline to say itself that it passed. */
const DEADLINE_GRACE_MS = 1_000;

/** @param timeoutMs the longest that the bridge waits; `_meta.deadlineMs` shortens it */
export function startCall(
  message: CallMessage,
  caller: Caller,
  timeoutMs: number,
  cancel: (call: RunningCall) => void,
): RunningCall {
  const controller = new AbortController();
  const { promise: done, resolve } = Promise.withResolvers<void>();
  const limitMs = Math.min(timeoutMs, (deadlineMs(message.params) ?? Number.POSITIVE_INFINITY) + DEADLINE_GRACE_MS);
  const timer = setTimeout(() => controller.abort(timeout("no answer from the server within the deadline")), limitMs);
  const onGone = () => cancel(call);
  const call: RunningCall = {
    message,
    caller,
    signal: controller.signal,
    place: undefined,
    abort: (reason) => controller.abort(reason),
    done,
    finish() {
      clearTimeout(timer);
      caller.gone?.removeEventListener("abort", onGone);
      resolve();
    },
  };
  if (caller.gone?.aborted) controller.abort(cancelled());
  caller.gone?.addEventListener("abort", onGone, { once: true });
  return call;
}

function deadlineMs(params: unknown): number | undefined {
  const value = metaOf(params).deadlineMs;
  return typeof value === "number" && value > 0 ? value : undefined;
}

/** RCP §9: the handle under which the client takes progress. */
export function progressToken(params: unknown): string | number | undefined {
  const token = metaOf(params).progressToken;
  return typeof token === "string" || typeof token === "number" ? token : undefined;
}

function metaOf(params: unknown): Params {
  const meta = isObject(params) ? member(params, "_meta") : undefined;
  return isObject(meta) ? meta : {};
}

/** A signal that aborts with -32014, for what the bridge asks the server on its own account. */
export function deadlineSignal(limitMs: number): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(timeout()), limitMs).unref();
  return controller.signal;
}
