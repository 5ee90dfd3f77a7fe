import { isObject, type Params } from "../protocol/params.ts";
import { type Frame, isAnswer } from "./frame.ts";
import type { HttpAnswer } from "./http-endpoint.ts";
import { ensure, show } from "./outcome.ts";
import { errorDataFault, notificationFault, responseFault, resultFault } from "./wire-shapes.ts";

/** A JSON-RPC message as an object, or any bytes in its place. */
export type Message = object | string | Uint8Array;

/** A message as it is sent. */
export const encode = (message: Message): string | Uint8Array =>
  typeof message === "string" || message instanceof Uint8Array ? message : JSON.stringify(message);

export interface RpcFailure {
  readonly code: number;
  readonly message: string;
  readonly data: Params;
}

/** What came for some messages. */
export interface Exchange {
  /** In the order in which they came: notifications, responses, arrays of a batch. */
  readonly frames: readonly Frame[];
  /** One for each message over HTTP, none over stdio. */
  readonly http: readonly HttpAnswer[];
}

/** What the whole run has seen; the rules on error codes and notifications look at all of it. */
export interface Seen {
  readonly errorCodes: Set<number>;
  readonly notifications: { readonly method: string; readonly optedIn: boolean }[];
  /** Paths of members that were null in a result. */
  readonly nulls: Set<string>;
}

/**
 * One client of the server: a process of its own over stdio, a session of its own over HTTP. Every frame is judged by RCP's schema
 * as it comes.
 *
 * @throws Violation from every method that sends, for an answer that no rule allows
 */
export abstract class Client {
  abstract readonly kind: "stdio" | "http";
  readonly #seen: Seen;
  #nextId = 1;
  /** What `initialize` gave; undefined before it. */
  initialized: Params | undefined;

  constructor(seen: Seen) {
    this.#seen = seen;
  }

  /**
   * Sends messages at once.
   *
   * @param answers how many answers must come; with 0, that none comes is made sure of
   * @param path where each goes over HTTP, when it is not the path of its own method
   */
  protected abstract transfer(messages: readonly Message[], answers: number, options: SendOptions): Promise<Exchange>;
  abstract close(): Promise<void>;

  async exchange(messages: readonly Message[], answers: number, options: SendOptions = {}): Promise<Exchange> {
    const exchange = await this.transfer(messages, answers, options);
    for (const frame of exchange.frames) this.#judge(frame.value, options.optedIn ?? false);
    return exchange;
  }

  nextId(): number {
    return this.#nextId++;
  }

  request(method: string, params: unknown = {}, id: string | number = this.nextId()): object {
    return { jsonrpc: "2.0", id, method, params };
  }

  /** Sends one message that must be answered, and gives its answer. */
  async ask(message: Message, options: SendOptions = {}): Promise<Frame> {
    const { frames, http } = await this.exchange([message], 1, options);
    const [answer, ...more] = frames.filter(isAnswer);
    ensure(
      answer !== undefined,
      `no answer came${http[0] === undefined ? "" : `: HTTP ${http[0].status} without a body`}`,
    );
    ensure(more.length === 0, "one request was answered more than once");
    return answer;
  }

  /** Sends one message that must not be answered. */
  async tell(message: Message, options: SendOptions = {}): Promise<void> {
    const { frames } = await this.exchange([message], 0, options);
    const answer = frames.find(isAnswer);
    ensure(answer === undefined, `a message that must not be answered was: ${show(answer?.value)}`);
  }

  /** One call. @returns its response, under the id that was sent */
  async call(method: string, params: unknown = {}, options: SendOptions = {}): Promise<Params> {
    const message = this.request(method, params);
    const { value } = await this.ask(message, options);
    ensure(isObject(value), "a single request must be answered with a single response");
    const { id } = message as { id: number };
    ensure(value.id === id, `a request with id ${id} was answered under id ${show(value.id)}`);
    return value;
  }

  /** One call that must succeed. @returns its result, of the shape that the method has */
  async result(method: string, params: unknown = {}, options: SendOptions = {}): Promise<Params> {
    return readResult(await this.call(method, params, options), method);
  }

  /** One call that must be refused with one of these codes. */
  async refusal(method: string, params: unknown, ...codes: readonly number[]): Promise<RpcFailure> {
    return readRefusal(await this.call(method, params), codes, `${method} with ${show(params)}`);
  }

  /** Tries to initialize. @returns the response; a success is kept */
  async initialize(params: Params = INITIALIZE): Promise<Params> {
    const response = await this.call("initialize", params);
    if (isObject(response.result)) this.initialized = readResult(response, "initialize");
    return response;
  }

  #judge(value: unknown, optedIn: boolean): void {
    if (Array.isArray(value)) {
      for (const one of value) this.#judgeResponse(one);
    } else if (isObject(value) && Object.hasOwn(value, "method")) {
      const fault = notificationFault(value);
      ensure(fault === undefined, `the server sent a malformed notification: ${fault}`);
      this.#seen.notifications.push({ method: String(value.method), optedIn });
    } else this.#judgeResponse(value);
  }

  #judgeResponse(value: unknown): void {
    const fault = responseFault(value);
    ensure(fault === undefined, `the answer is no JSON-RPC response: ${fault}: ${show(value)}`);
    if (!isObject(value)) return;
    if (isObject(value.error)) {
      this.#seen.errorCodes.add(Number(value.error.code));
      const { data } = value.error;
      const dataFault = isObject(data) ? errorDataFault(data) : undefined;
      ensure(dataFault === undefined, `${dataFault} (RCP §12.1)`);
    } else for (const path of nullsIn(value.result, "result")) this.#seen.nulls.add(path);
  }
}

export interface SendOptions {
  readonly path?: string;
  /** Whether the client asked for notifications with this message, or when it initialized. */
  readonly optedIn?: boolean;
  /** More headers over HTTP. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What the suite sends when nothing about `initialize` is tried. */
export const INITIALIZE: Params = {
  protocolVersion: 1,
  client: { name: "rcp-conformance", version: "1.0" },
  capabilities: {},
};

/** The result of a response that must be a success. */
function readResult(response: Params, method: string): Params {
  const { result, error } = response;
  ensure(isObject(result), `${method} was refused: ${show(error)}`);
  const fault = resultFault(method, result);
  ensure(fault === undefined, `${method} answered in another shape: ${fault}`);
  return result;
}

/** The error of a response that must be one of these. @param what was sent, for the message */
export function readRefusal({ error, result }: Params, codes: readonly number[], what: string): RpcFailure {
  const wanted = codes.join(" or ");
  ensure(isObject(error), `${what} must be refused with ${wanted}, not answered with ${show(result)}`);
  const { code, message, data } = error;
  ensure(
    codes.includes(Number(code)),
    `${what} must be refused with ${wanted}, not with ${show(code)} (${show(message)})`,
  );
  return { code: Number(code), message: String(message), data: isObject(data) ? data : {} };
}

/** Members of a result that are null; `meta` and `_meta` are not the server's own words. */
function nullsIn(value: unknown, path: string): string[] {
  if (value === null) return [path];
  if (Array.isArray(value)) return value.flatMap((one) => nullsIn(one, `${path}[]`));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, one]) =>
    name === "meta" || name === "_meta" ? [] : nullsIn(one, `${path}.${name}`),
  );
}
