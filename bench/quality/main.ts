import { tmpdir } from "node:os";
import { join } from "node:path";
import { table } from "../../src/cli/terminal-text.ts";
import { loadEmbeddingModel } from "../../src/models/load-embedding-model.ts";
import { type Collection, eighthOf, loadCollection } from "./collection.ts";
import { type Compared, compare, halvesOf, type QueryScores } from "./compare.ts";
import { openKeptVectors } from "./kept-vectors.ts";
import { Measure, MODES, type Mode } from "./measure.ts";
import {
  CHUNK_VARIANTS,
  DEFAULTS,
  FUSION_VARIANTS,
  nameOf,
  READING_VARIANTS,
  type Settings,
  type Variant,
} from "./variants.ts";

/**
 * How well retrieval finds under other settings than the defaults, one changed at a time, by the server's own chunker, tokenizer, BM25
 * and fusion:
 *
 *     node bench/quality/main.ts FOLDER [--json]
 *
 * FOLDER holds scifact, xquad-en and xquad-zh, each with corpus.jsonl, queries.jsonl and qrels.tsv. A first run embeds some 25,000 texts,
 * for half an hour on an idle core; vectors are kept in the temporary folder, and a run that finds them takes some minutes.
 */

const folder = process.argv[2];
if (folder === undefined || folder.startsWith("--")) {
  console.error("usage: node bench/quality/main.ts FOLDER [--json]");
  process.exit(2);
}

/** Of BM25; the server's are k1 1.2 and b 0.75. */
const CONSTANTS = [
  { k1: 0.9, b: 0.4 },
  { k1: 1.2, b: 0.4 },
  { k1: 1.5, b: 0.6 },
  { k1: 2, b: 0.75 },
];

interface Row {
  readonly factor: string;
  readonly name: string;
  readonly modes: { readonly [mode in Mode]?: Compared };
}

const startedAt = performance.now();
const tell = (line: string) =>
  console.error(`${((performance.now() - startedAt) / 1_000).toFixed(0).padStart(5)} s  ${line}`);

const model = await loadEmbeddingModel({ provider: "builtin", threads: 1 });
const vectors = await openKeptVectors(join(tmpdir(), "pgrcp-quality"), model);
const scifact = await loadCollection(join(folder, "scifact"), "english");
const english = await loadCollection(join(folder, "xquad-en"), "english");
const chinese = await loadCollection(join(folder, "xquad-zh"), "chinese");
const defaultLanguage: Variant = {
  ...{ factor: "words", name: "the corpus left on english", change: { language: "english" } },
};

const results = {
  [scifact.name]: await measureAll(scifact, [...FUSION_VARIANTS, ...READING_VARIANTS]),
  [eighthOf(scifact).name]: await measureAll(eighthOf(scifact), CHUNK_VARIANTS),
  [english.name]: await measureAll(english, [...FUSION_VARIANTS, ...READING_VARIANTS, ...CHUNK_VARIANTS]),
  [chinese.name]: await measureAll(chinese, [...FUSION_VARIANTS, ...READING_VARIANTS, defaultLanguage]),
};
await model.close();
if (process.argv.includes("--json")) console.log(JSON.stringify(results, null, 1));
else
  for (const [name, { rows, fusionByHalves }] of Object.entries(results))
    console.log(shown(name, rows, fusionByHalves));

async function measureAll(collection: Collection, variants: readonly Variant[]) {
  const measure = new Measure(collection, model, vectors, tell);
  tell(`${collection.name}: ${collection.documents.length} documents, ${collection.queries.length} queries`);
  const baseline = await measure.scores(DEFAULTS);
  const against = (scores: Readonly<Record<Mode, QueryScores>>): Row["modes"] =>
    Object.fromEntries(MODES.map((mode) => [mode, compare(scores[mode], baseline[mode])]));
  const { chunkTokens, overlapTokens } = DEFAULTS.indexing;
  const name = `${chunkTokens} tokens, ${overlapTokens} of overlap, ${nameOf(DEFAULTS.fusion)}`;
  const rows: Row[] = [{ factor: "default", name, modes: against(baseline) }];
  const fusions: { readonly name: string; readonly halves: readonly [number, number] }[] = [];
  for (const { factor, name, change } of variants) {
    tell(`${collection.name}: ${name}`);
    const scores = await measure.scores({ ...DEFAULTS, ...change } satisfies Settings);
    const modes = against(scores);
    rows.push({ factor, name, modes: factor === "fusion" && modes.hybrid ? { hybrid: modes.hybrid } : modes });
    if (factor === "fusion") fusions.push({ name, halves: halvesOf(scores.hybrid) });
  }
  for (const { k1, b } of collection.name.endsWith("/8") ? [] : CONSTANTS) {
    const scores = await measure.sparseScores(DEFAULTS, { k1, b });
    rows.push({ factor: "bm25", name: `k1 ${k1}, b ${b}`, modes: { sparse: compare(scores, baseline.sparse) } });
  }
  return { rows, fusionByHalves: fusionByHalves(fusions) };
}

/** The fusion that is best on one half of the queries, and what it comes to on the other half. */
function fusionByHalves(fusions: readonly { readonly name: string; readonly halves: readonly [number, number] }[]) {
  return ([0, 1] as const).flatMap((half) => {
    const [best] = fusions.toSorted((a, b) => b.halves[half] - a.halves[half]);
    return best === undefined
      ? []
      : [{ chosen: best.name, there: best.halves[half], onTheOther: best.halves[1 - half] ?? 0 }];
  });
}

function shown(name: string, rows: readonly Row[], byHalves: ReturnType<typeof fusionByHalves>): string {
  const three = (value: number) => value.toFixed(3);
  const signed = (value: number) => `${value < 0 ? "-" : "+"}${Math.abs(value).toFixed(3)}`;
  const cells = rows.map(({ factor, name, modes }) => {
    const last = modes.hybrid ?? modes.sparse;
    const { mean = 0, low = 0, high = 0 } = last?.difference ?? {};
    return [
      ...[factor, name, ...MODES.map((mode) => (modes[mode] === undefined ? "" : three(modes[mode].mean)))],
      last?.halves.map(three).join(" / ") ?? "",
      factor === "default" ? "" : `${signed(mean)} (${signed(low)} to ${signed(high)})`,
    ];
  });
  const head = ["factor", "setting", ...MODES, "halves", "to the default"];
  const chosen = byHalves.map(
    (half) =>
      `best fusion of one half: ${half.chosen} (${three(half.there)}), on the other ${three(half.onTheOther)}\n`,
  );
  return `${name}\n${table([head, ...cells])}${chosen.join("")}`;
}
