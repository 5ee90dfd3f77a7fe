import { expect, test } from "vitest";
import { createLogger } from "../../src/observability/logger.ts";

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
  const cause = Object.assign(new Error("duplicate key"), { code: "23505", detail: "Key (id)=(secret) exists" });
  observe({ kind: "internal-error", where: "retrieve", error: new Error("could not read", { cause }) });

  const [line] = read();
  expect(line).toMatchObject({
    level: 50,
    where: "retrieve",
    error: { message: "could not read", stack: expect.any(String), cause: { message: "duplicate key", code: "23505" } },
  });
  expect(JSON.stringify(line)).not.toContain("secret");
});

test("what is thrown but no error is named by its type alone, and a circle of causes ends", () => {
  const { observe, read } = collect();
  observe({ kind: "internal-error", where: "x", error: "secret" });
  const circle = new Error("round");
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
