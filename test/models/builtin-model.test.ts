import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Worker } from "node:worker_threads";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadBuiltinModel } from "../../src/models/builtin-model.ts";
import type { EmbeddingModel } from "../../src/models/embedding.ts";
import { startInferenceThread } from "../../src/models/inference-thread.ts";
import { ModelFilesError } from "../../src/models/model-files.ts";
import { loadTokenizer } from "../../src/models/tokenizer.ts";
import type { Observation } from "../../src/observability/observation.ts";

const DIRECTORY = new URL("../../models/all-minilm-l6-v2-int8/", import.meta.url);
const reference: {
  readonly tokens: readonly { readonly text: string; readonly ids: readonly number[] }[];
  readonly vectors: readonly { readonly text: string; readonly vector: readonly number[] }[];
} = JSON.parse(await readFile(new URL("cases/reference.json", import.meta.url), "utf8"));

const never = new AbortController().signal;
/** About 240 tokens, so that a few of them keep the model busy for a while. */
const longText = (seed: string) => `${seed} ${"protein structure and cell growth in adult mice ".repeat(30)}`;

const cosine = (a: ArrayLike<number>, b: ArrayLike<number>) =>
  Array.from(a).reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);

let model: EmbeddingModel;
beforeAll(async () => {
  model = await loadBuiltinModel({ directory: DIRECTORY, threads: 1 });
});
afterAll(() => model.close());

async function embedOne(text: string, kind: "query" | "document" = "document"): Promise<Float32Array> {
  const [vector] = await model.embed([text], kind, never);
  if (vector === undefined) throw new Error("no vector");
  return vector;
}

describe("what the model gives", () => {
  test("token ids are those of the reference tokenizer, in every script", async () => {
    const tokenIds = loadTokenizer(JSON.parse(await readFile(new URL("tokenizer.json", DIRECTORY), "utf8")));

    for (const { text, ids } of reference.tokens) expect(tokenIds(text), JSON.stringify(text)).toEqual(ids);
  });

  test("countTokens counts those tokens", async () => {
    const counts = await model.countTokens(reference.tokens.map(({ text }) => text));

    expect(counts).toEqual(reference.tokens.map(({ ids }) => ids.length));
  });

  test("countTokens counts what lies past the longest input too", async () => {
    // [CLS], 300 times "the", [SEP].
    expect(await model.countTokens(["the ".repeat(300)])).toEqual([302]);
  });

  test("countTokens counts many texts and very long ones in order", async () => {
    const texts = ["the ".repeat(40_000), ...Array.from({ length: 300 }, (_, i) => "the ".repeat(i)), ""];

    // Each with [CLS] and [SEP].
    expect(await model.countTokens(texts)).toEqual([40_002, ...Array.from({ length: 300 }, (_, i) => i + 2), 2]);
  });

  test("vectors are within 0.02 of the published float32 model's", async () => {
    for (const { text, vector } of reference.vectors) {
      expect(1 - cosine(await embedOne(text), vector), text).toBeLessThan(0.02);
    }
  });

  test("an answer is nearer to its question than a text about something else", async () => {
    const [question, answer, other] = await Promise.all(reference.vectors.map(({ text }) => embedOne(text)));

    expect(cosine(question ?? [], answer ?? [])).toBeGreaterThan(cosine(question ?? [], other ?? []) + 0.3);
  });

  test("vectors have the space's dimension, length 1 and finite numbers, even of an empty text", async () => {
    for (const text of ["", " ", "a", "检索", longText("x")]) {
      const vector = await embedOne(text);
      expect(vector).toHaveLength(384);
      expect(cosine(vector, vector)).toBeCloseTo(1, 5);
    }
    expect(model.space.dimension).toBe(384);
  });

  test("a text has the same bits alone, in company, and as a query", async () => {
    const alone = await embedOne("insulin resistance");
    const [, inCompany] = await model.embed(["a", "insulin resistance", longText("x")], "document", never);

    expect(inCompany).toEqual(alone);
    expect(await embedOne("insulin resistance", "query")).toEqual(alone);
  });

  test("composed and decomposed accents are one text", async () => {
    expect(await embedOne("cafe\u0301")).toEqual(await embedOne("café"));
  });

  test("a text is read up to the longest input and no further", async () => {
    // With [CLS] and [SEP], 254 words fill the 256 tokens.
    const full = "cell ".repeat(254);

    expect(model.maxTokens).toBe(256);
    expect(await embedOne(`${full} dog`)).toEqual(await embedOne(full));
    expect(await embedOne(`${"cell ".repeat(253)} dog`)).not.toEqual(await embedOne(full));
  });

  test("the identity names the model and the first 12 hex digits of its weights' sha256", async () => {
    const manifest = JSON.parse(await readFile(new URL("manifest.json", DIRECTORY), "utf8"));

    expect(model.space.identity).toBe(`all-minilm-l6-v2-int8@${manifest.files["model.onnx"].sha256.slice(0, 12)}`);
  });

  test("no texts are no vectors", async () => {
    expect(await model.embed([], "document", never)).toEqual([]);
    expect(await model.countTokens([])).toEqual([]);
  });
});

describe("while the model is busy", () => {
  const bulk = Array.from({ length: 12 }, (_, i) => longText(`document ${i}`));

  test("a query is answered before the bulk that came first", async () => {
    const order: string[] = [];
    const documents = model.embed(bulk, "document", never).then(() => order.push("documents"));
    const query = model.embed(["what is a cell?"], "query", never).then(() => order.push("query"));

    await Promise.all([documents, query]);

    expect(order).toEqual(["query", "documents"]);
  });

  test("the event loop goes on turning", async () => {
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 1);

    await model.embed(bulk, "document", never);
    clearInterval(timer);

    // One inference takes many milliseconds; a loop that waited for each would turn about once per document.
    expect(turns).toBeGreaterThan(bulk.length * 2);
  });

  test("an aborted call ends at once with the signal's reason, and the model goes on with the next", async () => {
    const caller = new AbortController();
    const reason = new Error("the caller went away");
    let documentsDone = false;
    const aborted = model.embed(bulk, "document", caller.signal);
    const next = model.embed(bulk.slice(0, 2), "document", never).then((vectors) => {
      documentsDone = true;
      return vectors;
    });

    caller.abort(reason);

    await expect(aborted).rejects.toBe(reason);
    expect(documentsDone).toBe(false);
    expect(await next).toHaveLength(2);
  });
});

describe("a thread that is killed", () => {
  test("costs the calls under way, and comes back with the same vectors", async () => {
    const threads: Worker[] = [];
    const remember = (worker: Worker) => void threads.push(worker);
    process.on("worker", remember);
    const observations: Observation[] = [];
    const killed = await loadBuiltinModel({ directory: DIRECTORY, threads: 1 }, (one) => void observations.push(one));
    const waiting = killed.embed([longText("a"), longText("b")], "document", never);
    const refused = expect(waiting).rejects.toMatchObject({ code: -32010, data: { retryable: true } });

    await threads[0]?.terminate();

    await refused;
    expect(killed.isReady()).toBe(false);
    await expect(killed.embed(["x"], "query", never)).rejects.toMatchObject({ code: -32010 });
    await expect.poll(() => killed.isReady()).toBe(true);
    expect(await killed.embed(["insulin"], "query", never)).toEqual([await embedOne("insulin")]);
    expect(threads).toHaveLength(2);
    expect(observations).toMatchObject([{ kind: "internal-error", where: "embedding thread" }]);
    process.off("worker", remember);
    await killed.close();
  });

  test("does not come back with other files than before", async () => {
    const folder = await mkdtemp(join(tmpdir(), "pgrcp-model-"));
    await cp(DIRECTORY, folder, { recursive: true });
    const threads: Worker[] = [];
    const remember = (worker: Worker) => void threads.push(worker);
    process.on("worker", remember);
    const observations: Observation[] = [];
    const killed = await loadBuiltinModel({ directory: folder, threads: 1 }, (one) => void observations.push(one));
    const manifest = JSON.parse(await readFile(join(folder, "manifest.json"), "utf8"));
    await writeFile(join(folder, "manifest.json"), JSON.stringify({ ...manifest, maxTokens: 128 }));

    await threads[0]?.terminate();

    await expect.poll(() => observations.length).toBeGreaterThan(1);
    expect(observations[1]).toMatchObject({ error: { name: "ModelFilesError", problem: "replaced" } });
    expect(killed.isReady()).toBe(false);
    process.off("worker", remember);
    await killed.close();
    await rm(folder, { recursive: true });
  });
});

describe("start and end", () => {
  test("weights that the runtime cannot load are this machine's, with a remedy", async () => {
    const input = { weights: new Uint8Array(8), tokenizer: {}, maxTokens: 8, threads: 1 };

    await expect(startInferenceThread(input)).rejects.toMatchObject({ name: "ModelNotRunnable", exitCode: 6 });
  });

  test("one changed byte in the weights is refused", async () => {
    const folder = await mkdtemp(join(tmpdir(), "pgrcp-model-"));
    await cp(DIRECTORY, folder, { recursive: true });
    const weights = await readFile(join(folder, "model.onnx"));
    weights.writeUInt8(weights.readUInt8(10_000_000) ^ 1, 10_000_000);
    await writeFile(join(folder, "model.onnx"), weights);

    await expect(loadBuiltinModel({ directory: folder, threads: 1 })).rejects.toThrow(ModelFilesError);
    await rm(folder, { recursive: true });
  });

  test("a closed model refuses with -32010, and closing ends what still waits", async () => {
    const closing = await loadBuiltinModel({ directory: DIRECTORY, threads: 1 });
    const waiting = closing.embed([longText("a"), longText("b")], "document", never);
    const refused = expect(waiting).rejects.toMatchObject({ code: -32010, data: { retryable: false } });

    await closing.close();

    await refused;
    await expect(closing.embed(["late"], "query", never)).rejects.toMatchObject({ code: -32010 });
    await expect(closing.countTokens(["late"])).rejects.toMatchObject({ code: -32010 });
  });

  test("closing in the middle of an inference leaves the process alive", async () => {
    // In a process of its own, because the runtime's abort takes all of it.
    const script = `
      import { loadBuiltinModel } from ${JSON.stringify(new URL("../../src/models/builtin-model.ts", import.meta.url))};
      for (let round = 0; round < 3; round += 1) {
        const model = await loadBuiltinModel({ directory: new URL(${JSON.stringify(DIRECTORY)}), threads: 1 });
        const texts = Array.from({ length: 50 }, () => ${JSON.stringify(longText("c"))});
        const ended = model.embed(texts, "document").catch(({ code }) => code);
        await new Promise((resolve) => setTimeout(resolve, 100));
        await model.close();
        console.log(await ended);
      }`;

    const { stdout } = await promisify(execFile)(process.execPath, ["--eval", script]);

    expect(stdout).toBe("-32010\n-32010\n-32010\n");
  });
});
