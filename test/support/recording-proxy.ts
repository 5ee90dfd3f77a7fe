import http from "node:http";
import type { AddressInfo } from "node:net";

export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

export interface RecordingProxy {
  readonly url: string;
  /** Everything that came, whether it was answered or not. */
  readonly requests: RecordedRequest[];
  forwardTo(port: number): void;
  close(): Promise<void>;
}

/** What stands between a client and a server and writes down what crosses. */
export async function recordingProxy(): Promise<RecordingProxy> {
  const requests: RecordedRequest[] = [];
  let port = 0;
  const proxy = http.createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece);
    const body = Buffer.concat(pieces);
    const { method = "", url: path = "", headers } = request;
    requests.push({ method, path, body: body.toString("utf8") });
    const onward = http.request({ host: "127.0.0.1", port, method, path, headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.end(body);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    requests,
    forwardTo: (to) => {
      port = to;
    },
    close: () => {
      proxy.closeAllConnections();
      return new Promise((resolve) => proxy.close(() => resolve()));
    },
  };
}
