import { createHash } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { loadEmbeddingModel } from "../src/models/load-embedding-model.ts";

/** Real texts of test collections (`corpus.jsonl` and `queries.jsonl`), embedded by the built-in model once and kept in a folder. */

const EMBED_BATCH = 256;
const FEWEST_CHARACTERS = 20;

/** Texts with their vectors, in one space. */
export interface Embedded {
  readonly texts: readonly string[];
  vectorOf(place: number): Float32Array;
}

/** @returns each sentence of the collection's documents once, in their order */
export async function sentencesOf(collection: string): Promise<string[]> {
  const segmenter = new Intl.Segmenter("en", { granularity: "sentence" });
  const sentences = new Set<string>();
  for (const text of await textsIn(join(collection, "corpus.jsonl")))
    for (const { segment } of segmenter.segment(text)) {
      const sentence = segment.trim();
      if (sentence.length >= FEWEST_CHARACTERS) sentences.add(sentence);
    }
  return [...sentences];
}

export const questionsOf = (collection: string): Promise<string[]> => textsIn(join(collection, "queries.jsonl"));

async function textsIn(file: string): Promise<string[]> {
  const lines = (await readFile(file, "utf8")).split("\n").filter((line) => line !== "");
  return lines.map((line) => (JSON.parse(line) as { text: string }).text);
}

/**
 * @param cache the folder in which vectors are kept, by model and texts
 * @param report told how many of them are done
 */
export async function embedOnce(
  texts: readonly string[],
  cache: string,
  report: (done: number) => void,
): Promise<Embedded> {
  const model = await loadEmbeddingModel({ provider: "builtin", threads: 0 });
  try {
    const { identity, dimension } = model.space;
    const key = createHash("sha256")
      .update(JSON.stringify([identity, texts]))
      .digest("hex")
      .slice(0, 24);
    const file = join(cache, `${key}.f32`);
    const all = new Float32Array(texts.length * dimension);
    const known = await readFile(file).catch(() => undefined);
    if (known !== undefined) new Uint8Array(all.buffer).set(known);
    else {
      for (let at = 0; at < texts.length; at += EMBED_BATCH) {
        const vectors = await model.embed(texts.slice(at, at + EMBED_BATCH), "document", new AbortController().signal);
        for (const [index, vector] of vectors.entries()) all.set(vector, (at + index) * dimension);
        report(at + vectors.length);
      }
      await mkdir(cache, { recursive: true });
      await writeFile(`${file}.part`, new Uint8Array(all.buffer));
      await rename(`${file}.part`, file);
    }
    return { texts, vectorOf: (place) => all.subarray(place * dimension, (place + 1) * dimension) };
  } finally {
    await model.close();
  }
}
