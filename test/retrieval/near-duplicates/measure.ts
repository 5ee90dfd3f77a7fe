import { readFileSync } from "node:fs";
import path from "node:path";
import { words } from "../../../src/catalog/words.ts";
import { fingerprintOf } from "../../../src/indexing/fingerprint.ts";
import type { TrustLevel } from "../../../src/protocol/wire.ts";
import { bitsApart, type Lanes, lanesOf } from "../../../src/retrieval/collapse.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { FLOODS, type Passage } from "./floods.ts";
import { TEMPLATES } from "./templates.ts";

/**
 * What is told apart at which distance: `node test/retrieval/near-duplicates/measure.ts <folder>`, where the folder has
 * `<collection>/corpus.jsonl` of {text} for scifact, xquad-en and xquad-zh. Prints how many of 100 are left where two of a
 * group are, for copies of a passage (2 is right) and for records of a template (100 is right), and how many natural passages
 * are left out, when each collection is one list (0 is right). Without a folder there are templates only.
 */

const DISTANCES = [12, 20, 24, 28, 32, 36, 40];
const MOST = 2;
const COPIES = 100;
const PASSAGES = 12;

const folder = process.argv[2];
const random = new SeededRandom(7);

/** How many are left at each distance: the rule of `collapse`, for any distance. */
function left(texts: readonly string[], trust: TrustLevel = "untrusted"): number[] {
  const prints = texts.map((text) => fingerprintOf(text, trust));
  const members = DISTANCES.map((): { lanes: Lanes; group: { size: number } }[] => []);
  let alone = 0;
  for (const print of prints) {
    if (print === null) {
      alone++;
      continue;
    }
    const lanes = lanesOf(print);
    for (const [index, bits] of DISTANCES.entries()) {
      const own = members[index] ?? [];
      const near = own.filter((other) => bitsApart(lanes, other.lanes) <= bits);
      if (near.some(({ group }) => group.size >= MOST)) continue;
      const group = near[0]?.group ?? { size: 0 };
      group.size++;
      own.push({ lanes, group });
    }
  }
  return members.map(({ length }) => length + alone);
}

const show = (name: string, counts: readonly number[]) =>
  console.log(name.padEnd(50), counts.map((count) => String(Math.round(count)).padStart(5)).join(""));

/** The mean over several texts or seeds. */
const mean = (rows: readonly number[][]) =>
  DISTANCES.map((_, index) => rows.reduce((sum, row) => sum + (row[index] ?? 0), 0) / rows.length);

const corpus = (name: string) =>
  readFileSync(path.join(folder ?? "", name, "corpus.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => (JSON.parse(line) as { text: string }).text);

show("bits", DISTANCES);
const SHARED = "These terms are part of every record and say the same in each of them. ".repeat(40).split(" ");
for (const length of [20, 100, 500]) {
  for (const [name, template] of Object.entries(TEMPLATES)) {
    const make = () => [template(random), ...SHARED.slice(0, Math.max(0, length - 22))].join(" ").trim();
    const records = () => [...new Set(Array.from({ length: COPIES }, make))];
    show(`${length} words: ${name}`, mean([left(records()), left(records()), left(records())]));
    if (length === 20) show(`${length} words: ${name}, trusted`, left(records(), "trusted"));
  }
}
if (folder !== undefined) {
  for (const [name, separator] of [
    ["xquad-en", " "],
    ["xquad-zh", ""],
  ] as const) {
    const texts = corpus(name);
    const pieces = texts.map((text) => (separator === "" ? words(text) : text.split(" ")));
    const vocabulary = [...new Set(pieces.flat())];
    for (const length of [20, 100, 500]) {
      const passages = Array.from({ length: PASSAGES }, (_, n): Passage => {
        const all = pieces.slice(3 * n, 3 * n + 12).flat();
        return { words: all.slice(0, length), separator, vocabulary };
      });
      for (const [flood, copy] of Object.entries(FLOODS)) {
        const rows = passages.map((passage) => left(Array.from({ length: COPIES }, () => copy(passage, random))));
        show(`${name}, ${length} words: ${flood}`, mean(rows));
      }
    }
  }
  for (const name of ["scifact", "xquad-en", "xquad-zh"]) {
    const texts = [...new Set(corpus(name))];
    const beginnings = [...new Set(texts.map((text) => text.slice(0, name === "xquad-zh" ? 40 : 140)))];
    for (const [kind, list] of [
      ["passages", texts],
      ["beginnings", beginnings],
    ] as const)
      show(
        `left out of ${list.length} ${kind} of ${name}`,
        left(list).map((kept) => list.length - kept),
      );
  }
}
