import { describe, expect, test } from "vitest";
import { type Advertised, advertise, conformanceLevel } from "../../src/catalog/advertise.ts";

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
  filter,
} as const;
const everything: Advertised = { retrieve, index: { chunking: true } };

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
      index: { writable: false, chunking: true },
    });
    expect(advertise(everything, true)).toMatchObject({ index: { writable: true } });
  });

  test("leaves out what is switched off", () => {
    expect(advertise({ retrieve: undefined, index: { chunking: false } }, true)).toEqual({
      index: { writable: true, chunking: false },
    });
    expect(Object.keys(advertise({ ...everything, index: undefined }, true))).toEqual([
      "retrieve",
      "filter",
      "citations",
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

describe("conformanceLevel", () => {
  test("is L1 for all three modes with a filter, else L0 (RCP §14)", () => {
    const level = (advertised: Advertised) => conformanceLevel(advertise(advertised, false));
    expect(level(everything)).toBe("L1");
    expect(level({ ...everything, index: undefined })).toBe("L1");
    expect(level({ ...everything, retrieve: { ...retrieve, filter: undefined } })).toBe("L0");
    expect(level({ ...everything, retrieve: { ...retrieve, modes: ["dense"] } })).toBe("L0");
    expect(level({ ...everything, retrieve: undefined })).toBe("L0");
  });
});
