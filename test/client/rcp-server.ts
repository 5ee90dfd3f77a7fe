import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A real HTTP server on loopback whose answers a test writes one by one. */

export interface ReceivedCall {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: {
    readonly jsonrpc: string;
    readonly id: number;
    readonly method: string;
    readonly params: Record<string, unknown>;
  };
  readonly at: number;
}

export type Answer = (call: ReceivedCall, response: ServerResponse, request: IncomingMessage) => void | Promise<void>;

export interface RcpServer {
  readonly url: string;
  readonly calls: ReceivedCall[];
  close(): Promise<void>;
}

export async function startRcpServer(answer: Answer): Promise<RcpServer> {
  const calls: ReceivedCall[] = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const piece of request.setEncoding("utf8")) text += piece;
    const call = { path: request.url ?? "", headers: request.headers, body: JSON.parse(text), at: performance.now() };
    calls.push(call);
    await answer(call, response, request);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/rcp`,
    calls,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

export const sendResult = (call: ReceivedCall, response: ServerResponse, result: object): void =>
  sendJson(response, 200, { jsonrpc: "2.0", id: call.body.id, result });

export const sendError = (
  call: ReceivedCall,
  response: ServerResponse,
  code: number,
  data: object = {},
  status = 200,
): void =>
  sendJson(response, status, {
    jsonrpc: "2.0",
    id: status === 200 ? call.body.id : null,
    error: { code, message: `code ${code}`, data },
  });
