import { isObject } from "../protocol/params.ts";
import { Client, type Exchange, encode, type Message, type Seen, type SendOptions } from "./client.ts";
import { readEventStream } from "./event-stream.ts";
import { type Frame, readFrame } from "./frame.ts";
import type { HttpAnswer, HttpEndpoint } from "./http-endpoint.ts";
import { ensure, show } from "./outcome.ts";

/** A client with a session of its own, if the server gives sessions. */
export class HttpClient extends Client {
  readonly kind = "http";
  readonly endpoint: HttpEndpoint;
  readonly #token: string | undefined;

  constructor(endpoint: HttpEndpoint, token: string | undefined, seen: Seen) {
    super(seen);
    this.endpoint = endpoint;
    this.#token = token;
  }

  /** `_meta.session` of `initialize` (RCP §5.2). */
  get session(): string | undefined {
    const meta = this.initialized?._meta;
    return isObject(meta) && typeof meta.session === "string" ? meta.session : undefined;
  }

  /** What goes with every request of this client. */
  headers(): Record<string, string> {
    return {
      "content-type": "application/json",
      accept: "application/json",
      ...(this.#token !== undefined && { authorization: `Bearer ${this.#token}` }),
      ...(this.session !== undefined && { "rcp-session": this.session }),
    };
  }

  protected async transfer(messages: readonly Message[], _answers: number, options: SendOptions): Promise<Exchange> {
    const http = await Promise.all(messages.map((message) => this.#post(message, options)));
    return { frames: http.flatMap(framesOf), http };
  }

  #post(message: Message, { path, headers }: SendOptions): Promise<HttpAnswer> {
    const own =
      isObject(message) && "method" in message && typeof message.method === "string" ? `/${message.method}` : "";
    return this.endpoint.send({
      path: path ?? own,
      body: encode(message),
      headers: { ...this.headers(), ...headers },
    });
  }

  async close(): Promise<void> {
    // Without a session, a shutdown could stop the server for everybody.
    if (this.session !== undefined) await this.#post(this.request("shutdown"), {}).catch(() => {});
    this.endpoint.close();
  }
}

function framesOf({ headers, body, status }: HttpAnswer): Frame[] {
  if (body.length === 0) return [];
  const type = headers["content-type"] ?? "";
  if (type.startsWith("text/event-stream")) return readEventStream(body);
  ensure(type.startsWith("application/json"), `HTTP ${status} came with ${show(type)} instead of application/json`);
  return [readFrame(body)];
}
