import { describe, expect, test } from "vitest";
import { closeTogether, withClosing } from "../src/closing.ts";

/** Closings that note that they ran; those named in `failing` then fail. */
function recorder(...failing: string[]) {
  const closed: string[] = [];
  const closing = (name: string) => async () => {
    closed.push(name);
    if (failing.includes(name)) throw new Error(`${name} failed`);
  };
  return { closed, closing };
}

describe("what work opened is closed when it ends", () => {
  test("the last opened first", async () => {
    const { closed, closing } = recorder();

    await withClosing(async (closeLater) => {
      closeLater(closing("database"));
      closeLater(closing("socket"));
      expect(closed).toEqual([]);
    });

    expect(closed).toEqual(["socket", "database"]);
  });

  test("all of it, though a closing fails, which is then told", async () => {
    const { closed, closing } = recorder("server", "socket");

    const ended = withClosing(async (closeLater) => {
      for (const name of ["database", "socket", "server"]) closeLater(closing(name));
    });

    await expect(ended).rejects.toThrow("server failed");
    expect(closed).toEqual(["server", "socket", "database"]);
  });

  test("also when the work fails, and then it is the work's failure that is told", async () => {
    const { closed, closing } = recorder("database");

    const ended = withClosing(async (closeLater) => {
      closeLater(closing("database"));
      throw new Error("no port");
    });

    await expect(ended).rejects.toThrow("no port");
    expect(closed).toEqual(["database"]);
  });
});

test("things that do not need each other are all closed, and a failure is told when all are done", async () => {
  const { closed, closing } = recorder("model");
  const late = async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    closed.push("database");
  };

  await expect(closeTogether(closing("model"), late)).rejects.toThrow("model failed");

  expect(closed).toEqual(["model", "database"]);
});
