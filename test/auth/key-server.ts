import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** An identity provider's key endpoint on loopback that does what the test says and counts who asks. */
export interface KeyServer {
  readonly url: string;
  readonly port: number;
  requests: number;
  /** What it answers from now on. */
  answer: RequestListener;
  close(): Promise<void>;
}

export const serveKeys =
  (...keys: readonly object[]): RequestListener =>
  (_, response) => {
    response.setHeader("content-type", "application/json").end(JSON.stringify({ keys }));
  };

/** @param port a free one unless given, to come back where another server was */
export async function keyServer(answer: RequestListener, port = 0): Promise<KeyServer> {
  const server: Server = createServer((request, response) => {
    state.requests++;
    state.answer(request, response);
  });
  await new Promise<void>((listening) => server.listen(port, "127.0.0.1", listening));
  const { port: taken } = server.address() as AddressInfo;
  const state: KeyServer = {
    url: `http://127.0.0.1:${taken}/keys`,
    port: taken,
    requests: 0,
    answer,
    close: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
  return state;
}
