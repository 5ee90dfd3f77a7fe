import { describe, expect, test } from "vitest";
import { type Advertised, advertise, conformanceLevel, withoutCounts } from "../../src/catalog/advertise.ts";

const filter = { fields: { year: "int" }, operators: ["eq", "gte"] };
const retrieve = {
  maxK: 50,
  modes: ["dense", "sparse", "hybrid"],
  fusion: ["rrf", "convex"],
  units: ["chunk"],
  defaultMode: "hybrid",
  mmr: false,
  rerankBuiltin: false,
  isRescored: false,
  tokenBudget: false,
  deterministic: false,
  snapshots: false,
  pagination: false,
  trajectorySeconds: undefined,
  filter,
} as const;
const models = {
  embed: {
    dimension: 8,
    identity: "m@8",
    batchLimit: 3,
    normalized: true,
    encodings: ["json", "f32-base64"],
    modalities: ["text"],
  },
  rerank: { methods: ["cross-encoder"], maxCandidates: 200, models: ["judge"] },
  transform: { methods: ["rewrite"] },
} as const;
const NO_MODELS = { embed: undefined, rerank: undefined, transform: undefined };
const NO_OTHERS = { feedback: false, catalog: false };
const everything: Advertised = {
  retrieve,
  streaming: true,
  log: true,
  index: { chunking: true, contextual: true },
  ...models,
  ...NO_OTHERS,
};

describe("advertise", () => {
  test("shows what the server does, and writable only to a token that may add", () => {
    expect(advertise(everything, false)).toEqual({
      retrieve: {
        maxK: 50,
        modes: ["dense", "sparse", "hybrid"],
        fusion: ["rrf", "convex"],
        units: ["chunk"],
        defaultMode: "hybrid",
      },
      filter,
      citations: {},
      streaming: {},
      log: { levels: ["debug", "info", "notice", "warning", "error"] },
      ...models,
      "x-pgrcp": { methods: ["document"] },
      index: { writable: false, chunking: true, contextual: true },
    });
    expect(advertise(everything, true)).toMatchObject({ index: { writable: true } });
  });

  test("shows each caller how many corpora it may read", () => {
    const cataloguing = { ...everything, catalog: true };
    expect(advertise(cataloguing, false, 3)).toMatchObject({ catalog: { engines: 3 } });
    expect(withoutCounts(advertise(cataloguing, false, 3))).toEqual(advertise(cataloguing, false));
    expect(withoutCounts(advertise(everything, true))).toEqual(advertise(everything, true));
    expect(advertise({ ...everything, feedback: true }, false)).toHaveProperty("feedback", {});
  });

  test("leaves out what is switched off", () => {
    const off = {
      retrieve: undefined,
      streaming: false,
      log: true,
      index: { chunking: false, contextual: false },
      ...NO_MODELS,
      ...NO_OTHERS,
    };
    expect(advertise(off, true)).toEqual({ index: { writable: true, chunking: false } });
    expect(Object.keys(advertise({ ...everything, ...NO_MODELS, index: undefined }, true))).toEqual([
      "retrieve",
      "filter",
      "citations",
      "streaming",
      "log",
      "x-pgrcp",
    ]);
    const unfiltered = advertise({ ...everything, retrieve: { ...retrieve, filter: undefined } }, true);
    expect(unfiltered).not.toHaveProperty("filter");
  });

  test.each([
    ["dense", { scoreScale: "cosine", scoreFloor: -1 }],
    ["sparse", { scoreScale: "bm25", scoreFloor: 0 }],
    ["hybrid", { scoreScale: "unbounded", fusion: ["rrf", "convex"] }],
  ] as const)("promises a scale when %s alone is left on", (mode, scores) => {
    const { retrieve: shown } = advertise(
      { ...everything, retrieve: { ...retrieve, modes: [mode], defaultMode: mode } },
      true,
    );
    expect(shown).toEqual({ maxK: 50, modes: [mode], units: ["chunk"], defaultMode: mode, ...scores });
  });

  test("promises no scale, and no fusion without hybrid, when two modes are on", () => {
    const modes = ["dense", "sparse"] as const;
    const { retrieve: shown } = advertise(
      { ...everything, retrieve: { ...retrieve, modes, defaultMode: "dense" } },
      true,
    );
    expect(shown).toEqual({ maxK: 50, modes, units: ["chunk"], defaultMode: "dense" });
  });
});

describe("conformanceLevel (RCP §14)", () => {
  const l1 = advertise({ ...everything, ...NO_MODELS, streaming: false }, false);
  const level = (changes: object) => conformanceLevel({ ...l1, ...changes });

  test("is L1 for all three modes with a filter, else L0", () => {
    const of = (changes: Partial<Advertised>) => conformanceLevel(advertise({ ...everything, ...changes }, false));
    expect(conformanceLevel(l1)).toBe("L1");
    expect(of({ retrieve: { ...retrieve, filter: undefined } })).toBe("L0");
    expect(of({ retrieve: { ...retrieve, modes: ["dense"] } })).toBe("L0");
    expect(of({ retrieve: undefined })).toBe("L0");
  });

  test("is L2 for L1 with four of what §14.3 names", () => {
    const again = { retrieve: { ...l1.retrieve, deterministic: true, snapshots: true } };
    const { rerank, transform } = models;
    const own = { streaming: {}, pagination: {}, log: {} };

    expect(level({ ...own, ...again })).toBe("L2");
    expect(level({ ...own, rerank })).toBe("L2");
    expect(level({ rerank, transform, streaming: {}, ...again })).toBe("L2");
    expect(level(own)).toBe("L1");
    expect(level({ ...own, retrieve: { ...l1.retrieve, snapshots: true } })).toBe("L1");
    expect(level({ rerank, transform, streaming: {} })).toBe("L1");
    expect(level({ ...own, ...again, rerank, transform, filter: undefined })).toBe("L0");
  });
});
