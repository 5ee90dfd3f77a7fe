import http from "node:http";
import https from "node:https";

export interface HttpAnswer {
  readonly status: number;
  readonly text: string;
}

export interface SentRequest {
  /** Undefined when the request was cut off. */
  readonly answer: Promise<HttpAnswer | undefined>;
  /** Destroys the socket, as a client that dies does. */
  cut(): void;
}

export interface HttpClient {
  post(path: string, body: string, headers: Readonly<Record<string, string>>): SentRequest;
  close(): void;
}

/**
 * A client with connections that it keeps and that different callers' requests share, as behind a gateway.
 *
 * @param authority certificate of the authority to trust, for an `https:` address
 */
export function httpClient(url: string, authority?: string): HttpClient {
  const { hostname, port } = new URL(url);
  const isTls = authority !== undefined;
  const agent = isTls ? new https.Agent({ keepAlive: true, ca: authority }) : new http.Agent({ keepAlive: true });
  const { request: send } = isTls ? https : http;
  return {
    post(path, body, headers) {
      const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer | undefined>();
      let isCut = false;
      const fail = (error: Error) => (isCut ? resolve(undefined) : reject(error));
      const request = send({ agent, hostname, port, path, method: "POST", headers }, (response) => {
        const pieces: Buffer[] = [];
        response.on("data", (piece: Buffer) => pieces.push(piece));
        response.on("error", fail);
        response.on("end", () => {
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(pieces).toString("utf8") });
        });
      });
      request.on("error", fail);
      request.setHeader("content-type", "application/json");
      request.end(body);
      return {
        answer: promise,
        cut() {
          isCut = true;
          request.destroy();
        },
      };
    },
    close: () => agent.destroy(),
  };
}
