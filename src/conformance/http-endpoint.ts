import {
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { MAX_ANSWER, Violation } from "./outcome.ts";

/** An HTTP answer as it came. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface HttpRequest {
  readonly method?: string;
  /** After the base, with its slash; empty = the base itself. */
  readonly path: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Uint8Array;
}

/** A flood of checks may meet a rate limit; it is waited out, within reason. */
const MAX_WAIT_SECONDS = 65;
const MAX_WAITS = 3;

/** One client's connections to a base URL. */
export class HttpEndpoint {
  readonly #base: URL;
  readonly #timeoutMs: number;
  readonly #agent: HttpAgent;

  constructor(base: URL, timeoutMs: number, ca: string | undefined) {
    this.#base = base;
    this.#timeoutMs = timeoutMs;
    const options = { keepAlive: true, ...(ca !== undefined && { ca }) };
    this.#agent = base.protocol === "https:" ? new HttpsAgent(options) : new HttpAgent(options);
  }

  /**
   * Sends one request; a 429 is waited out.
   *
   * @throws Violation when no whole answer comes in time
   */
  async send(request: HttpRequest): Promise<HttpAnswer> {
    for (let waits = 0; ; waits += 1) {
      const answer = await this.#sendOnce(request);
      const seconds = Number(answer.headers["retry-after"] ?? "1");
      if (answer.status !== 429 || waits === MAX_WAITS || !(seconds <= MAX_WAIT_SECONDS)) return answer;
      await sleep(seconds * 1000);
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  /** Joined as text: of a base without a path, `//initialize` would be another host. */
  #urlOf(path: string): URL {
    return new URL(`${this.#base.origin}${this.#base.pathname.replace(/\/+$/, "")}${path}`);
  }

  #sendOnce({ method = "POST", path, headers = {}, body }: HttpRequest): Promise<HttpAnswer> {
    const send = this.#base.protocol === "https:" ? httpsRequest : httpRequest;
    const bytes = body === undefined ? undefined : Buffer.from(body);
    const length = bytes === undefined ? {} : { "content-length": bytes.length };
    return new Promise((resolve, reject) => {
      const request = send(
        this.#urlOf(path),
        { method, agent: this.#agent, headers: { ...length, ...headers } },
        (response) => {
          const pieces: Buffer[] = [];
          let taken = 0;
          response.on("data", (piece: Buffer) => {
            pieces.push(piece);
            taken += piece.length;
            if (taken > MAX_ANSWER) give(`an answer has more than ${MAX_ANSWER} bytes`);
          });
          response.on("error", fail);
          response.on("end", () =>
            resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(pieces) }),
          );
        },
      );
      const give = (what: string) => request.destroy(new Violation(what));
      const fail = (error: Error) =>
        reject(error instanceof Violation ? error : new Violation(`the connection failed: ${error.message}`));
      const timer = setTimeout(give, this.#timeoutMs, `no whole answer within ${this.#timeoutMs} ms`);
      request.on("error", fail);
      request.on("close", () => clearTimeout(timer));
      request.end(bytes);
    });
  }
}
