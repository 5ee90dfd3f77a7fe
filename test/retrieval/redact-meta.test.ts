import { describe, expect, test } from "vitest";
import { redactMeta } from "../../src/retrieval/redact-meta.ts";

describe("redacted meta", () => {
  test("lacks the members that are named, and no others", () => {
    const meta = { email: "a@example.org", mail: "kept", Email: "kept" };

    expect(redactMeta(meta, ["email", "phone"])).toEqual({ mail: "kept", Email: "kept" });
    expect(meta.email).toBe("a@example.org");
  });

  test("lacks them within other members, and in every object of a list, however nested", () => {
    const meta = {
      author: { name: "Ann", email: "x" },
      authors: [{ email: "x", age: 1 }, [{ email: "y" }], "email", null],
    };

    expect(redactMeta(meta, ["author.email", "authors.email"])).toEqual({
      author: { name: "Ann" },
      authors: [{ age: 1 }, [{}], "email", null],
    });
  });

  test("takes a path for a name with dots, too, in every way that it can be read", () => {
    const meta = { "a.b.c": 1, a: { "b.c": 2, b: { c: 3, d: 4 } }, "a.b": { c: 5, e: 6 }, c: 7 };

    expect(redactMeta(meta, ["a.b.c"])).toEqual({ a: { b: { d: 4 } }, "a.b": { e: 6 }, c: 7 });
  });

  test("lacks what is below a member, however its name is written, and keeps what only begins alike", () => {
    const meta = {
      author: { name: "Ann" },
      "author.phone": 1,
      "author.phone.home": 2,
      authority: 3,
      at: { "b.c.d": 4, b: { c: { d: 5 }, cc: 6 }, "b.cc": 7 },
      "at.b": { "c.d": 8, e: 9 },
      list: [{ "x.y": 10, x: 11, "xx.y": 12 }],
    };

    expect(redactMeta(meta, ["author", "at.b.c", "list.x"])).toEqual({
      authority: 3,
      at: { b: { cc: 6 }, "b.cc": 7 },
      "at.b": { e: 9 },
      list: [{ "xx.y": 12 }],
    });
  });

  test("keeps inherited names as what they are: members like any other", () => {
    const meta = JSON.parse('{"__proto__": {"email": 1}, "constructor": 2}');

    expect(JSON.stringify(redactMeta(meta, ["email"]))).toBe('{"__proto__":{"email":1},"constructor":2}');
    expect(JSON.stringify(redactMeta(meta, ["__proto__.email", "constructor"]))).toBe('{"__proto__":{}}');
  });

  test("is the meta itself where nothing is to be left out", () => {
    const meta = { a: 1 };

    expect(redactMeta(meta, [])).toBe(meta);
  });
});
