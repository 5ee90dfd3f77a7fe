import { expect, test } from "vitest";
import { advertise } from "../../src/catalog/advertise.ts";
import { configSchema } from "../../src/config/config.ts";
import { advertisedBy } from "../../src/methods/capabilities.ts";
import { offerOf } from "../../src/methods/offer.ts";
import type { Reranker } from "../../src/models/reranker.ts";
import type { TextGenerator } from "../../src/models/text-generator.ts";
import { testEmbeddingModel } from "../support/test-embedding.ts";

const reranker: Reranker = {
  identity: "judge",
  method: "cross-encoder",
  maxCandidates: 50,
  score: async () => [],
  close: async () => {},
};
const generator: TextGenerator = { identity: "writer", generate: async () => "", close: async () => {} };

type Models = { readonly reranker?: Reranker | undefined; readonly generator?: TextGenerator | undefined };

/** What a configuration and its models come to, as the wire shows it. */
function shown(capabilities: object, { reranker, generator }: Models = {}) {
  const config = configSchema.parse({ capabilities });
  const offer = offerOf(config, { reranker, generator });
  const services = { config, offer, embedding: testEmbeddingModel(), reranker, generator };
  return advertise(advertisedBy(services), false);
}

test("retrieve shows what it does beyond recall, and reranking only with a reranker", () => {
  const flags = { mmr: true, tokenBudget: true, deterministic: true, snapshots: true, units: ["chunk", "document"] };
  expect(shown({}).retrieve).toMatchObject(flags);
  expect(shown({}).retrieve).not.toHaveProperty("rerankBuiltin");
  expect(shown({}, { reranker }).retrieve).toMatchObject({ ...flags, rerankBuiltin: true });
});

test("pages and trajectories are capabilities of their own, with how long a trajectory is remembered", () => {
  expect(shown({})).toMatchObject({ pagination: {}, session: { dedup: true, ttlSeconds: 3600 } });
  const off = shown({ pagination: false, session: false });
  expect(off).not.toHaveProperty("pagination");
  expect(off).not.toHaveProperty("session");
  const none = shown({ retrieve: false });
  expect(none).not.toHaveProperty("pagination");
  expect(none).not.toHaveProperty("session");
});

test("what is switched off is not shown, and never as false", () => {
  const off = { mmr: false, rerankBuiltin: false, tokenBudget: false, deterministic: false, snapshots: false };
  const { retrieve } = shown({ ...off, units: ["document"] }, { reranker });
  expect(retrieve).toMatchObject({ units: ["document"] });
  for (const flag of Object.keys(off)) expect(retrieve).not.toHaveProperty(flag);
});

test("a scale is promised only where nothing on offer scores otherwise", () => {
  const sparse = { modes: ["sparse"] };
  expect(shown(sparse).retrieve).toMatchObject({ scoreScale: "bm25", scoreFloor: 0 });
  expect(shown(sparse, { reranker }).retrieve).not.toHaveProperty("scoreScale");
  expect(shown(sparse, { generator }).retrieve).not.toHaveProperty("scoreFloor");
  expect(shown({ ...sparse, rerankBuiltin: false }, { reranker }).retrieve).toHaveProperty("scoreFloor");
});

test("queries are rewritten by the methods that are advertised, and by none when none is", () => {
  const rewrites = (capabilities: object) =>
    offerOf(configSchema.parse({ capabilities }), { generator }).retrieval.rewrite;
  expect(rewrites({ transformMethods: ["hyde"] })).toEqual(["hyde"]);
  expect(rewrites({ transform: false })).toEqual([]);
  expect(rewrites({ rewrite: false })).toEqual([]);
});
