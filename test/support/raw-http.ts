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
  /** True when the server ended the connection. */
  readonly closed: boolean;
}

/** For as long an answer is waited for, or the end of the connection; the machine may be busy. */
const PATIENCE_MS = 20_000;
/** For as long after the answers one too many is. */
const QUIET_MS = 300;

/**
 * Writes bytes to a socket and reads until the server closes it.
 *
 * @param until "closed", or after how many answers the connection may stay open: it is left when nothing more comes then
 */
export function sendBytes(
  port: number,
  bytes: string | Uint8Array,
  until: "closed" | number = 1,
): Promise<SocketAnswer> {
  return new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1");
    const chunks: Buffer[] = [];
    const read = () => {
      const text = Buffer.concat(chunks).toString("latin1");
      return { text, statuses: [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => Number(match[1])) };
    };
    const finish = (closed: boolean) => {
      socket.destroy();
      resolve({ ...read(), closed });
    };
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      if (until !== "closed" && read().statuses.length >= until) socket.setTimeout(QUIET_MS);
    });
    // A reset, or a write after the server closed, is a close like any other.
    socket.on("error", () => finish(true));
    socket.on("close", () => finish(true));
    socket.setTimeout(PATIENCE_MS, () => finish(false));
    socket.write(bytes);
  });
}
