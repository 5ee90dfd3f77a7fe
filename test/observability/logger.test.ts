import { expect, test } from "vitest";
import { createLogger } from "../../src/observability/logger.ts";
import { backendUnavailable } from "../../src/protocol/errors.ts";
import { PlainError } from "../../src/protocol/failure.ts";
import { compile, noRows, sql } from "../../src/sql/sql.ts";
import { openTestDatabase } from "../support/database.ts";

function collect(level: "info" | "warn" | "silent" = "info") {
  const lines: string[] = [];
  const observe = createLogger({ level }, { write: (line: string) => void lines.push(line) });
  return { observe, read: () => lines.map((line) => JSON.parse(line)) };
}

test("each observation is one line of JSON: its kind, its fields, a level and a time", () => {
  const { observe, read } = collect();
  observe({ kind: "listening", url: "http://127.0.0.1:8787/rcp" });
  observe({ kind: "token-refused", check: "exp", issuer: "https://issuer.test" });

  expect(read()).toEqual([
    { level: 30, time: expect.stringMatching(/^\d{4}-.*Z$/), url: "http://127.0.0.1:8787/rcp", event: "listening" },
    { level: 40, time: expect.any(String), check: "exp", issuer: "https://issuer.test", event: "token-refused" },
  ]);
});

test("an error is printed with its causes, but not with what a driver hangs on it", () => {
  const { observe, read } = collect();
  const cause = Object.assign(new PlainError("answered HTTP 500"), {
    code: "E500",
    detail: "Key (id)=(secret) exists",
  });
  const error = backendUnavailable({ retryable: true, detail: "the model server failed" }, { cause });
  observe({ kind: "internal-error", where: "retrieve", error });

  const [line] = read();
  expect(line).toMatchObject({
    level: 50,
    where: "retrieve",
    error: {
      message: "A backend is not available",
      stack: expect.any(String),
      cause: { message: "answered HTTP 500", code: "E500" },
    },
  });
  expect(JSON.stringify(line)).not.toContain("secret");
});

test("of an error that Postgres sent only its code and where it was met are printed: its message quotes values", async () => {
  const { observe, read } = collect();
  const { admin, close } = await openTestDatabase();
  for (const type of [sql`int`, sql`timestamptz`]) {
    const statement = compile(sql`select ${"hunter2\n    at the gate"}::text::${type}`, noRows);
    const cause: unknown = await admin.query(statement).catch((error: unknown) => error);
    expect(cause).toMatchObject({ message: expect.stringContaining("hunter2") });
    const error = backendUnavailable({ retryable: true, detail: "the database is out of reach" }, { cause });
    observe({ kind: "backend-failed", where: "index/add", code: -32010, error });
  }
  await close();

  const lines = read();
  expect(lines.map(({ error }) => error.cause)).toEqual([
    { name: "error", code: "22P02", stack: expect.stringMatching(/^at .+\.[jt]s:\d+/) },
    { name: "error", code: "22007", stack: expect.stringMatching(/^at .+\.[jt]s:\d+/) },
  ]);
  expect(lines.map(({ error }) => error.message)).toEqual(["A backend is not available", "A backend is not available"]);
  expect(JSON.stringify(lines)).not.toMatch(/hunter2|the gate/);
});

test("what others say is not printed: neither an error's message, nor a name or code made of it", () => {
  const { observe, read } = collect();
  const errors = [
    () => JSON.parse("hunter2"),
    () => new URL("hunter2"),
    () => Buffer.alloc("hunter2" as never),
    () => {
      throw Object.assign(new Error("hunter2\nhunter2"), { name: "hunter2", code: "hunter2" });
    },
  ];
  for (const failing of errors) {
    try {
      failing();
    } catch (error) {
      observe({ kind: "internal-error", where: "x", error });
    }
  }

  const lines = read();
  expect(lines.map(({ error }) => [error.name, error.message, error.code])).toEqual([
    ["SyntaxError", undefined, undefined],
    ["TypeError", undefined, "ERR_INVALID_URL"],
    ["TypeError", undefined, "ERR_INVALID_ARG_TYPE"],
    ["Error", undefined, undefined],
  ]);
  expect(lines.every(({ error }) => /^at .+/.test(error.stack))).toBe(true);
  expect(JSON.stringify(lines)).not.toContain("hunter2");
});

test("a stack that does not hold the message is left out with it", () => {
  const { observe, read } = collect();
  const error = Object.assign(new Error("hunter2"), { severity: "ERROR", code: "22P02" });
  expect(error.stack).toContain("hunter2");
  error.message = "another";
  observe({ kind: "internal-error", where: "x", error });

  expect(read()[0].error).toEqual({ name: "Error", code: "22P02" });
});

test("what is thrown but no error is named by its type alone, and a circle of causes ends", () => {
  const { observe, read } = collect();
  observe({ kind: "internal-error", where: "x", error: "secret" });
  const circle = new PlainError("round");
  circle.cause = circle;
  observe({ kind: "internal-error", where: "x", error: circle });

  const [thrown, round] = read();
  expect(thrown.error).toEqual({ name: "thrown", message: "a string was thrown, not an error" });
  expect(round.error.cause.cause.message).toBe("round");
});

test("observations below the level are not written", () => {
  const { observe, read } = collect("warn");
  observe({ kind: "listening", url: "http://127.0.0.1:1/rcp" });
  observe({ kind: "warning", text: "something to know" });
  expect(read().map(({ event }) => event)).toEqual(["warning"]);
});
