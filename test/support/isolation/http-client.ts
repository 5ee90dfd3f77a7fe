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
 * @param authority certificate of the authority to trust, for an `https:` address, which is an ingress's: an old one may give up an answer
 *   that comes before it has seen the request's end (Caddy 2.6: "aborting with incomplete response")
 */
export function httpClient(url: string, authority?: string): HttpClient {
  const { hostname, port } = new URL(url);
  const isTls = authority !== undefined;
  const agent = isTls ? new https.Agent({ keepAlive: true, ca: authority }) : new http.Agent({ keepAlive: true });
  const { request: send } = isTls ? https : http;
  const post: HttpClient["post"] = (path, body, headers) => {
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
  };
  /** Reads once more what an ingress has cut off in the middle. What leaves a trace is not asked twice. */
  const postThroughIngress: HttpClient["post"] = (path, body, headers) => {
    const first = post(path, body, headers);
    if (!path.endsWith("/retrieve") || body.includes('"sessionId"')) return first;
    const answer = first.answer.catch((error: Error) => {
      console.info(`asked again, because the ingress gave no whole answer: ${error.message}`);
      return post(path, body, headers).answer;
    });
    return { ...first, answer };
  };
  return { post: isTls ? postThroughIngress : post, close: () => agent.destroy() };
}
