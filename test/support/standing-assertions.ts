import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { expectNothingLent } from "./lent-connections.ts";
import type { RcpServer, Response } from "./rcp-server.ts";

/** What is true of every answer, whatever was asked: the standing assertions of the shared vectors' README. */

const SQL =
  /\bselect\b.+\bfrom\b|\b(?:insert into|delete from)\b|pgrcp[_.]|sqlstate|\brelation "|\bcolumn "|syntax error/i;
const STACK = /\n\s+at\s|node:internal|\.[cm]?[jt]s:\d/;
const PATH = /(?:^|[\s"'(=])\/(?:app|etc|home|opt|proc|root|srv|tmp|usr|var|work)\/|file:\/\/|node_modules/;

/** Names and choices that the protocol itself has: an error says them of its own accord. */
const vocabulary = new Set([
  ...["deadlineMs", "idempotencyKey", "logLevel", "progressToken", "traceId"],
  // Refused as a name, by name.
  "__proto__",
]);
collect(JSON.parse(readFileSync(new URL("../vectors/data/rcp-1.0.json", import.meta.url), "utf8")), vocabulary);

/** Shorter texts are words like any other, and an error may hold them by chance. */
const TELLING_LENGTH = 6;

export interface Sent {
  /** The body as it was sent, or the value that it says; or any texts that were sent elsewhere. */
  readonly payload?: unknown;
  readonly token?: string;
  /** Words of the server's own configuration that the payload holds too, such as the names of its filter fields. */
  readonly known?: readonly string[];
  /** Texts that only another tenant may see. */
  readonly foreign?: readonly string[];
}

/** Fails when an answer holds what no answer may. */
export function expectStanding(text: string, sent: Sent = {}): void {
  expect(text).not.toContain("-32603");
  for (const foreign of sent.foreign ?? []) expect(text).not.toContain(foreign);
  for (const part of sent.token?.split(".") ?? []) if (part.length > 8) expect(text).not.toContain(part);
  const texts = tellingTexts(sent);
  for (const error of errorsIn(text)) {
    // An option that is not advertised is named, as RCP §12.1 asks.
    const { option: _, ...data } = error.data ?? {};
    const shown = [error.message, ...Object.values(data)].join("\n");
    for (const [what, pattern] of Object.entries({ SQL, STACK, PATH })) expect(shown, what).not.toMatch(pattern);
    for (const one of texts) expect(shown.includes(one), `the error repeats what was sent: ${one}`).toBe(false);
  }
  expectUnpolluted();
}

export function expectUnpolluted(): void {
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
}

/** Fails unless the server answers and has every connection back. */
export async function expectAlive(server: RcpServer, token: string): Promise<void> {
  await expectNothingLent();
  const { body } = await server.call("ping", { nonce: "alive" }, { token });
  expect(body?.result).toEqual({ nonce: "alive" });
}

function tellingTexts({ payload, known = [] }: Sent): string[] {
  const texts = new Set<string>();
  collect(typeof payload === "string" ? (parsed(payload) ?? payload) : payload, texts);
  return [...texts].filter((text) => text.length >= TELLING_LENGTH && !vocabulary.has(text) && !known.includes(text));
}

/** Every text in a value, names of members among them; of a long one its beginning. */
function collect(root: unknown, into: Set<string>): void {
  const pending = [root];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value === "string") into.add(value.slice(0, 40));
    else if (Array.isArray(value)) for (const one of value) pending.push(one);
    else if (typeof value === "object" && value !== null)
      for (const [name, member] of Object.entries(value)) pending.push(name, member);
  }
}

function errorsIn(text: string): NonNullable<Response["error"]>[] {
  const frames = /^(?:data|:)/.test(text) ? [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => data) : [text];
  return frames
    .flatMap((frame) => parsed(frame) as Response | readonly Response[] | undefined)
    .flatMap((response) => (response?.error === undefined ? [] : [response.error]));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
