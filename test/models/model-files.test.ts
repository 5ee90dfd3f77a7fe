import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ModelFilesError, readModelFiles } from "../../src/models/model-files.ts";

const WEIGHTS = "not really weights";
const TOKENIZER = '{"version":"1.0"}';
const pin = (text: string) => ({ sha256: createHash("sha256").update(text).digest("hex"), bytes: text.length });

let folder: string;
const directory = () => new URL(`${pathToFileURL(folder)}/`);
const write = (file: string, text: string) => writeFile(join(folder, file), text);
const manifest = (changes: object = {}) => ({
  name: "tiny",
  dimension: 3,
  maxTokens: 16,
  weights: "model.onnx",
  tokenizer: "tokenizer.json",
  files: { "model.onnx": pin(WEIGHTS), "tokenizer.json": pin(TOKENIZER) },
  ...changes,
});

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "pgrcp-model-"));
  await write("model.onnx", WEIGHTS);
  await write("tokenizer.json", TOKENIZER);
  await write("manifest.json", JSON.stringify(manifest()));
});

afterEach(() => rm(folder, { recursive: true }));

async function refusal(): Promise<ModelFilesError> {
  const error = await readModelFiles(directory()).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ModelFilesError)) throw new Error("no ModelFilesError was thrown", { cause: error });
  expect(error.message).not.toContain("\n");
  expect(error.remedy).toMatch(/^restore the models folder from the release you installed/);
  expect(error.exitCode).toBe(6);
  return error;
}

test("files that are the pinned ones are read", async () => {
  const files = await readModelFiles(directory());

  expect(new TextDecoder().decode(files.weights)).toBe(WEIGHTS);
  expect(files.tokenizer).toEqual({ version: "1.0" });
  expect(files.weightsHash).toBe(pin(WEIGHTS).sha256);
});

test("weights of another content but the same length are refused by name", async () => {
  await write("model.onnx", "NOT really weights");

  expect(await refusal()).toMatchObject({ file: "model.onnx", problem: "changed" });
});

test("weights that were cut short are refused", async () => {
  await write("model.onnx", WEIGHTS.slice(1));

  expect(await refusal()).toMatchObject({ file: "model.onnx", problem: "changed" });
});

test("a tokenizer of another release is refused", async () => {
  await write("tokenizer.json", '{"version":"2.0"}');

  expect(await refusal()).toMatchObject({ file: "tokenizer.json", problem: "changed" });
});

test.each(["manifest.json", "model.onnx", "tokenizer.json"])("a missing %s is named", async (file) => {
  await rm(join(folder, file));

  expect(await refusal()).toMatchObject({ file, problem: "missing" });
});

test("a folder that does not exist is a missing manifest", async () => {
  const nowhere = new URL("nowhere/", directory());

  await expect(readModelFiles(nowhere)).rejects.toMatchObject({ file: "manifest.json", problem: "missing" });
});

test.each<[string, string]>([
  ["is not JSON", "{"],
  ["lacks the dimension", JSON.stringify({ ...manifest(), dimension: undefined })],
  ["pins no weights", JSON.stringify(manifest({ files: { "tokenizer.json": pin(TOKENIZER) } }))],
  ["names weights that no object holds of its own", JSON.stringify(manifest({ weights: "constructor" }))],
  ["pins a file outside its folder", JSON.stringify(manifest({ files: { ...manifest().files, "../x": pin("x") } }))],
  [
    "pins by something shorter than sha256",
    JSON.stringify(manifest({ files: { "model.onnx": { sha256: "ab", bytes: 1 } } })),
  ],
])("a manifest that %s is refused", async (_, text) => {
  await write("manifest.json", text);

  expect(await refusal()).toMatchObject({ file: "manifest.json", problem: "invalid" });
});
