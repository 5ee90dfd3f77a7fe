import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { parseLine } from "../../src/cli/import-jsonl.ts";
import { screenText } from "../../src/trust/screen-text.ts";

const SAMPLES = new URL("../../samples/corpus.jsonl", import.meta.url);

test("every sample is a document that import reads, with a topic and a year to filter by, and no sample is suspicious", async () => {
  const lines = (await readFile(SAMPLES, "utf8")).split("\n").filter((line) => line !== "");

  const documents = lines.map((line) => parseLine(Buffer.from(line)));

  expect(documents.length).toBeGreaterThanOrEqual(40);
  for (const document of documents) {
    expect(document).toMatchObject({
      id: expect.any(String),
      text: expect.any(String),
      meta: { title: expect.any(String), topic: expect.any(String), year: expect.any(Number) },
    });
    if (typeof document !== "string") expect(screenText(document.text).injectionSuspected).toBe(false);
  }
  expect(new Set(documents.map((document) => (typeof document === "string" ? "" : document.id))).size).toBe(
    lines.length,
  );
});
