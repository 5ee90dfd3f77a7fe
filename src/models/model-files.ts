import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { z } from "zod";
import { ExitCode, ExpectedFailure } from "../protocol/failure.ts";

const PROBLEMS = {
  missing: "cannot be read",
  invalid: "is not valid",
  changed: "is not the pinned one",
  replaced: "is another one than at the start",
} as const;

/** A built-in model's files are missing, unreadable or not the pinned ones. */
export class ModelFilesError extends ExpectedFailure {
  override readonly name = "ModelFilesError";
  /** Which file, relative to the model's directory. */
  readonly file: string;
  readonly problem: keyof typeof PROBLEMS;

  readonly remedy = "restore the models folder from the release you installed (in a clone: git restore models)";
  readonly exitCode = ExitCode.environment;

  constructor(file: string, problem: keyof typeof PROBLEMS, options?: ErrorOptions) {
    super(`the model file ${file} ${PROBLEMS[problem]}`, options);
    this.file = file;
    this.problem = problem;
  }
}

const pin = z.strictObject({ sha256: z.string().regex(/^[0-9a-f]{64}$/), bytes: z.int().min(1) });

const manifestSchema = z
  .strictObject({
    /** First half of the embedding identity; the weights' hash is the other. */
    name: z.string().min(1),
    dimension: z.int().min(1),
    /** Longest input in tokens, special tokens included. */
    maxTokens: z.int().min(3),
    weights: z.string(),
    tokenizer: z.string(),
    files: z.record(z.string().regex(/^[A-Za-z0-9._-]+$/), pin),
  })
  .refine((manifest) => [manifest.weights, manifest.tokenizer].every((file) => Object.hasOwn(manifest.files, file)), {
    message: "weights and tokenizer must be among the pinned files",
  });

export type ModelManifest = z.infer<typeof manifestSchema>;

/** A built-in model as read from disk: every byte of it has the hash that its manifest pins. */
export interface ModelFiles {
  readonly manifest: ModelManifest;
  readonly weights: Uint8Array<ArrayBuffer>;
  readonly tokenizer: unknown;
  /** sha256 of the weights, in hex. */
  readonly weightsHash: string;
}

/**
 * Reads a model's directory and checks each file against the sha256 in its `manifest.json`. What was hashed is what is
 * returned, so a file that changes afterwards changes nothing.
 *
 * @throws ModelFilesError when a file is missing, is not the pinned one, or the manifest cannot be read
 */
export async function readModelFiles(directory: URL): Promise<ModelFiles> {
  const manifest = parseManifest(await read(directory, "manifest.json"));
  const contents = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const [file, pinned] of Object.entries(manifest.files)) {
    const bytes = await read(directory, file);
    if (bytes.byteLength !== pinned.bytes || sha256(bytes) !== pinned.sha256) {
      throw new ModelFilesError(file, "changed");
    }
    contents.set(file, bytes);
  }
  const weights = contents.get(manifest.weights) ?? new Uint8Array();
  const tokenizer: unknown = JSON.parse(new TextDecoder().decode(contents.get(manifest.tokenizer)));
  return { manifest, weights, tokenizer, weightsHash: manifest.files[manifest.weights]?.sha256 ?? "" };
}

async function read(directory: URL, file: string): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return await readFile(new URL(file, directory));
  } catch (cause) {
    throw new ModelFilesError(file, "missing", { cause });
  }
}

function parseManifest(bytes: Uint8Array): ModelManifest {
  try {
    return manifestSchema.parse(JSON.parse(new TextDecoder().decode(bytes)));
  } catch (cause) {
    throw new ModelFilesError("manifest.json", "invalid", { cause });
  }
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
