import http from "node:http";
import https from "node:https";
import { backendUnavailable } from "../protocol/errors.ts";
import { unusable } from "./outcome.ts";

/** One POST to the server with the token, over TLS or on this very machine, and its answer. */

export interface PosterOptions {
  /** Where the server is, as `corpusEndpoint` makes it. */
  readonly base: URL;
  /** Certificates in PEM that are trusted instead of the system's. */
  readonly ca?: Buffer;
  /** Asked before every request. Undefined sends none. */
  readonly token: () => Promise<string | undefined>;
}

export interface Post {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body: string;
  readonly signal: AbortSignal;
}

export interface Poster {
  /** @throws the signal's reason; whatever became of the connection, for `connectionError` to read */
  post(post: Post): Promise<http.IncomingMessage>;
  close(): void;
}

/** A connection that is not there by then, TLS included, will not come. */
const CONNECT_TIMEOUT_MS = 4_000;
/** The most of an answer, or of one event, that is kept in memory. */
export const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** How long a server may take to end its answer once the bridge has read all that it needs. */
const LINGER_MS = 1_000;

/** Keeps its connections between posts, until `close`. */
export function createPoster({ base, ca, token }: PosterOptions): Poster {
  const isTls = base.protocol === "https:";
  const agent = isTls
    ? new https.Agent({ keepAlive: true, rejectUnauthorized: true, ...(ca !== undefined && { ca }) })
    : new http.Agent({ keepAlive: true });

  return {
    async post({ path, headers, body, signal }) {
      const bearer = await token();
      signal.throwIfAborted();
      const request = (isTls ? https : http).request({
        agent,
        hostname: base.hostname.replace(/^\[|\]$/g, ""),
        port: base.port,
        method: "POST",
        path,
        headers: {
          "content-type": "application/json",
          "content-length": Buffer.byteLength(body),
          ...headers,
          ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        },
      });
      boundConnecting(request, isTls);
      const abort = () => request.destroy(signal.reason);
      signal.addEventListener("abort", abort, { once: true });
      request.once("close", () => signal.removeEventListener("abort", abort));
      const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
      request.once("response", resolve).on("error", reject);
      // Whoever reads the body is told of its loss by the reading.
      request.once("response", (response) => response.on("error", () => {}));
      request.end(body);
      return promise;
    },

    close: () => agent.destroy(),
  };
}

export const isEventStream = ({ statusCode, headers }: http.IncomingMessage): boolean =>
  statusCode === 200 && /^text\/event-stream\b/i.test(headers["content-type"] ?? "");

/** @throws RpcError -32010 for more than is kept */
export async function readText(response: http.IncomingMessage): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of bytesOf(response)) {
    size += piece.length;
    if (size > MAX_ANSWER_BYTES) throw tooLong();
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}

export const tooLong = () =>
  backendUnavailable({ retryable: false, detail: `the server's answer is longer than ${MAX_ANSWER_BYTES} bytes` });

/** Leaves the response open when the reader stops early, so that the connection can be used again. */
export const bytesOf = (response: http.IncomingMessage): AsyncIterable<Uint8Array> =>
  response.iterator({ destroyOnReturn: false });

/** Lets the answer end by itself for a moment, which keeps the connection. */
export function linger(response: http.IncomingMessage): void {
  if (response.destroyed) return;
  const timer = setTimeout(() => response.destroy(), LINGER_MS).unref();
  response.once("close", () => clearTimeout(timer));
  response.resume();
}

function boundConnecting(request: http.ClientRequest, isTls: boolean): void {
  request.once("socket", (socket) => {
    if (!socket.connecting) return;
    const detail = `no connection within ${CONNECT_TIMEOUT_MS} ms`;
    const timer = setTimeout(() => request.destroy(unusable(detail)), CONNECT_TIMEOUT_MS);
    const clear = () => clearTimeout(timer);
    socket.once(isTls ? "secureConnect" : "connect", clear);
    request.once("close", clear);
  });
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
