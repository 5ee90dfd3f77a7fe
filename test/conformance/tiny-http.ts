import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { isObject } from "../../src/protocol/params.ts";
import { type Fault, TinyServer, type TinySession } from "./tiny-server.ts";

/** The tiny server over HTTP, with a token and a session for each client. */

export const HTTP_FAULTS = [
  "shares one lifecycle",
  "takes any path",
  "sends errors with 400",
  "streams unasked",
  "sends two final frames",
  "refuses a stranger without a body",
  "takes a token in params",
  "answers GET",
] as const;
export type HttpFault = (typeof HTTP_FAULTS)[number];

export const TOKEN = "the-token";

export interface TinyHttp {
  readonly url: string;
  close(): Promise<void>;
}

export async function startTinyHttp(fault?: Fault | HttpFault): Promise<TinyHttp> {
  const has = (one: HttpFault): boolean => fault === one;
  const tiny = new TinyServer(HTTP_FAULTS.some((one) => one === fault) ? undefined : (fault as Fault));
  const sessions = new Map<string, TinySession>();
  const newSession = (): TinySession => ({ initialized: false, done: false });
  const common = newSession();

  const sessionOf = (name: unknown): TinySession =>
    has("shares one lifecycle")
      ? common
      : ((typeof name === "string" ? sessions.get(name) : undefined) ?? newSession());

  function isKnown(request: IncomingMessage, body: string): boolean {
    return (
      request.headers.authorization === `Bearer ${TOKEN}` || (has("takes a token in params") && body.includes(TOKEN))
    );
  }

  function answer(request: IncomingMessage, body: string): HttpReply {
    const path = request.url ?? "";
    if (!/^\/rcp(\/|$)/.test(path)) return { status: has("takes any path") ? 200 : 404 };
    if (request.method !== "POST") return { status: has("answers GET") ? 200 : 405 };
    if (!isKnown(request, body)) return { status: 401, text: has("refuses a stranger without a body") ? "" : STRANGER };
    const message = parse(body);
    const method = isObject(message) ? message.method : undefined;
    const isCall = typeof method === "string" && isObject(message) && Object.hasOwn(message, "id");
    if (isCall && path !== `/rcp/${method}` && !has("takes any path")) return { status: 200, text: ANOTHER_PATH };
    const session = sessionOf(request.headers["rcp-session"]);
    const frames = tiny.handle(body, session).map((frame) => withSession(frame, method, session));
    const last = frames.at(-1);
    if (last === undefined) return { status: 204 };
    if (has("sends two final frames")) frames.push(last);
    if ((request.headers.accept ?? "").includes("text/event-stream") || has("streams unasked"))
      return { status: 200, text: frames.map((frame) => `: alive\n\ndata: ${frame}\n\n`).join(""), isStream: true };
    return { status: has("sends errors with 400") && last.includes('"error"') ? 400 : 200, text: last };
  }

  /** `_meta.session` of a successful initialize. */
  function withSession(frame: string, method: unknown, session: TinySession): string {
    const value = parse(frame);
    if (method !== "initialize" || !isObject(value) || !isObject(value.result) || has("shares one lifecycle"))
      return frame;
    const name = `session-${sessions.size}`;
    sessions.set(name, session);
    const meta = isObject(value.result._meta) ? value.result._meta : {};
    return JSON.stringify({ ...value, result: { ...value.result, _meta: { ...meta, session: name } } });
  }

  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece);
    const { status, text = "", isStream } = answer(request, Buffer.concat(pieces).toString());
    response.writeHead(status, { "content-type": isStream ? "text/event-stream" : "application/json" }).end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/rcp`,
    close: () => new Promise((resolve) => void server.close(() => resolve())),
  };
}

interface HttpReply {
  readonly status: number;
  readonly text?: string;
  readonly isStream?: boolean;
}

const refusal = (code: number): string =>
  JSON.stringify({ jsonrpc: "2.0", id: null, error: { code, message: "refused" } });
const STRANGER = refusal(-32012);
const ANOTHER_PATH = refusal(-32600);

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
