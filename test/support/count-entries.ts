import { afterAll, beforeEach } from "vitest";

/** Prints how a file of vectors went: an entry passes when every test that bears its id does, and there is one. */
export function countEntries(file: string, entries: readonly { readonly id: string }[]): void {
  const tests: { readonly name: string; readonly result?: { readonly state: string } | undefined }[] = [];
  beforeEach(({ task }) => {
    tests.push(task);
  });
  afterAll(() => {
    const outcomes = entries.map(({ id }) => {
      const own = tests.filter(({ name }) => name.split(" ").includes(id));
      if (own.length === 0) return "left out";
      return own.some(({ result }) => result?.state === "fail") ? "failed" : "passed";
    });
    const counts = ["passed", "failed", "left out"].map(
      (what) => `${outcomes.filter((outcome) => outcome === what).length} ${what}`,
    );
    console.info(`${file}: ${entries.length} entries: ${counts.join(", ")}`);
  });
}
