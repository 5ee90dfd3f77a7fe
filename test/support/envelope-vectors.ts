import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { expandVector } from "./expand-vector.ts";
import type { Response } from "./rcp-server.ts";
import { expectValidError } from "./validate-response.ts";

/** The shared vectors of bodies and what answers them, whatever door the bodies come through. */

interface Expected {
  readonly id: string | number | null;
  readonly code?: number;
  readonly result?: true;
}

export interface EnvelopeEntry {
  readonly id: string;
  readonly path: string;
  readonly session: boolean;
  readonly raw?: string;
  readonly body?: unknown;
  readonly rawGen?: unknown;
  readonly expect: { readonly http: number; readonly single?: Expected; readonly batch?: readonly Expected[] };
  readonly note?: string;
}

const file = new URL("../vectors/data/envelope.json", import.meta.url);
export const ENVELOPE_ENTRIES: readonly EnvelopeEntry[] = JSON.parse(readFileSync(file, "utf8")).entries;

/** The bytes that an entry sends, as text. */
export function envelopeBody({ raw, body, rawGen }: EnvelopeEntry): string {
  if (raw !== undefined) return raw;
  return body !== undefined ? JSON.stringify(expandVector(body)) : String(expandVector(rawGen));
}

export function expectEnvelope(
  answer: { readonly status: number | undefined; readonly text: string; readonly body: Response | undefined },
  { expect: expected }: EnvelopeEntry,
): void {
  expect(answer.status).toBe(expected.http);
  if (expected.http === 204) expect(answer.text).toBe("");
  if (expected.single) expectAnswer(answer.body, expected.single);
  if (expected.batch) expectBatch(answer.body, expected.batch);
  expect(answer.text).not.toContain("-32603");
}

function expectAnswer(response: Response | undefined, expected: Expected): void {
  expect(response).toMatchObject({ jsonrpc: "2.0", id: expected.id });
  if (expected.result) expect(response?.result).toBeTypeOf("object");
  else {
    expect(response?.error?.code).toBe(expected.code);
    expectValidError(response);
  }
}

/** Members may come in any order; the ids of these entries tell them apart, and refusals without an id are alike. */
function expectBatch(response: unknown, expected: readonly Expected[]): void {
  expect(response).toBeInstanceOf(Array);
  const answers = response as Response[];
  expect(answers).toHaveLength(expected.length);
  const byId = (a: { id?: unknown }, b: { id?: unknown }) => (JSON.stringify(a.id) < JSON.stringify(b.id) ? -1 : 1);
  const sorted = answers.toSorted(byId);
  for (const [index, one] of expected.toSorted(byId).entries()) expectAnswer(sorted[index], one);
}
