import { expect, test } from "vitest";
import type { CorpusName } from "../../src/catalog/corpus.ts";
import { SeenVersions } from "../../src/db/seen-versions.ts";
import { tenant } from "./rows.ts";

const PAPERS = "papers" as CorpusName;

function seenVersions() {
  let now = 0;
  const seen = new SeenVersions(100, () => now);
  const after = (ms: number): void => {
    now += ms;
  };
  return { seen, after };
}

test("the newest version of a corpus that was met counts, and no other tenant's or corpus's", () => {
  const { seen } = seenVersions();
  seen.meet(tenant("acme"), PAPERS, 7);
  seen.meet(tenant("acme"), PAPERS, 5);

  expect(seen.of(tenant("acme"), PAPERS)).toBe(7);
  expect(seen.of(tenant("acme"), "other" as CorpusName)).toBe(0);
  expect(seen.of(tenant("globex"), PAPERS)).toBe(0);
});

test("a version counts for so long after it was first met, and a later one for as long again", () => {
  const { seen, after } = seenVersions();
  seen.meet(tenant("acme"), PAPERS, 7);
  after(60);
  seen.meet(tenant("acme"), PAPERS, 7);
  seen.meet(tenant("globex"), PAPERS, 2);
  after(40);
  expect(seen.of(tenant("acme"), PAPERS)).toBe(0);
  expect(seen.of(tenant("globex"), PAPERS)).toBe(2);

  seen.meet(tenant("globex"), PAPERS, 3);
  after(60);
  expect(seen.of(tenant("globex"), PAPERS)).toBe(3);
});
