import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const ROOT = new URL("../../", import.meta.url).pathname;
const read = (file: string) => readFileSync(ROOT + file, "utf8");

/** Every rule of the protocol's security page and its §15, and of the page on tenant isolation, in their order. */
const RULES = [
  "15.0-data",
  ...["launcher", "loopback", "auth-first", "claims"].map((rule) => `15.1-${rule}`),
  ...["provenance", "not-trusted", "screen", "absence", "data-channel", "weigh", "no-control"].map(
    (rule) => `15.2-${rule}`,
  ),
  ...["independent", "revoke", "version", "report", "advisory"].map((rule) => `15.3-${rule}`),
  ...["untrusted", "fields", "parameters", "operators", "no-eval"].map((rule) => `15.4-${rule}`),
  ...["enforce", "body", "embed", "hops", "candidates", "rate", "deadline", "transform"].map((rule) => `15.5-${rule}`),
  ...["shed", "client", "schemes", "private"].map((rule) => `15.5-${rule}`),
  ...["bodies", "redaction", "scope", "leak", "catalog", "headers", "params", "stdio"].map((rule) => `15.6-${rule}`),
  ...["unauthorized", "existence", "empty", "before"].map((rule) => `15.6-${rule}`),
  ...["binaries", "model", "reproducible"].map((rule) => `15.7-${rule}`),
  ...Array.from({ length: 7 }, (_, index) => `T-${index + 1}`),
];

const rows = read("SECURITY.md")
  .split("\n")
  .flatMap((line) => {
    const [, id = "", rule = "", does = "", proof = ""] = line.split(/(?<!\\)\|/).map((cell) => cell.trim());
    return /^(?:15\.\d-|T-\d)/.test(id) ? [{ id, rule, does, proof }] : [];
  });

/** How a test's name stands in its file. */
const named = (title: string) =>
  [`"${title.replaceAll('"', '\\"')}"`, `\`${title}\``, `'${title}'`].map((quoted) => `(${quoted},`);
/** The formatter may put a name on a line of its own. */
const joined = (file: string) => read(file).replaceAll(/\(\s+(?=["'`])/g, "(");

test("every rule has one row, in the order of the pages", () => {
  expect(rows.map(({ id }) => id)).toEqual(RULES);
});

describe.each(rows)("$id", ({ does, proof }) => {
  test("names files that exist", () => {
    const files = [...does.matchAll(/`([\w./-]+)`/g)].map(([, file = ""]) => file);
    expect(
      files.filter((file) => /^(?:src|test|migrations|Dockerfile|package-lock)/.test(file) && !existsSync(ROOT + file)),
    ).toEqual([]);
  });

  test("is proved by tests that exist", () => {
    const proofs = [...proof.matchAll(/`(test\/[\w./-]+\.test\.ts)` “([^”]+)”(?: \(conformance ([\w./-]+)\))?/g)];

    expect(proofs.length).toBe(proof.split("<br>").length);
    for (const [, file = "", title = "", rule] of proofs) {
      expect([file, existsSync(ROOT + file)]).toEqual([file, true]);
      const text = joined(file);
      expect([file, title, named(title).some((call) => text.includes(call))]).toEqual([file, title, true]);
      if (rule !== undefined) expect(read("src/conformance/RULES.md")).toContain(`| ${rule} |`);
    }
  });
});
