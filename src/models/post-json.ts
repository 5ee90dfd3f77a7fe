import { ProviderFailure } from "./provider-failure.ts";

export interface JsonPost {
  readonly url: string;
  readonly apiKey: string | undefined;
  readonly body: unknown;
  readonly timeoutMs: number;
  /** The answer is refused past this size. */
  readonly maxResponseBytes: number;
  readonly signal: AbortSignal;
}

/** Statuses that say "not now" rather than "not like this". */
const TEMPORARY_STATUSES = new Set([408, 425, 429, 500, 502, 503, 504]);

/**
 * What a model server answers to one POST, parsed from JSON but otherwise unchecked.
 *
 * Redirects are not followed: the key is for the configured server alone.
 *
 * @throws ProviderFailure when the server cannot be reached, is too slow, refuses, or answers no JSON; the signal's reason
 *   when it aborts
 */
export async function postJson(post: JsonPost): Promise<unknown> {
  const deadline = AbortSignal.timeout(post.timeoutMs);
  try {
    const response = await fetch(post.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json",
        ...(post.apiKey === undefined ? {} : { authorization: `Bearer ${post.apiKey}` }),
      },
      body: JSON.stringify(post.body),
      redirect: "manual",
      signal: AbortSignal.any([post.signal, deadline]),
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw refused(response);
    }
    return parseJson(await readText(response, post.maxResponseBytes));
  } catch (error) {
    if (post.signal.aborted) throw post.signal.reason;
    if (error instanceof ProviderFailure) throw error;
    if (deadline.aborted) throw new ProviderFailure(`no answer within ${post.timeoutMs} ms`, { temporary: true });
    throw new ProviderFailure(`connection failed (${systemCode(error)})`, { temporary: true });
  }
}

function refused(response: Response): ProviderFailure {
  return new ProviderFailure(`answered HTTP ${response.status}`, {
    temporary: TEMPORARY_STATUSES.has(response.status),
    retryAfterMs: retryAfterMs(response.headers.get("retry-after"), Date.now()),
  });
}

async function readText(response: Response, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new ProviderFailure(`answered more than ${maxBytes} bytes`, { temporary: false });
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message quotes the answer.
    throw new ProviderFailure("answered something that is not JSON", { temporary: false });
  }
}

/** The code of a network error, such as ECONNREFUSED; its message would name the address. */
function systemCode(error: unknown): string {
  for (let link = error; link instanceof Error; link = link.cause) {
    if ("code" in link && typeof link.code === "string") return link.code;
  }
  return "no code";
}

/**
 * Milliseconds that a `Retry-After` header asks for: a number of seconds or an HTTP date; undefined when it is neither.
 *
 * @see RFC 9110 §10.2.3
 */
export function retryAfterMs(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined;
  const value = header.trim();
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1_000;
  const date = Date.parse(value);
  return /[A-Za-z]/.test(value) && Number.isFinite(date) ? Math.max(0, date - nowMs) : undefined;
}
