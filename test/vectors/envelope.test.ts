import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { expandVector } from "../support/expand-vector.ts";
import { type RcpServer, type Response, startRcpServer } from "../support/rcp-server.ts";
import { expectValidError } from "../support/validate-response.ts";

interface Expected {
  readonly id: string | number | null;
  readonly code?: number;
  readonly result?: true;
}

interface Entry {
  readonly id: string;
  readonly path: string;
  readonly session: boolean;
  readonly raw?: string;
  readonly body?: unknown;
  readonly rawGen?: unknown;
  readonly expect: { readonly http: number; readonly single?: Expected; readonly batch?: readonly Expected[] };
  readonly note?: string;
}

const file = new URL("data/envelope.json", import.meta.url);
const entries: readonly Entry[] = JSON.parse(readFileSync(file, "utf8")).entries;

let database: TestDatabase;
let server: RcpServer;
let token: string;
beforeAll(async () => {
  database = await openTestDatabase();
  server = await startRcpServer({
    config: {
      auth: { combinedTokens: true },
      sessions: { mode: "required", maxPerPrincipal: 1_000 },
      limits: { maxBatch: 100, maxJsonDepth: 64 },
      server: { maxBodyBytes: 1_048_576 },
    },
    database: database.database,
  });
  token = await server.token({ credentials: ["read", "add", "delete"] });
});
afterAll(async () => {
  await server.close();
  await database.close();
});

describe("the shared envelope vectors over HTTP", () => {
  test("are 126, each with one of the three kinds of body", () => {
    expect(entries).toHaveLength(126);
    for (const { raw, body, rawGen } of entries)
      expect([raw, body, rawGen].filter((one) => one !== undefined)).toHaveLength(1);
  });

  test.each(entries.map((entry) => [entry.id, entry.note ?? "", entry] as const))(
    "%s %s",
    async (_id, _note, entry) => {
      const session = entry.session ? { session: await server.initialize(token) } : {};
      const answer = await server.post(entry.path, bodyOf(entry), { token, ...session });

      expect(answer.status).toBe(entry.expect.http);
      if (entry.expect.http === 204) expect(answer.text).toBe("");
      if (entry.expect.single) expectAnswer(answer.body, entry.expect.single);
      if (entry.expect.batch) expectBatch(answer.body, entry.expect.batch);
      expect(answer.text).not.toContain("-32603");
      expect(answer.text).not.toMatch(/SECRET|polluted|at .*\.ts/);
      expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
    },
  );

  test("a nonce inherited from __proto__ is not echoed", async () => {
    const body = '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"__proto__":{"nonce":"x"}}}';
    const answer = await server.post("/rcp/ping", body, { token });
    expect(answer.text).toBe('{"jsonrpc":"2.0","id":1,"result":{}}');
  });

  test("leave a server that still answers", async () => {
    const answer = await server.call("ping", { nonce: "alive" }, { token });
    expect(answer.body?.result).toEqual({ nonce: "alive" });
  });
});

function bodyOf({ raw, body, rawGen }: Entry): string {
  if (raw !== undefined) return raw;
  return body !== undefined ? JSON.stringify(expandVector(body)) : String(expandVector(rawGen));
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
