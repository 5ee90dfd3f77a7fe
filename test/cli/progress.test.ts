import { describe, expect, test } from "vitest";
import { createProgress } from "../../src/cli/progress.ts";

function target(isTTY: boolean, columns?: number) {
  const written: string[] = [];
  return { isTTY, ...(columns !== undefined && { columns }), written, write: (text: string) => written.push(text) };
}

function clock() {
  let at = 0;
  return { now: () => at, pass: (ms: number) => (at += ms) };
}

describe("on a terminal", () => {
  test("the bar is redrawn in place, and not more often than it can be seen", () => {
    const output = target(true);
    const { now, pass } = clock();
    const progress = createProgress("importing", output, now);

    progress.update(0, "0 documents");
    pass(50);
    progress.update(0.25, "25 documents");
    pass(60);
    progress.update(0.5, "50 documents");

    expect(output.written).toEqual([
      "\r\u001b[Kimporting [........................] 0 %  0 documents",
      "\r\u001b[Kimporting [############............] 50 %  50 documents",
    ]);
  });

  test("the end is always drawn, and finishing takes the bar away", () => {
    const output = target(true);
    const { now } = clock();
    const progress = createProgress("importing", output, now);

    progress.update(0.9, "a");
    progress.update(1, "b");
    progress.finish();

    expect(output.written.slice(-2)).toEqual(["\r\u001b[Kimporting [########################] 100 %  b", "\r\u001b[K"]);
  });

  test("a line that stays goes above the bar", () => {
    const output = target(true);
    const progress = createProgress("x", output, clock().now);

    progress.line("before");
    progress.update(0, "n");
    progress.line("left out: a");

    expect(output.written.join("")).toBe(
      "before\n\r\u001b[Kx [........................] 0 %  n\r\u001b[Kleft out: a\n\r\u001b[Kx [........................] 0 %  n",
    );
  });

  test("the bar never wraps, and fractions out of range are kept in it", () => {
    const output = target(true, 20);
    const { now, pass } = clock();
    const progress = createProgress("importing", output, now);

    progress.update(7, "note");
    pass(1000);
    progress.update(-1, "note");

    expect(output.written).toEqual(["\r\u001b[Kimporting [########", "\r\u001b[Kimporting [........"]);
  });
});

describe("elsewhere", () => {
  test("a plain line every five seconds and one at the end", () => {
    const output = target(false);
    const { now, pass } = clock();
    const progress = createProgress("importing", output, now);

    progress.update(0.1, "10");
    pass(5_000);
    progress.update(0.2, "20");
    pass(1_000);
    progress.update(0.3, "30");
    progress.line("waiting");
    progress.update(1, "100");
    progress.finish();

    expect(output.written).toEqual(["importing: 20 %  20\n", "waiting\n", "importing: 100 %  100\n"]);
  });

  test("nothing is printed when there was nothing to do", () => {
    const output = target(false);
    createProgress("importing", output, clock().now).finish();

    expect(output.written).toEqual([]);
  });
});
