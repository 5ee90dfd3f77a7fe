import type { JSONWebKeySet } from "jose";
import { PlainError } from "../protocol/failure.ts";

export type Fetch = typeof globalThis.fetch;

/**
 * A key set as its issuer publishes it (RFC 7517 §5).
 *
 * The address is the operator's and nobody else's: a redirect is a failure, wherever it leads.
 *
 * @throws Error when the answer is not 200, is no JSON, is too large or takes too long
 */
export async function fetchKeySet(
  url: string,
  limits: { readonly timeoutMs: number; readonly maxBytes: number },
  fetch: Fetch,
): Promise<JSONWebKeySet> {
  const response = await fetch(url, {
    redirect: "error",
    signal: AbortSignal.timeout(limits.timeoutMs),
    headers: { accept: "application/jwk-set+json, application/json" },
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new PlainError(`the key set's address answered ${response.status} where 200 was due`);
  }
  return JSON.parse(await limitedText(response, limits.maxBytes));
}

/** The body as text. Bytes are counted as they come, after decompression. */
async function limitedText(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    // Leaving the loop cancels the stream.
    if (bytes > maxBytes) throw new PlainError(`the key set is larger than ${maxBytes} bytes (auth.jwksMaxBytes)`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
