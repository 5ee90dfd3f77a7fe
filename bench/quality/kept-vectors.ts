import { createHash } from "node:crypto";
import { appendFile, mkdir, readFile, truncate } from "node:fs/promises";
import { join } from "node:path";
import type { EmbeddingModel } from "../../src/models/embedding.ts";

const KEY_BYTES = 32;
const BATCH = 32;
const never = new AbortController().signal;

export interface KeptVectors {
  /** In the texts' order. @param onProgress told how many of them the model has still to read */
  embed(
    texts: readonly string[],
    kind: "query" | "document",
    onProgress: (left: number) => void,
  ): Promise<readonly Float32Array[]>;
}

/**
 * A model whose vectors are kept in a file of the folder, so that a text is embedded once however many experiments read it, and a
 * run that was stopped goes on where it was. A record is the text's SHA-256 and its vector. One run at a time: two would write over
 * each other.
 */
export async function openKeptVectors(folder: string, model: EmbeddingModel): Promise<KeptVectors> {
  await mkdir(folder, { recursive: true });
  const name = createHash("sha256").update(model.space.identity).digest("hex").slice(0, 16);
  const file = join(folder, `${name}.vectors`);
  const vectorBytes = model.space.dimension * Float32Array.BYTES_PER_ELEMENT;
  const recordBytes = KEY_BYTES + vectorBytes;
  const known = new Map<string, Float32Array>();

  const bytes = await readFile(file).catch(() => Buffer.alloc(0));
  for (let at = 0; at + recordBytes <= bytes.length; at += recordBytes) {
    const vector = new Float32Array(model.space.dimension);
    Buffer.from(vector.buffer).set(bytes.subarray(at + KEY_BYTES, at + recordBytes));
    known.set(bytes.toString("hex", at, at + KEY_BYTES), vector);
  }
  // What a stopped run wrote half.
  if (bytes.length % recordBytes !== 0) await truncate(file, bytes.length - (bytes.length % recordBytes));

  return {
    async embed(texts, kind, onProgress) {
      const keys = texts.map((text) => createHash("sha256").update(`${kind}\n${text}`).digest("hex"));
      const missing = [...new Map(keys.map((key, index) => [key, texts[index] ?? ""])).entries()].filter(
        ([key]) => !known.has(key),
      );
      for (let from = 0; from < missing.length; from += BATCH) {
        onProgress(missing.length - from);
        const batch = missing.slice(from, from + BATCH);
        const vectors = await model.embed(
          batch.map(([, text]) => text),
          kind,
          never,
        );
        const records = batch.map(([key], index) => {
          const vector = vectors[index] ?? new Float32Array();
          known.set(key, vector);
          return Buffer.concat([Buffer.from(key, "hex"), new Uint8Array(vector.slice().buffer)]);
        });
        await appendFile(file, Buffer.concat(records));
      }
      return keys.map((key) => known.get(key) ?? new Float32Array(model.space.dimension));
    },
  };
}
