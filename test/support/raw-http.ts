import http from "node:http";
import net from "node:net";

/** A request with everything under the test's control: the target as it is, headers in order and as often as given. */
export interface RawRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: readonly (readonly [string, string])[];
  readonly body?: string | Uint8Array;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

/** Sends one request on a connection of its own. */
export function sendRequest(port: number, request: RawRequest): Promise<RawAnswer> {
  const { method = "POST", path, headers = [], body } = request;
  const length = body === undefined ? [] : ["content-length", String(Buffer.byteLength(body))];
  const list = ["host", `127.0.0.1:${port}`, ...headers.flat(), ...length];
  return new Promise((resolve, reject) => {
    const sent = http.request({ host: "127.0.0.1", port, method, path, headers: list, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString("utf8");
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

export interface SocketAnswer {
  readonly statuses: readonly number[];
  readonly text: string;
  /** True when the server ended the connection within `waitMs`. */
  readonly closed: boolean;
}

/** Writes bytes to a socket and reads until the server closes it, or until nothing came for `waitMs`. */
export function sendBytes(port: number, bytes: string | Uint8Array, waitMs = 300): Promise<SocketAnswer> {
  return new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1");
    const chunks: Buffer[] = [];
    const finish = (closed: boolean) => {
      socket.destroy();
      const text = Buffer.concat(chunks).toString("latin1");
      const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => Number(match[1]));
      resolve({ statuses, text, closed });
    };
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    // A reset, or a write after the server closed, is a close like any other.
    socket.on("error", () => finish(true));
    socket.on("close", () => finish(true));
    socket.setTimeout(waitMs, () => finish(false));
    socket.write(bytes);
  });
}
