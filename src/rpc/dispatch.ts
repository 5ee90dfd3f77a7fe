import type { Config } from "../config/config.ts";
import type { Refusal, RefusalLog } from "../db/refusal-log.ts";
import { capabilitiesOf } from "../methods/capabilities.ts";
import type { Handler, Services } from "../methods/handler.ts";
import type { Observe } from "../observability/observation.ts";
import { readEnvelope } from "../protocol/envelope.ts";
import { ErrorCode, RpcError } from "../protocol/errors.ts";
import { type CallMessage, type Message, readId } from "../protocol/message.ts";
import { isMethodName, type MethodName } from "../protocol/methods.ts";
import { isObject, member } from "../protocol/params.ts";
import { createAdmission } from "./admission.ts";
import { answerBatch } from "./batch.ts";
import { deadlineOf, traceIdOf } from "./call-meta.ts";
import { withDeadline } from "./deadline.ts";
import { createInFlight } from "./in-flight.ts";
import { climb } from "./ladder.ts";
import { METHODS } from "./method-facts.ts";
import { createNotifier, type Notify } from "./notifications.ts";
import type { RpcReply, RpcRequest } from "./request.ts";
import { backendFailed, encodeError, encodeResult, internalError, isBackendFailure } from "./response.ts";
import { type Sessions, sessionName } from "./session.ts";

export interface Dispatcher {
  /** Answers every call of a request body exactly once, and no notification. Never throws. */
  dispatch(request: RpcRequest): Promise<RpcReply>;
}

export interface DispatcherParts {
  readonly services: Services;
  /** Undefined for what is not built. */
  readonly handlers: Readonly<Record<MethodName, Handler | undefined>>;
  readonly sessions: Sessions;
  /** Told of each call that was refused with -32012. */
  readonly refusals: Pick<RefusalLog, "add">;
}

/** How a message came. */
interface Arrival {
  readonly request: RpcRequest;
  /** When its body was there, as `performance.now()` has it: a batch is answered as soon as a single call would be. */
  readonly receivedAt: number;
  /** Why it must not run; undefined when it may. */
  readonly refusal: RpcError | undefined;
  /** What several calls at once report could not be told apart by a caller that used a token twice, so a batch reports nothing. */
  readonly notify: Notify | undefined;
}

/** The longest that a method may run. */
const timeoutMsOf = (method: string, { requestTimeoutMs, writeTimeoutMs }: Config["server"]): number =>
  isMethodName(method) && METHODS[method].kind === "write" ? writeTimeoutMs : requestTimeoutMs;

/** The only place that turns what was thrown into an answer. */
export function createDispatcher({ services, handlers, sessions, refusals }: DispatcherParts): Dispatcher {
  const { config, observe } = services;
  const inFlight = createInFlight();
  const admission = createAdmission(config);
  const rungs = { services, handlers, sessions, admission, capabilitiesOf: capabilitiesOf(services) };

  async function answer(message: Message, arrival: Arrival): Promise<string | undefined> {
    const { request, receivedAt } = arrival;
    switch (message.kind) {
      case "notification":
        cancelNamed(message, request);
        return undefined;
      case "refusal":
        record(observe, request, undefined, message.error.code, performance.now() - receivedAt);
        return encodeError(message.id, message.error);
      case "call":
        return answerCall(message, arrival);
    }
  }

  async function answerCall(call: CallMessage, { request, receivedAt, refusal, notify }: Arrival): Promise<string> {
    const startedAt = performance.now();
    const observeCall = traced(observe, traceIdOf(call.params));
    const notifier = createNotifier(knownName(call.method), call.params, notify);
    const settle = (code: number, text: string) => {
      const latencyMs = performance.now() - startedAt;
      notifier.answered(code, latencyMs);
      record(observeCall, request, call, code, latencyMs);
      return text;
    };
    try {
      if (refusal !== undefined) throw refusal;
      const allowedMs = Math.min(usableDeadline(call.params), timeoutMsOf(call.method, config.server));
      const leftMs = allowedMs - (startedAt - receivedAt);
      const result = await withDeadline(leftMs, request.signal, (deadline) =>
        cancellable(call, request, deadline.cancel, () =>
          climb({ call, request, deadline, notifier, observe: observeCall }, rungs),
        ),
      );
      return settle(0, encodeResult(call.id, result));
    } catch (error) {
      const refusal = error instanceof RpcError ? error : internalError();
      const where = knownName(call.method);
      if (error !== refusal) observeCall({ kind: "internal-error", where, error });
      else if (isBackendFailure(refusal)) observeCall(backendFailed(where, refusal));
      if (refusal.code === ErrorCode.Unauthorized) refusals.add(refusedCall(where, request, refusal));
      return settle(refusal.code, encodeError(call.id, refusal));
    }
  }

  /** Can be cancelled from its very beginning, before its session was looked up: a cancel may follow close behind. */
  async function cancellable<Result>(
    { id }: CallMessage,
    { principal, sessionTokens }: RpcRequest,
    cancel: () => void,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const session = sessionName(sessionTokens);
    if (session === undefined) return await work();
    const done = inFlight.add({ principal, session, id }, cancel);
    try {
      return await work();
    } finally {
      done();
    }
  }

  /** RCP §7.14. Only a call of the same session can be cancelled; without a session ids collide (ruling 3). */
  function cancelNamed({ method, params }: Extract<Message, { kind: "notification" }>, request: RpcRequest): void {
    if (method !== "notifications/cancel" || !isObject(params)) return;
    const id = readId(member(params, "id"));
    const session = sessionName(request.sessionTokens);
    if (id !== null && session !== undefined) inFlight.cancel({ principal: request.principal, session, id });
  }

  function record(
    tell: Observe,
    request: RpcRequest,
    call: CallMessage | undefined,
    code: number,
    latencyMs: number,
  ): void {
    tell({
      kind: "request",
      method: call === undefined ? UNKNOWN : knownName(call.method),
      tenant: request.principal.tenantId,
      corpus: request.path.corpus,
      code,
      latencyMs,
    });
  }

  return {
    async dispatch(request) {
      const receivedAt = performance.now();
      const place = { kind: "path", method: request.path.method } as const;
      const limit = { maxBatch: config.limits.maxBatch, setting: "limits.maxBatch" };
      const envelope = readEnvelope(request.body, place, limit);
      if (envelope.kind === "batch")
        return await answerBatch(
          envelope.messages,
          request.takeUnit,
          config.limits.maxBatchAnswerBytes,
          (message, refusal) => answer(message, { request, receivedAt, refusal, notify: undefined }),
        );
      const { refusal, notify } = request;
      const text = await answer(envelope.message, { request, receivedAt, refusal, notify });
      return text === undefined ? { kind: "silent" } : { kind: "answer", text };
    },
  };
}

/** A deadline of 0 or less is refused with the params, after scope and capability; here it is none. */
function usableDeadline(params: unknown): number {
  const deadlineMs = deadlineOf(params);
  return deadlineMs !== undefined && deadlineMs > 0 ? deadlineMs : Number.POSITIVE_INFINITY;
}

/** For the audit record: who, and what was missing in words that are the server's own. */
const refusedCall = (method: string, { principal, path }: RpcRequest, { data }: RpcError): Refusal => ({
  tenantId: principal.tenantId,
  issuer: principal.issuer,
  subject: principal.subject,
  client: principal.client,
  tokenId: principal.tokenId,
  method,
  corpus: path.corpus,
  detail: data.detail,
});

/** Every log line of a call carries its trace, not its last one alone. */
const traced = (observe: Observe, traceId: string | undefined): Observe =>
  traceId === undefined ? observe : (observation) => observe({ ...observation, traceId });

const UNKNOWN = "unknown";

/** A method's name is the caller's text, so the log has it only when it is one of the protocol's. */
const knownName = (method: string): string => (isMethodName(method) ? method : UNKNOWN);
