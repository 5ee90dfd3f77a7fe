import { setTimeout as pause } from "node:timers/promises";
import { backendUnavailable, cancelled, ErrorCode, invalidRequest, RpcError, timeout } from "../protocol/errors.ts";
import { type CallMessage, type Message, readId } from "../protocol/message.ts";
import { isObject, member, type Params } from "../protocol/params.ts";
import { encodeAnswer, type Outcome, refused, unusable } from "./outcome.ts";
import { type Caller, deadlineSignal, progressToken, type RunningCall, startCall } from "./running-call.ts";
import type { Upstream, UpstreamEvent } from "./upstream.ts";
import {
  compareSession,
  hasLogLevel,
  isSessionLost,
  readSession,
  type UpstreamSession,
  wantsLogs,
} from "./upstream-session.ts";

/** Why no further call is taken: the client said so, its input ended, or the server is no longer what it was. */
export type Ending = "shutdown" | "closed" | "changed";

export interface BridgeOptions {
  readonly upstream: Upstream;
  /** The longest that one call may take. */
  readonly timeoutMs: number;
  /** Diagnostics, one line each, for a person. */
  readonly say: (line: string) => void;
}

/** What runs at `shutdown` may take so long before it is ended. */
export const DRAIN_MS = 30_000;
/** What the server is given for what the client does not wait for: the end of the session, a cancel. */
const FAREWELL_MS = 2_000;

/**
 * An RCP server to its client and a client to the server (RCP §13): one lifecycle, one session, every call answered exactly once
 * with the client's own id.
 */
export class Bridge {
  /** Settles when `shutdown` is about to be answered, or when the server has changed. */
  readonly ended: Promise<Ending>;
  readonly #options: BridgeOptions;
  readonly #running = new Set<RunningCall>();
  readonly #end: (ending: Ending) => void;
  #ending: Ending | undefined;
  #session: UpstreamSession | undefined;
  #handshake: Promise<unknown> = Promise.resolve();
  #reopening: Promise<Outcome | undefined> | undefined;
  #nextId = 1;

  constructor(options: BridgeOptions) {
    this.#options = options;
    const { promise, resolve } = Promise.withResolvers<Ending>();
    this.ended = promise;
    this.#end = resolve;
  }

  /** False from the moment that `shutdown` was received, `close` called or the server found changed. */
  get isOpen(): boolean {
    return this.#ending === undefined;
  }

  get ending(): Ending | undefined {
    return this.#ending;
  }

  /** @returns the answer's frame; undefined for a notification */
  async answer(message: Message, caller: Caller): Promise<string | undefined> {
    switch (message.kind) {
      case "notification":
        if (message.method === "notifications/cancel") this.#cancelNamed(message.params);
        return undefined;
      case "refusal":
        return encodeAnswer(message.id, refused(message.error));
      case "call":
        return this.#answerCall(message, caller).then((outcome) => encodeAnswer(message.id, outcome));
    }
  }

  /** Takes no further call, lets what runs finish for `graceMs` and ends the session. */
  async close(graceMs: number): Promise<void> {
    this.#ending ??= "closed";
    const drained = Promise.all([...this.#running].map(({ done }) => done));
    const timer = setTimeout(() => {
      for (const call of this.#running) call.abort(timeout("the bridge is closing"));
    }, graceMs);
    // A call whose client does not take its frames never finishes.
    await Promise.race([drained, pause(graceMs + FAREWELL_MS, undefined, { ref: false })]);
    clearTimeout(timer);
    const session = this.#session?.token;
    this.#session = undefined;
    if (session === undefined) return;
    const signal = deadlineSignal(FAREWELL_MS);
    await this.#options.upstream.call({ id: this.#nextId++, method: "shutdown", params: {}, session, signal });
  }

  async #answerCall(message: CallMessage, caller: Caller): Promise<Outcome> {
    if (this.#ending !== undefined) return refusedBecause(this.#ending);
    if (message.method === "shutdown") {
      this.#ending = "shutdown";
      await this.close(DRAIN_MS);
      this.#end("shutdown");
      return { result: {} };
    }
    const call = startCall(message, caller, this.#options.timeoutMs, (gone) => this.#cancel(gone, {}));
    this.#running.add(call);
    try {
      return await this.#route(call);
    } catch (error) {
      this.#options.say(`unexpected: ${error instanceof Error ? error.message : "failure"}`);
      return refused(new RpcError(ErrorCode.InternalError, "The bridge failed to answer; its standard error says why"));
    } finally {
      this.#running.delete(call);
      call.finish();
    }
  }

  async #route(call: RunningCall): Promise<Outcome> {
    switch (call.message.method) {
      case "initialize":
        return this.#initialize(call);
      case "info":
      case "ping":
        return this.#forward(call);
      default:
        // A client that does not wait for the answer to its initialize is judged by it all the same.
        await this.#handshake;
        return this.#session === undefined ? refused(notInitialized()) : this.#forward(call);
    }
  }

  #initialize(call: RunningCall): Promise<Outcome> {
    const before = this.#handshake;
    const attempt = async (): Promise<Outcome> => {
      await before;
      if (this.#session !== undefined) return refused(invalidRequest("initialize has succeeded: it is sent once"));
      const outcome = await this.#send(call, undefined);
      if ("error" in outcome) return outcome;
      const { session, shown } = readSession(call.message.params, outcome.result);
      this.#session = session;
      return { result: shown };
    };
    const outcome = attempt();
    this.#handshake = outcome;
    return outcome;
  }

  async #forward(call: RunningCall): Promise<Outcome> {
    const session = this.#session;
    const outcome = await this.#send(call, session);
    if (session === undefined || !isSessionLost(outcome)) return outcome;
    const failure = await this.#reopen(session);
    if (failure !== undefined) return failure;
    const repeated = await this.#send(call, this.#session);
    return isSessionLost(repeated) ? refused(unusable("the server loses its sessions")) : repeated;
  }

  #send(call: RunningCall, session: UpstreamSession | undefined): Promise<Outcome> {
    const { message, caller, signal } = call;
    const { method, params } = message;
    const place = { id: this.#nextId++, session: session?.token };
    call.place = place;
    const progress = progressToken(params);
    const logs = wantsLogs(session?.params) || hasLogLevel(params);
    const { onFrame } = caller;
    const onEvent =
      onFrame === undefined || (progress === undefined && !logs)
        ? undefined
        : async (event: UpstreamEvent) => {
            if (event.kind === "heartbeat") await onFrame(undefined);
            else if (isFor(event, progress, logs)) await onFrame(encodeNotification(event.method, event.params));
          };
    return this.#options.upstream.call({ ...place, method, params, signal, onEvent });
  }

  /** One initialize for all the calls that found the same session gone. */
  async #reopen(lost: UpstreamSession): Promise<Outcome | undefined> {
    if (this.#ending === "changed") return refusedBecause("changed");
    if (this.#session !== lost) return undefined;
    this.#reopening ??= this.#initializeAgain(lost).finally(() => {
      this.#reopening = undefined;
    });
    return this.#reopening;
  }

  async #initializeAgain(lost: UpstreamSession): Promise<Outcome | undefined> {
    const { upstream, timeoutMs, say } = this.#options;
    const outcome = await upstream.call({
      id: this.#nextId++,
      method: "initialize",
      params: lost.params,
      session: undefined,
      signal: deadlineSignal(timeoutMs),
    });
    const reopened = compareSession(lost, outcome);
    switch (reopened.kind) {
      case "failed":
        return { error: reopened.error };
      case "same":
        this.#session = reopened.session;
        say("the server no longer knew the session; a new one is open");
        return undefined;
      case "changed":
        this.#session = reopened.session;
        this.#ending = "changed";
        this.#end("changed");
        return refusedBecause("changed");
    }
  }

  /** RCP §7.14: every running call of that id; a client may have used it too early again. */
  #cancelNamed(params: unknown): void {
    if (!isObject(params)) return;
    const id = readId(member(params, "id"));
    if (id === null) return;
    for (const call of this.#running) if (call.message.id === id) this.#cancel(call, params);
  }

  #cancel(call: RunningCall, params: Params): void {
    const { place } = call;
    if (place !== undefined) {
      const reason = member(params, "reason");
      const named = { id: place.id, ...(typeof reason === "string" && { reason }) };
      void this.#options.upstream.cancel(named, place.session, deadlineSignal(FAREWELL_MS));
    }
    call.abort(cancelled());
  }
}

const encodeNotification = (method: string, params: Params): string =>
  JSON.stringify({ jsonrpc: "2.0", method, params });

/** RCP §7.1: nothing that the client did not ask for. */
function isFor(
  { method, params }: Extract<UpstreamEvent, { kind: "notification" }>,
  progress: string | number | undefined,
  logs: boolean,
): boolean {
  if (method === "notifications/progress") return progress !== undefined && params.progressToken === progress;
  return method === "notifications/log" && logs;
}

const notInitialized = () => new RpcError(ErrorCode.NotInitialized, "Not initialized: send initialize first");

const ENDED = {
  shutdown: "shutdown was received: start the bridge anew",
  closed: "the bridge is closing: start it anew",
  changed: "the server's capabilities have changed: this connection ends, start the bridge anew",
} as const satisfies Record<Ending, string>;

const refusedBecause = (ending: Ending): Outcome =>
  refused(backendUnavailable({ retryable: false, detail: ENDED[ending] }));
