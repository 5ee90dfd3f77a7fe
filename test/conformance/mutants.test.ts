import { beforeAll, describe, expect, test } from "vitest";
import { type CheckResult, runChecks } from "../../src/conformance/run-checks.ts";
import { SECTIONS } from "../../src/conformance/sections.ts";
import { ServerUnderTest } from "../../src/conformance/server-under-test.ts";
import { copySource } from "../support/isolation/source-copy.ts";
import { type Subject, startSubject } from "../support/isolation/subject.ts";
import { type TestIssuer, testIssuer } from "../support/test-issuer.ts";
import { MUTANTS } from "./mutants.ts";

/** The suite against pgrcp as it is, and against pgrcp with one rule broken. */

let issuer: TestIssuer;
async function run(subject: Subject, only?: readonly string[]): Promise<readonly CheckResult[]> {
  const token = (credential: "read" | "add" | "delete") =>
    issuer.mint({ tenant: "conformance", credentials: [credential] });
  const tokens = { read: await token("read"), add: await token("add"), delete: await token("delete") };
  const server = new ServerUnderTest({ kind: "http", url: subject.url, tokens }, { timeoutMs: 20_000 });
  try {
    return await runChecks(SECTIONS, server, only && { only });
  } finally {
    await server.close();
  }
}

const unheld = (results: readonly CheckResult[]) =>
  results.filter(({ status }) => status === "failed" || status === "warned");

let baseline: readonly CheckResult[];
/** What pgrcp as it is was seen to hold. */
let held: ReadonlySet<string>;
beforeAll(async () => {
  issuer = await testIssuer();
  const subject = await startSubject(issuer);
  baseline = await run(subject);
  await subject.call("close");
  held = new Set(baseline.filter(({ status }) => status === "passed").map(({ check }) => check));
}, 240_000);

test("pgrcp as it is fails no check, with a token for each credential", () => {
  const failed = baseline.filter(({ status }) => status === "failed");
  expect(failed.map(({ section, check, reason }) => `${section} ${check}: ${reason}`)).toEqual([]);
});

describe("a check of its section passes pgrcp as it is, and sees that pgrcp", () => {
  test.each(MUTANTS.map((mutant) => [mutant.name, mutant.section, mutant] as const))(
    "%s: §%s",
    { timeout: 120_000 },
    async (_name, section, { patch }) => {
      const copy = await copySource([patch]);
      const subject = await startSubject(issuer, copy.root);
      try {
        const results = await run(subject, [section]);
        const seen = unheld(results).filter(({ check }) => held.has(check));
        expect(seen.map((result) => result.section)).toContain(section);
      } finally {
        await subject.call("close");
        await copy.remove();
      }
    },
  );
});
