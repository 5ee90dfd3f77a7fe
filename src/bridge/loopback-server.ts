import http from "node:http";
import type { Place } from "../protocol/envelope.ts";
import { answerBody, MAX_MESSAGE_BYTES, refusal, tooLarge } from "./answer-body.ts";
import type { Bridge } from "./bridge.ts";

/** The bridge's clients over http on this machine (RCP §5.2). They share one lifecycle and one session. */

const BASE = "/rcp";

/** A page whose name was pointed at this machine sends its own name, so it is not let in (DNS rebinding). */
const LOOPBACK_HOST = /^(127(\.\d{1,3}){3}|localhost|\[::1\])(:\d{1,5})?$/i;
/** A browser cannot send it to another origin without a preflight, which no header here ever allows. */
const JSON_TYPE = /^application\/json[ \t]*(;[ \t]*charset="?utf-8"?[ \t]*)?$/i;
const EVENT_STREAM = /(^|,)[ \t]*text\/event-stream[ \t]*(;|,|$)/i;

/** What is still being written to a client when the bridge ends. */
const CLOSE_GRACE_MS = 1_000;

export interface LoopbackServer {
  readonly url: string;
  close(): Promise<void>;
}

/** @param address numeric; whoever calls has made sure that only this machine can reach it */
export async function listenOnLoopback(
  bridge: Bridge,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<LoopbackServer> {
  const server = createServer(bridge);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, host, resolve);
  });
  const bound = server.address();
  const boundPort = typeof bound === "object" && bound !== null ? bound.port : port;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${boundPort}${BASE}`,
    close: () =>
      new Promise((resolve) => {
        const timer = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
        server.close(() => {
          clearTimeout(timer);
          resolve();
        });
      }),
  };
}

function createServer(bridge: Bridge): http.Server {
  return http.createServer((request, response) => {
    response.setHeader("cache-control", "no-store");
    const place = placeOf(request.url ?? "");
    if (!LOOPBACK_HOST.test(request.headers.host ?? "")) response.writeHead(403).end();
    else if (place === undefined) response.writeHead(404).end();
    else if (request.method !== "POST") response.writeHead(405, { allow: "POST" }).end();
    else if (!JSON_TYPE.test(request.headers["content-type"] ?? "")) response.writeHead(415).end();
    // Whoever broke off gets no answer.
    else void answer(request, response, place, bridge).catch(() => response.destroy());
  });
}

type PathPlace = Extract<Place, { kind: "path" }>;

/** The path as it was sent, undecoded, because the method in it is compared byte for byte. */
function placeOf(target: string): PathPlace | undefined {
  const [path = ""] = target.split("?", 1);
  if (path === BASE) return { kind: "path", method: undefined };
  if (!path.startsWith(`${BASE}/`)) return undefined;
  return { kind: "path", method: path.slice(BASE.length + 1) };
}

async function answer(
  request: http.IncomingMessage,
  response: http.ServerResponse,
  place: PathPlace,
  bridge: Bridge,
): Promise<void> {
  const body = await readBody(request);
  if (body === undefined) {
    response.writeHead(413, { "content-type": "application/json", connection: "close" });
    response.end(refusal(tooLarge("a body")));
    return;
  }
  // A batch is answered in one piece.
  const wantsEvents = place.method !== undefined && EVENT_STREAM.test(request.headers.accept ?? "");
  const onFrame = wantsEvents ? (frame: string | undefined) => writeEvent(response, frame) : undefined;
  const text = await answerBody(body, place, bridge, { gone: goneSignal(response), onFrame });
  if (!bridge.isOpen && !response.headersSent) response.setHeader("connection", "close");
  if (text === undefined) response.writeHead(204).end();
  else if (response.headersSent) response.end(`data: ${text}\n\n`);
  else response.writeHead(200, { "content-type": "application/json" }).end(text);
}

/** @returns undefined for a body over the limit */
async function readBody(request: http.IncomingMessage): Promise<Uint8Array | undefined> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  // What is left of a body over the limit is read by Node and dropped.
  for await (const piece of request.iterator({ destroyOnReturn: false })) {
    size += piece.length;
    if (size > MAX_MESSAGE_BYTES) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** Settles when the event is out, which holds back the server for a client that reads slowly. */
function writeEvent(response: http.ServerResponse, frame: string | undefined): Promise<void> {
  if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" });
  return new Promise((resolve) => {
    response.write(frame === undefined ? ":\n\n" : `data: ${frame}\n\n`, () => resolve());
  });
}

function goneSignal(response: http.ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) controller.abort();
  });
  return controller.signal;
}
