import { expect, test } from "vitest";
import { hitId, shapeHit } from "../../src/retrieval/shape-hits.ts";

test("a document of one chunk is shown by its own id, a chunk of several by docId#n", () => {
  expect(hitId("guide", 0, 1)).toBe("guide");
  expect(hitId("guide", 2, 3)).toBe("guide#2");
});

test("the last #n can always be taken off, also when the document's own id ends like one", () => {
  expect(hitId("issue#42", 0, 1)).toBe("issue#42#0");
  expect(hitId("issue#42", 1, 2)).toBe("issue#42#1");
  expect(hitId("issue#", 0, 1)).toBe("issue#");
});

const ROW = {
  chunkNo: 7,
  docId: "d#1",
  ordinal: 2,
  chunkCount: 3,
  start: 0,
  end: 9,
  text: "the whole",
  context: undefined,
  vector: undefined,
  title: undefined,
  uri: undefined,
  source: "api",
  trust: "untrusted",
  injectionSuspected: false,
  meta: {},
} as const;

test("a whole document has the id that it has as one chunk, and the chunk that it was found by", () => {
  expect(shapeHit({ score: 2, dense: undefined, sparse: 1, rerank: 2 }, ROW, "document")).toEqual({
    id: "d#1#0",
    score: 2,
    text: "the whole",
    unit: "document",
    meta: {},
    scores: { sparse: 1, rerank: 2 },
    citation: { source: "api", start: 0, end: 9 },
    trust: { level: "untrusted", injectionSuspected: false },
    chunk: { docId: "d#1", index: 2 },
  });
});

test("a hit carries citation, provenance and both scores, and leaves out what is not known", () => {
  const hit = shapeHit(
    { dense: 0.5, sparse: undefined, score: 0.5 },
    {
      chunkNo: 7,
      docId: "d",
      ordinal: 1,
      chunkCount: 2,
      start: 10,
      end: 14,
      text: "text",
      context: "what the text is of",
      vector: undefined,
      title: "T",
      uri: undefined,
      source: "crawler",
      trust: "community",
      injectionSuspected: true,
      meta: { year: 2020 },
    },
    "chunk",
  );
  expect(hit).toEqual({
    id: "d#1",
    score: 0.5,
    text: "text",
    unit: "chunk",
    meta: { year: 2020 },
    scores: { dense: 0.5 },
    citation: { source: "crawler", title: "T", start: 10, end: 14 },
    trust: { level: "community", injectionSuspected: true },
    chunk: { docId: "d", index: 1, context: "what the text is of" },
  });
});
