import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type RunningCli, startCli } from "../../cli/run-cli.ts";
import type { SeededRandom } from "../seeded-random.ts";
import { randomDocuments, revise, type SentDocument } from "./generated-corpus.ts";

const DOCUMENTS = 120;
const BATCH = 4;
const CONCURRENCY = 2;

/**
 * Runs `pgrcp import` of one file again and again. After each import that completes, most documents get another text, so that the
 * next one replaces them.
 */
export class ImportRunner {
  /** Imports that completed. */
  completed = 0;
  /** Settles when the import under way when `finish` was called has completed. Rejects when one fails. */
  readonly done: Promise<void>;
  readonly #folder: string;
  readonly #url: string;
  readonly #random: SeededRandom;
  #documents: readonly SentDocument[];
  #running: RunningCli | undefined;
  #isKilled = false;
  #isLast = false;
  #isStopped = false;

  /** @param folder where the file `add` has a token */
  constructor(folder: string, url: string, random: SeededRandom) {
    this.#folder = folder;
    this.#url = url;
    this.#random = random;
    this.#documents = randomDocuments(random, DOCUMENTS);
    this.done = this.#run();
    this.done.catch(() => {});
  }

  /** What the last import to complete has imported. */
  get documents(): readonly SentDocument[] {
    return this.#documents;
  }

  /** Kills the import as well. It is started again and has only its own notes of what was acknowledged. */
  kill(): void {
    this.#isKilled = true;
    this.#running?.kill("SIGKILL");
  }

  /** Kills the import for good. */
  stop(): void {
    this.#isStopped = true;
    this.#running?.kill("SIGKILL");
  }

  /** Lets the import under way complete, and starts no more. */
  async finish(): Promise<void> {
    this.#isLast = true;
    await this.done;
  }

  async #run(): Promise<void> {
    for (;;) {
      await writeFile(
        join(this.#folder, "corpus.jsonl"),
        this.#documents.map((one) => `${JSON.stringify(one)}\n`).join(""),
      );
      await this.#importAll();
      this.completed += 1;
      if (this.#isLast) return;
      this.#documents = revise(this.#random, this.#documents);
    }
  }

  async #importAll(): Promise<void> {
    const limits = ["--batch", String(BATCH), "--concurrency", String(CONCURRENCY)];
    const args = ["import", "corpus.jsonl", "--url", this.#url, "--token-file", "add", ...limits];
    for (;;) {
      this.#isKilled = false;
      this.#running = startCli(args, this.#folder);
      const { code, stderr } = await this.#running.result;
      if (code === 0) return;
      if (!this.#isKilled || this.#isStopped) throw new Error(`the import ended with exit code ${code}:\n${stderr}`);
    }
  }
}
