import { expect } from "vitest";
import type { Response } from "../rcp-server.ts";
import { expectStanding } from "../standing-assertions.ts";
import { expectValidError, expectValidNotification, expectValidSuccess } from "../validate-response.ts";
import { CANARY } from "./odd-values.ts";
import type { FuzzRequest } from "./requests.ts";
import type { FuzzAnswer } from "./send.ts";

/** What every answer must be, however wrong its request was. */

const STATUSES = [200, 204, 400, 401, 404, 405, 408, 411, 413, 415, 417, 429, 431, 501, 505];
const REFUSALS = [-32700, -32600];

/** How often each answer was given, by status and codes: what a run has reached. */
export const tally = new Map<string, number>();

/** @param secrets what only another tenant may see */
export function judge(request: FuzzRequest, { status, type, text }: FuzzAnswer, secrets: readonly string[]): void {
  const codes = [...text.matchAll(/"error":\{"code":(-\d+)|"result":\{/g)].map(([, code]) => code ?? "result");
  for (const kind of codes.length === 0 ? [`HTTP ${status}`] : codes) tally.set(kind, (tally.get(kind) ?? 0) + 1);
  const [, token = ""] = request.headers[0]?.[1].split(" ") ?? [];
  // There is no tunnel to open: the connection is closed without a word.
  if (request.verb !== "CONNECT") expect(STATUSES).toContain(status);
  expectStanding(text, { token, foreign: secrets });
  if (request.verb === "HEAD") {
    expect(text).toBe("");
    return;
  }
  if (status !== 200) {
    if (text !== "" && type.startsWith("application/json")) {
      expectValidError(JSON.parse(text));
      expect(JSON.parse(text).id).toBeNull();
      expect(text).not.toContain(CANARY);
    }
    return;
  }
  if (type.startsWith("application/json") && !text.startsWith('{"status"'))
    judgeAnswers(request.body, JSON.parse(text));
  if (type.startsWith("text/event-stream")) {
    const frames = [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data));
    for (const frame of frames.slice(0, -1)) expectValidNotification(frame);
    judgeAnswers(request.body, frames.at(-1));
  }
}

function sentMessages(body: string): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.from(body, "latin1")));
  } catch {
    return undefined;
  }
}

function judgeAnswers(body: string, answered: Response | readonly Response[] | undefined): void {
  const sent = sentMessages(body);
  if (!Array.isArray(answered)) {
    judgeOne(sent, answered as Response | undefined, body);
    return;
  }
  const waiting = (sent as unknown[]).filter((one) => !isNotification(one));
  expect(answered).toHaveLength(waiting.length);
  for (const [index, one] of answered.entries()) judgeOne(waiting[index], one, body);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isNotification = (value: unknown): boolean =>
  isObject(value) && Object.hasOwn(value, "method") && typeof value.method === "string" && !Object.hasOwn(value, "id");

function judgeOne(sent: unknown, answered: Response | undefined, body: string): void {
  const message = isObject(sent) ? sent : {};
  const id = Object.hasOwn(message, "id") ? message.id : undefined;
  const canEcho =
    typeof id === "string" ||
    (typeof id === "number" && Number.isFinite(id) && (Number.isSafeInteger(id) || !Number.isInteger(id)));
  // JSON has no minus zero to read back.
  expect(answered?.id).toBe(canEcho ? (id === 0 ? 0 : id) : null);
  if (answered?.error === undefined) {
    expect(canEcho).toBe(true);
    expectValidSuccess(String(message.method), answered);
    return;
  }
  expectValidError(answered);
  const { code, message: said, data = {} } = answered.error;
  if (!canEcho) expect([...REFUSALS, -32013]).toContain(code);
  // An option that is not advertised is named; nothing else of what was sent is.
  expect(JSON.stringify([said, { ...data, option: undefined }])).not.toContain(CANARY);
  // Nothing is out of reach and nobody is in a hurry, so neither may be blamed for what was wrong with the message.
  if (code === -32010) expect(body).toContain("indexVersion");
  if (code === -32014) expect(body).toContain("deadlineMs");
}
