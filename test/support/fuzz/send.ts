import net from "node:net";
import type { FuzzRequest } from "./requests.ts";

export interface FuzzAnswer {
  /** 0 when the connection was closed without an answer. */
  readonly status: number;
  readonly type: string;
  /** Status line and headers. */
  readonly head: string;
  readonly text: string;
}

/** Sends bytes that no HTTP client would and reads one answer, or that the server closes. Rejects when neither comes in time. */
export function sendRaw(
  port: number,
  { verb, path, headers, body }: FuzzRequest,
  withinMs: number,
): Promise<FuzzAnswer> {
  const lines = [...headers, ["content-length", String(body.length)], ["connection", "close"]] as const;
  const head = `${verb} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, "127.0.0.1");
    const chunks: Buffer[] = [];
    socket.on("data", (chunk) => {
      chunks.push(chunk);
      if (isWhole(Buffer.concat(chunks))) socket.destroy();
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      clearTimeout(late);
      resolve(readAnswer(Buffer.concat(chunks)));
    });
    const late = setTimeout(() => {
      reject(
        new Error(
          `no end of the answer within ${withinMs} ms; so far: ${Buffer.concat(chunks).toString().slice(0, 300)}`,
        ),
      );
      socket.destroy();
    }, withinMs);
    socket.write(Buffer.from(head + body, "latin1"));
  });
}

/** A connection that the request asked to keep is kept, so its end says nothing. */
function isWhole(received: Buffer): boolean {
  const end = received.lastIndexOf("\r\n\r\n");
  const head = received.subarray(0, received.indexOf("\r\n\r\n")).toString("latin1");
  const length = /^content-length: (\d+)/im.exec(head)?.[1];
  if (length !== undefined) return received.length >= head.length + 4 + Number(length);
  return /^transfer-encoding: chunked/im.test(head) && end === received.length - 4 && end > head.length;
}

const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";

function readAnswer(received: Buffer): FuzzAnswer {
  const bytes = received.indexOf(CONTINUE) === 0 ? received.subarray(CONTINUE.length) : received;
  const end = bytes.indexOf("\r\n\r\n");
  const head = bytes.subarray(0, Math.max(end, 0)).toString("latin1");
  const rest = bytes.subarray(end + 4);
  // Strict: an answer that is no UTF-8 fails here.
  const text = new TextDecoder("utf-8", { fatal: true }).decode(
    /^transfer-encoding: chunked/im.test(head) ? joinChunks(rest) : rest,
  );
  return {
    status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0),
    head,
    type: /^content-type: (.*)$/im.exec(head)?.[1]?.trim() ?? "",
    text: end < 0 ? "" : text,
  };
}

function joinChunks(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const line = bytes.indexOf("\r\n", at);
    const length = Number.parseInt(bytes.subarray(at, line).toString("latin1"), 16);
    if (!(length > 0)) return Buffer.concat(parts);
    parts.push(bytes.subarray(line + 2, line + 2 + length));
    at = line + 2 + length + 2;
  }
}
