import { describe, expect, test } from "vitest";
import { planEmbed } from "../../src/plan/plan-embed.ts";
import { planReranking } from "../../src/plan/plan-rerank.ts";
import { planTransform } from "../../src/plan/plan-transform.ts";
import { RpcError } from "../../src/protocol/errors.ts";

type Params = Readonly<Record<string, unknown>>;

const LIMITS = { maxInputsPerEmbed: 3, maxTextBytes: 10, maxQueryBytes: 20 };
const embed = (params: Params) => planEmbed(params, LIMITS);
const rerank = (params: Params) =>
  planReranking(params, { method: "cross-encoder", identity: "the-model", maxCandidates: 3 }, LIMITS);
const transform = (params: Params) =>
  planTransform(params, { methods: ["rewrite", "hyde", "multi-query"], maxTransformQueries: 8, maxQueryBytes: 20 });

function refusal(plan: () => unknown) {
  try {
    plan();
  } catch (error) {
    if (error instanceof RpcError) return [error.code, error.data.field ?? error.data.option];
    throw error;
  }
  return "accepted";
}

const text = (value: unknown) => ({ type: "text", text: value });
const image = { type: "image", mimeType: "image/png", data: "AAAA" };

describe("embed (RCP §7.3)", () => {
  test("takes strings and text blocks, in order; without more, documents as numbers", () => {
    expect(embed({ inputs: ["a", text("b"), ""] })).toEqual({
      texts: ["a", "b", ""],
      kind: "document",
      encoding: "json",
    });
  });

  test("takes texts as another name for inputs", () => {
    expect(embed({ texts: ["a"] })).toEqual(embed({ inputs: ["a"] }));
    expect(embed({ texts: ["a"], inputs: null })).toEqual(embed({ inputs: ["a"] }));
    expect(embed({ texts: null, inputs: ["a"] })).toEqual(embed({ inputs: ["a"] }));
  });

  test("reads kind and encoding", () => {
    expect(embed({ inputs: [], kind: "query", encoding: "f32-base64" })).toEqual({
      texts: [],
      kind: "query",
      encoding: "f32-base64",
    });
  });

  test("U+0000 is what it is elsewhere: a break in a query, U+FFFD in a document", () => {
    expect(embed({ inputs: ["a\u0000b"], kind: "query" }).texts).toEqual(["a b"]);
    expect(embed({ inputs: ["a\u0000b"], kind: "document" }).texts).toEqual(["a\ufffdb"]);
  });

  test("falls back to JSON under strict: false", () => {
    expect(embed({ inputs: [], encoding: "f16-base64", strict: false }).encoding).toBe("json");
  });

  test.each<[Params, number, string]>([
    [{}, -32602, "inputs"],
    [{ inputs: null }, -32602, "inputs"],
    [{ inputs: "x" }, -32602, "inputs"],
    [{ inputs: { 0: "x" } }, -32602, "inputs"],
    [{ texts: "x" }, -32602, "texts"],
    [{ inputs: ["a"], texts: ["a"] }, -32602, "texts"],
    [{ inputs: ["a", 5] }, -32602, "inputs[1]"],
    [{ inputs: [null] }, -32602, "inputs[0]"],
    [{ inputs: [["a"]] }, -32602, "inputs[0]"],
    [{ inputs: [{}] }, -32602, "inputs[0]"],
    [{ inputs: [{ type: "text" }] }, -32602, "inputs[0].text"],
    [{ inputs: [text(5)] }, -32602, "inputs[0].text"],
    [{ inputs: [{ type: "prose", text: "a" }] }, -32602, "inputs[0].type"],
    [{ inputs: [{ type: "text", text: "a", uri: "https://a.example/" }] }, -32602, "inputs[0].uri"],
    [{ inputs: [{ ...image, uri: "https://a.example/" }] }, -32602, "inputs[0]"],
    [{ inputs: ["\ud800"] }, -32602, "inputs[0]"],
    [{ inputs: ["a"], kind: "Query" }, -32602, "kind"],
    [{ inputs: ["a"], kind: 1 }, -32602, "kind"],
    [{ inputs: ["a"], encoding: 1 }, -32602, "encoding"],
    [{ inputs: ["a"], encoding: "json", strict: "no" }, -32602, "strict"],
    [{ inputs: [image] }, -32005, "inputs.type"],
    [{ texts: [{ type: "audio" }] }, -32005, "texts.type"],
    [{ inputs: ["a"], encoding: "f16-base64" }, -32005, "encoding"],
    [{ inputs: ["a"], encoding: "constructor" }, -32005, "encoding"],
    [{ inputs: ["a", "b", "c", "d"] }, -32013, "inputs"],
    [{ inputs: ["a", "x".repeat(11)] }, -32013, "inputs[1]"],
    [{ inputs: ["é".repeat(6)] }, -32013, "inputs[0]"],
  ])("%j is %i at %s", (params, code, place) => {
    expect(refusal(() => embed(params))).toEqual([code, place]);
  });
});

describe("rerank (RCP §7.6)", () => {
  const asked = { query: "q", passages: ["a", text("b")] };

  test("takes passages, and documents as another name for them (ruling 11)", () => {
    const plan = { query: "q", passages: ["a", "b"], topN: Number.POSITIVE_INFINITY };

    expect(rerank(asked)).toEqual(plan);
    expect(rerank({ query: "q", documents: asked.passages })).toEqual(plan);
  });

  test("takes the method and the model that are advertised, any topN from 1 on, and a query of blocks", () => {
    expect(rerank({ ...asked, method: "cross-encoder", model: "the-model", topN: 1_000 }).topN).toBe(1_000);
    expect(rerank({ ...asked, query: [text("a"), text("b")] }).query).toBe("a\nb");
    expect(rerank({ ...asked, topN: null, method: null, model: null })).toEqual(rerank(asked));
    expect(rerank({ ...asked, passages: [] }).passages).toEqual([]);
  });

  test("U+0000 in a passage is U+FFFD", () => {
    expect(rerank({ ...asked, passages: ["a\u0000b"] }).passages).toEqual(["a\ufffdb"]);
  });

  test.each<[Params, number, string]>([
    [{ query: undefined }, -32602, "query"],
    [{ query: 5 }, -32602, "query"],
    [{ query: " \n" }, -32602, "query"],
    [{ query: "\u0000" }, -32602, "query"],
    [{ passages: undefined }, -32602, "passages"],
    [{ passages: "a" }, -32602, "passages"],
    [{ passages: [5] }, -32602, "passages[0]"],
    [{ passages: [{ text: "a" }] }, -32602, "passages[0]"],
    [{ documents: ["a"] }, -32602, "documents"],
    [{ topN: 0 }, -32602, "topN"],
    [{ topN: "2" }, -32602, "topN"],
    [{ topN: 1.5 }, -32602, "topN"],
    [{ method: 1 }, -32602, "method"],
    [{ model: 1 }, -32602, "model"],
    [{ method: "llm" }, -32005, "method"],
    [{ method: "Cross-Encoder" }, -32005, "method"],
    [{ model: "../../evil.onnx" }, -32005, "model"],
    [{ query: image }, -32005, "query.type"],
    [{ passages: [image] }, -32005, "passages.type"],
    [{ passages: ["a", "b", "c", "d"] }, -32013, "passages"],
    [{ passages: ["x".repeat(11)] }, -32013, "passages[0]"],
    [{ query: "x".repeat(21) }, -32013, "query"],
  ])("%j is %i at %s", (change, code, place) => {
    expect(refusal(() => rerank({ ...asked, ...change }))).toEqual([code, place]);
  });
});

describe("query/transform (RCP §7.8)", () => {
  test("asks for three queries unless told, and never for more than the server makes", () => {
    expect(transform({ query: "q", method: "rewrite" })).toEqual({ query: "q", method: "rewrite", n: 3 });
    expect(transform({ query: text("q"), method: "multi-query", n: 1_000_000 })).toEqual({
      query: "q",
      method: "multi-query",
      n: 8,
    });
  });

  test.each<[Params, number, string]>([
    [{ method: "rewrite" }, -32602, "query"],
    [{ query: "", method: "rewrite" }, -32602, "query"],
    [{ query: 5, method: "rewrite" }, -32602, "query"],
    [{ query: "q" }, -32602, "method"],
    [{ query: "q", method: 5 }, -32602, "method"],
    [{ query: "q", method: "rewrite", n: 0 }, -32602, "n"],
    [{ query: "q", method: "rewrite", n: "2" }, -32602, "n"],
    [{ query: "q", method: "decompose" }, -32005, "method"],
    [{ query: "q", method: "unheard-of" }, -32005, "method"],
    [{ query: "q", method: "__proto__" }, -32005, "method"],
    [{ query: image, method: "rewrite" }, -32005, "query.type"],
    [{ query: "x".repeat(21), method: "rewrite" }, -32013, "query"],
  ])("%j is %i at %s", (params, code, place) => {
    expect(refusal(() => transform(params))).toEqual([code, place]);
  });
});
