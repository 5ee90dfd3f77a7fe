import { expect, test } from "vitest";
import { reasonOf } from "../../bench/failure.ts";

test("a reason is how the message begins, without paths and addresses", () => {
  const message = (text: string) => reasonOf(new Error(text));

  expect(message("ENOENT: no such file or directory, open '/home/someone/in.jsonl'")).toBe(
    "ENOENT: no such file or directory, open '…'",
  );
  expect(message("cannot read ../data/a.json, ~/b or file:///c")).toBe("cannot read …, … or …");
  expect(message("POST http://127.0.0.1:8000/api answered 500: gone")).toBe("POST … answered 500: gone");
  expect(message("pgrcp maintain ended with 1:\nat /srv/main.ts:3")).toBe("pgrcp maintain ended with 1");
  expect(reasonOf("no error")).toBe("no error");
});

test("names of methods and rates are no paths", () => {
  expect(reasonOf(new Error("index/add answered 503 at 12 calls/s"))).toBe("index/add answered 503 at 12 calls/s");
});
