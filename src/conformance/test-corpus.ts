import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { isObject, type Params } from "../protocol/params.ts";
import type { Client } from "./client.ts";
import { ensure, need, show } from "./outcome.ts";
import type { ServerUnderTest } from "./server-under-test.ts";

export interface NewDocument {
  readonly id: string;
  readonly text: string;
  readonly meta?: Params;
}

/** How long a server may take to show what it has added. */
const VISIBLE_WITHIN_MS = 5_000;
const DOCUMENTS = 6;

/** The suite's own documents in the server's corpus: their ids and words are nobody else's, and they are taken away at the end. */
export class TestCorpus {
  readonly #server: ServerUnderTest;
  readonly #ids = new Set<string>();
  readonly #run = randomBytes(6).toString("hex");
  #count = 0;
  #basic: Promise<readonly NewDocument[]> | undefined;

  constructor(server: ServerUnderTest) {
    this.#server = server;
  }

  /** An id that no document has. */
  newId(name: string): string {
    this.#count += 1;
    return `rcp-conformance-${this.#run}-${name}-${this.#count}`;
  }

  /** A word that no text has. It is all letters, and its ending is none that a stemmer takes off. */
  newWord(): string {
    this.#count += 1;
    const letters = [...`${this.#run}${this.#count.toString(16)}`].map((digit) =>
      String.fromCharCode("a".charCodeAt(0) + Number.parseInt(digit, 16)),
    );
    return `zq${letters.join("")}zx`;
  }

  /** @throws Skipped when the server takes no documents */
  async adder(): Promise<Client> {
    const client = await this.#server.shared("add");
    const { capabilities } = client.initialized ?? (await client.result("info"));
    const index = isObject(capabilities) ? capabilities.index : undefined;
    need(isObject(index) && index.writable === true, "index is not advertised as writable");
    return client;
  }

  /** The result of `index/add`; the documents are taken away at the end. */
  async add(documents: readonly NewDocument[], more: Params = {}): Promise<Params> {
    const client = await this.adder();
    for (const { id } of documents) this.#ids.add(id);
    return client.result("index/add", { documents, ...more });
  }

  /** The result of `index/delete`. */
  async remove(ids: readonly string[]): Promise<Params> {
    const client = await this.#server.shared("delete");
    return client.result("index/delete", { ids });
  }

  /** Params of a retrieve that finds the documents with a word of their own, and as little else as the server can. */
  async queryFor(word: string, more: Params = {}): Promise<Params> {
    const { modes, maxK } = await this.#server.capability("retrieve");
    const k = typeof maxK === "number" ? Math.min(maxK, 20) : 20;
    return { query: word, k, ...(Array.isArray(modes) && modes.includes("sparse") && { mode: "sparse" }), ...more };
  }

  /** The suite's hits of a retrieve, best first. */
  async find(params: Params): Promise<readonly Params[]> {
    const client = await this.#server.shared();
    const { hits } = await client.result("retrieve", params);
    return hitsOf(hits).filter((hit) => this.documentOf(hit) !== undefined);
  }

  /** The id of the suite's document that a hit shows, or undefined. */
  documentOf(hit: Params): string | undefined {
    const docId = isObject(hit.chunk) ? hit.chunk.docId : undefined;
    const id = String(docId ?? hit.id);
    return this.#ids.has(id) ? id : [...this.#ids].find((own) => id.startsWith(`${own}#`));
  }

  /** Which of the suite's documents a retrieve finds, each once, in code unit order. */
  async findIds(params: Params): Promise<readonly string[]> {
    const found = (await this.find(params)).flatMap((hit) => this.documentOf(hit) ?? []);
    return [...new Set(found)].sort();
  }

  /** A few documents that share one word, made at the first call. @throws Skipped when the server takes none */
  async basic(): Promise<{ readonly word: string; readonly documents: readonly NewDocument[] }> {
    await this.adder();
    await this.#server.capability("retrieve");
    this.#basic ??= this.#addBasic();
    const documents = await this.#basic;
    return { word: documents[0]?.text.split(" ")[0] ?? "", documents };
  }

  async #addBasic(): Promise<readonly NewDocument[]> {
    const word = this.newWord();
    const documents = Array.from({ length: DOCUMENTS }, (_, index) => ({
      id: this.newId("basic"),
      text: `${word} ${TOPICS[index % TOPICS.length]} ${`${word} `.repeat(index)}`.trim(),
    }));
    await this.add(documents);
    await this.untilFound(word, documents.length);
    return documents;
  }

  /** Waits until as many of the suite's documents are found by a word. @throws Violation when they do not appear */
  async untilFound(word: string, count: number, more: Params = {}): Promise<void> {
    const params = await this.queryFor(word, more);
    const endsAt = performance.now() + VISIBLE_WITHIN_MS;
    for (;;) {
      const found = await this.findIds(params);
      if (found.length >= count) return;
      ensure(
        performance.now() < endsAt,
        `${count} documents with the word ${word} were added, and a retrieve for it finds ${found.length} of them: ${show(params)}`,
      );
      await sleep(100);
    }
  }

  /** Takes every document away. */
  async cleanUp(): Promise<void> {
    const ids = [...this.#ids];
    this.#ids.clear();
    for (let from = 0; from < ids.length; from += 50) await this.remove(ids.slice(from, from + 50)).catch(() => {});
  }
}

const TOPICS = [
  "The lighthouse keeper writes down every ship that passes.",
  "Bread rises slowly when the kitchen is cold.",
  "A comet returns to the inner planets each century.",
  "The harbour wall was repaired after the storm.",
  "Old maps show a river where the road is now.",
  "Bees find their way home by the sun.",
];

/** The objects in a list of any kind; none when it is no list. */
export const hitsOf = (hits: unknown): readonly Params[] => (Array.isArray(hits) ? hits.filter(isObject) : []);
