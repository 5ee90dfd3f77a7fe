import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { TLS_CERT, TLS_KEY } from "../support/tls-pair.ts";

/** A real https server on loopback that answers as a test says: well, slowly, wrongly or not at all. */

export interface ReceivedCall {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: {
    readonly id?: number;
    readonly method: string;
    readonly params: Record<string, unknown> & { readonly id?: unknown };
  };
}

export type Answer = (call: ReceivedCall, response: ServerResponse, request: IncomingMessage) => void | Promise<void>;

export interface FakeServer {
  readonly base: URL;
  readonly calls: ReceivedCall[];
  /** The methods that arrived, in order. */
  methods(): string[];
  close(): Promise<void>;
}

/** @param port the one of a server that was closed, to be it again */
export async function startFakeServer(answer: Answer, port = 0): Promise<FakeServer> {
  const calls: ReceivedCall[] = [];
  const server = https.createServer({ cert: TLS_CERT, key: TLS_KEY }, async (request, response) => {
    let text = "";
    for await (const piece of request.setEncoding("utf8")) text += piece;
    const call = { path: request.url ?? "", headers: request.headers, text, body: JSON.parse(text) };
    calls.push(call);
    await answer(call, response, request);
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    base: new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}/rcp`),
    calls,
    methods: () => calls.map(({ body }) => body.method),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export function sendText(response: ServerResponse, status: number, text: string, headers: Record<string, string> = {}) {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(text);
}

export const sendResult = (call: ReceivedCall, response: ServerResponse, result: object): void =>
  sendText(response, 200, JSON.stringify({ jsonrpc: "2.0", id: call.body.id, result }));

export const sendError = (call: ReceivedCall, response: ServerResponse, code: number, data?: object): void =>
  sendText(
    response,
    200,
    JSON.stringify({ jsonrpc: "2.0", id: call.body.id, error: { code, message: `code ${code}`, data } }),
  );

export const INITIALIZED = {
  protocolVersion: 1,
  server: { name: "fake", version: "1" },
  capabilities: { retrieve: {} },
};

/** Opens sessions `s1`, `s2`, … and ends them; everything else is the test's. */
export function withSessions(answer: Answer): Answer {
  let opened = 0;
  return (call, response, request) => {
    if (call.body.method === "initialize") {
      opened += 1;
      return sendResult(call, response, { ...INITIALIZED, _meta: { session: `s${opened}`, conformance: "L1" } });
    }
    return call.body.method === "shutdown" ? sendResult(call, response, {}) : answer(call, response, request);
  };
}

export function startStream(response: ServerResponse): (text: string) => void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  return (text) => void response.write(text);
}

export const event = (message: object): string => `data: ${JSON.stringify(message)}\n\n`;
