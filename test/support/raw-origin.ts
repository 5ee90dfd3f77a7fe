import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { configSchema } from "../../src/config/config.ts";
import { createFetcher, type Fetcher } from "../../src/fetch/fetch-text.ts";

/** Writes until the connection is gone, or resets it. */
export type Writer = (write: (bytes: string) => void, reset: () => void) => void;

export interface RawOrigin {
  readonly port: number;
  /** What was received, one entry per connection. */
  readonly requests: string[];
  close(): Promise<void>;
}

/**
 * A loopback server that answers each connection with the bytes that its path is given.
 *
 * @param answers by path, without what stands behind its `?`
 */
export async function startRawOrigin(answers: Readonly<Record<string, string | Writer>>): Promise<RawOrigin> {
  const requests: string[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", (data) => {
      const head = data.toString("latin1");
      requests.push(head);
      const answer = answers[head.split(/[ ?]/)[1] ?? ""] ?? "HTTP/1.1 404 Not Found\r\n\r\n";
      if (typeof answer === "string") socket.end(answer, "latin1");
      else
        answer(
          (bytes) => void (socket.destroyed || socket.write(bytes)),
          () => socket.resetAndDestroy(),
        );
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const close = async () => {
    server.close();
    await once(server, "close");
  };
  return { port: (server.address() as AddressInfo).port, requests, close };
}

/** A fetcher to whom every name is public and every public address the origin. */
export function fetcherTo(origin: Pick<RawOrigin, "port">, settings: object = {}, limits: object = {}): Fetcher {
  const fetch = { enabled: true, schemes: ["http", "https"], ports: [80, 443], allowedHosts: ["*"], ...settings };
  return createFetcher(configSchema.parse({ fetch, limits }), {
    resolve: async () => ["93.184.215.14"],
    dial: async () => {
      const socket = connect(origin.port, "127.0.0.1");
      await once(socket, "connect");
      return socket;
    },
  });
}
