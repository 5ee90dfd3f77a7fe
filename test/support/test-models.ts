import type { Reranker } from "../../src/models/reranker.ts";
import type { TextGenerator } from "../../src/models/text-generator.ts";

/** Scores a passage by how many of the query's words are in it, and then by being short. */
export function testReranker(options: Partial<Pick<Reranker, "maxCandidates" | "method">> = {}): Reranker {
  const { maxCandidates = 200, method = "cross-encoder" } = options;
  return {
    identity: "test-reranker",
    method,
    maxCandidates,
    async score(query, passages, signal) {
      signal.throwIfAborted();
      const words = query.toLowerCase().split(/\s+/);
      const found = (passage: string) => words.filter((word) => passage.toLowerCase().includes(word)).length;
      return passages.map((passage) => found(passage) + 1 / (1 + passage.length));
    },
    async close() {},
  };
}

/** Answers what `write` makes of the data in the prompt; the data itself when it is absent. */
export function testGenerator(write: (data: string) => string = (data) => data): TextGenerator {
  return {
    identity: "test-generator",
    async generate({ user }, signal) {
      signal.throwIfAborted();
      const [, data = ""] = /^<\w+ [0-9a-f]+>\n([\s\S]*?)\n<\/\w+ [0-9a-f]+>/.exec(user) ?? [];
      return write(data);
    },
    async close() {},
  };
}
