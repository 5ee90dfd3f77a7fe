import { type IncomingMessage, request } from "node:http";
import type { Socket } from "node:net";
import { FetchRefusal } from "./refusal.ts";

const MAX_HEADER_BYTES = 16_384;

/**
 * One GET over a connection that is open already: no agent, so no pool and no proxy. What is sent is this and nothing of the
 * caller's.
 *
 * @throws FetchRefusal when no head of an answer comes
 */
export async function httpGet(url: URL, socket: Socket, accept: string, signal: AbortSignal): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  try {
    const message = request({
      createConnection: () => socket,
      path: url.pathname + url.search,
      headers: {
        host: url.host,
        accept,
        // Nothing to decompress, so nothing that grows.
        "accept-encoding": "identity",
        "user-agent": "pgrcp",
        connection: "close",
      },
      maxHeaderSize: MAX_HEADER_BYTES,
      insecureHTTPParser: false,
      signal,
    });
    message.on("response", resolve);
    message.on("error", reject);
    message.on("close", () => reject(new Error("closed before an answer")));
    message.end();
    return await promise;
  } catch (cause) {
    throw new FetchRefusal("response", { cause });
  }
}

/**
 * The body of an answer.
 *
 * @throws FetchRefusal when it is compressed, too large, of unknown length or breaks off
 */
export async function readBody(response: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  const { "content-encoding": encoding = "identity", "content-length": length } = response.headers;
  if (encoding.toLowerCase() !== "identity" || Number(length ?? 0) > maxBytes) throw new FetchRefusal("response");
  // What ends with its connection could not be told from what broke off.
  if (length === undefined && response.headers["transfer-encoding"] === undefined) throw new FetchRefusal("response");
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Uint8Array>) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) throw new FetchRefusal("response");
      chunks.push(chunk);
    }
  } catch (cause) {
    throw new FetchRefusal("response", { cause });
  }
  return Buffer.concat(chunks);
}
