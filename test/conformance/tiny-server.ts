import { isMethodName } from "../../src/protocol/methods.ts";
import { isObject, type Params } from "../../src/protocol/params.ts";

/**
 * A small RCP server that keeps every rule it can be asked about, and breaks one on demand: what the conformance suite says of it is
 * known beforehand. Words count as matches, a document is a hit, and everything is kept in memory.
 */

/** What it can do wrong, one at a time. */
export const FAULTS = [
  "answers notifications",
  "turns ids into strings",
  "rounds ids",
  "takes a second initialize",
  "initializes though it refuses",
  "calls unknown methods missing capabilities",
  "returns more than k hits",
  "refuses k above maxK",
  "coerces k",
  "falls back to another mode",
  "hides nothing below minScore",
  "orders hits by id",
  "forks documents",
  "fails for an absent id",
  "returns ids sorted",
  "forgets the idempotency key",
  "serves another version",
  "takes constructor for a field",
  "compares keywords without case",
  "passes an empty and",
  "sends progress without a token",
  "sends another token",
  "repeats a hit on the next page",
  "writes vectors big-endian",
  "knows no texts",
  "answers an empty batch with an array",
  "lists notifications of a batch",
  "fails a batch for one member",
  "hides its level",
  "sends null",
  "has a code of its own",
  "answers a passed deadline otherwise",
  "calls everything trusted",
] as const;
export type Fault = (typeof FAULTS)[number];

/** What belongs to one client. */
export interface TinySession {
  initialized: boolean;
  done: boolean;
}

interface Document {
  readonly id: string;
  readonly text: string;
  readonly meta: Params;
}

class Refusal extends Error {
  readonly code: number;
  readonly data: Params;
  constructor(code: number, data: Params = {}) {
    super("refused");
    this.code = code;
    this.data = data;
  }
}

const MAX_K = 50;
const DIMENSION = 4;
const FIELDS: Params = { lang: "keyword", year: "int" };
const OPERATORS = ["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "contains", "exists"];
const UNGATED = ["initialize", "info", "ping", "shutdown"];
const ADVERTISED = ["embed", "retrieve", "index/add", "index/delete"];

const malformed = (field: string) => new Refusal(-32602, { field });

/** Answers to messages; the transport is the test's. */
export class TinyServer {
  readonly #fault: Fault | undefined;
  readonly #versions: Document[][] = [[]];
  readonly #keys = new Map<string, object>();
  #minted = 0;

  constructor(fault?: Fault) {
    this.#fault = fault;
  }

  #has(fault: Fault): boolean {
    return this.#fault === fault;
  }

  get #documents(): readonly Document[] {
    return this.#versions.at(-1) ?? [];
  }

  /** @returns the frames for one line or body, the answer last */
  handle(text: string, session: TinySession): string[] {
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      return [encode(failure(null, -32700))];
    }
    if (!Array.isArray(message)) return this.#answer(message, session).map(encode);
    if (message.length === 0)
      return [
        encode(this.#has("answers an empty batch with an array") ? [failure(null, -32600)] : failure(null, -32600)),
      ];
    const answers = message.flatMap((one) => this.#answer(one, session).slice(-1));
    if (this.#has("fails a batch for one member") && answers.some((one) => Object.hasOwn(one, "error")))
      return [encode(answers.map(() => failure(null, -32600)))];
    if (this.#has("lists notifications of a batch"))
      answers.push(...message.filter((one) => isObject(one) && !Object.hasOwn(one, "id")).map(() => success("", {})));
    return answers.length === 0 ? [] : [encode(answers)];
  }

  #answer(message: unknown, session: TinySession): object[] {
    if (!isObject(message)) return [failure(null, -32600)];
    const { jsonrpc, method, params = {} } = message;
    if (!Object.hasOwn(message, "id") && typeof method === "string")
      return this.#has("answers notifications") ? [failure(null, -32600)] : [];
    const id = this.#idOf(message.id);
    if (id === null || jsonrpc !== "2.0" || typeof method !== "string" || method.startsWith("notifications/"))
      return [failure(id, -32600)];
    const echoed = this.#has("turns ids into strings") ? String(id) : id;
    const notifications: object[] = [];
    try {
      if (!isObject(params)) throw malformed("params");
      const result = this.#call(method, params, session, notifications);
      return [...notifications, success(echoed, result)];
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return [failure(echoed, error.code, error.data)];
    }
  }

  #idOf(id: unknown): string | number | null {
    if (typeof id === "string") return id;
    if (typeof id !== "number" || !Number.isFinite(id)) return null;
    return Number.isInteger(id) && !Number.isSafeInteger(id) && !this.#has("rounds ids") ? null : id;
  }

  #call(method: string, params: Params, session: TinySession, notifications: object[]): object {
    if (method === "initialize") return this.#initialize(params, session);
    if (method === "info") return this.#identity();
    if (method === "ping") return (params.nonce ?? null) === null ? {} : { nonce: params.nonce };
    if (method === "shutdown") {
      session.initialized = false;
      session.done = true;
      return {};
    }
    if (!session.initialized) throw new Refusal(-32001);
    if (!isMethodName(method))
      throw new Refusal(
        this.#has("has a code of its own")
          ? -32050
          : this.#has("calls unknown methods missing capabilities")
            ? -32003
            : -32004,
      );
    if (!UNGATED.includes(method) && !ADVERTISED.includes(method)) throw new Refusal(-32003);
    const meta = isObject(params._meta) ? params._meta : {};
    if (meta.deadlineMs === 1) {
      throw new Refusal(this.#has("answers a passed deadline otherwise") ? -32010 : -32014, { retryable: true });
    }
    const token = meta.progressToken ?? undefined;
    if (token !== undefined || this.#has("sends progress without a token"))
      notifications.push({
        jsonrpc: "2.0",
        method: "notifications/progress",
        params: {
          progressToken: this.#has("sends another token") ? `${token}!` : (token ?? 0),
          progress: 0.5,
          stage: "recall",
        },
      });
    switch (method) {
      case "embed":
        return this.#embed(params);
      case "index/add":
        return this.#add(params);
      case "index/delete":
        return this.#delete(params);
      default:
        return this.#retrieve(params);
    }
  }

  #initialize({ protocolVersion }: Params, session: TinySession): object {
    if (session.initialized && !this.#has("takes a second initialize")) throw new Refusal(-32600);
    const isVersion = typeof protocolVersion === "number" && Number.isInteger(protocolVersion);
    session.initialized = this.#has("initializes though it refuses") || (isVersion && protocolVersion >= 1);
    if (!isVersion) throw malformed("protocolVersion");
    if (protocolVersion < 1) throw new Refusal(-32002);
    return this.#identity();
  }

  #identity(): object {
    return {
      protocolVersion: 1,
      server: { name: "tiny", version: "1" },
      capabilities: {
        retrieve: { maxK: MAX_K, modes: ["sparse"], deterministic: true, snapshots: true },
        embed: { dimension: DIMENSION, identity: "tiny", batchLimit: 8, encodings: ["json", "f32-base64"] },
        index: { writable: true },
        filter: { fields: FIELDS, operators: OPERATORS },
        citations: {},
        streaming: {},
        pagination: {},
      },
      _meta: this.#has("hides its level") ? {} : { conformance: "L0" },
    };
  }

  #embed(params: Params): object {
    const inputs = params.inputs ?? (this.#has("knows no texts") ? undefined : params.texts);
    if (!Array.isArray(inputs)) throw malformed("inputs");
    if (inputs.length > 8) throw malformed("inputs");
    if (![undefined, null, "query", "document"].some((kind) => kind === params.kind)) throw malformed("kind");
    const vectors = inputs.map((input) => {
      if (isObject(input) && input.type !== "text") throw new Refusal(-32005, { option: "inputs" });
      if (typeof input !== "string") throw malformed("inputs");
      return Array.from({ length: DIMENSION }, (_, index) => Math.fround((input.charCodeAt(index) || 1) / 7));
    });
    switch (params.encoding ?? "json") {
      case "json":
        return { vectors };
      case "f32-base64":
        return { vectors: vectors.map((vector) => this.#binary(vector)), encoding: "f32-base64", dimension: DIMENSION };
      default:
        throw new Refusal(-32005, { option: "encoding" });
    }
  }

  #binary(vector: readonly number[]): string {
    const bytes = Buffer.alloc(vector.length * 4);
    for (const [index, value] of vector.entries())
      if (this.#has("writes vectors big-endian")) bytes.writeFloatBE(value, index * 4);
      else bytes.writeFloatLE(value, index * 4);
    return bytes.toString("base64");
  }

  #add({ documents, _meta }: Params): object {
    if (!Array.isArray(documents)) throw malformed("documents");
    const key = isObject(_meta) && typeof _meta.idempotencyKey === "string" ? _meta.idempotencyKey : undefined;
    const known = key === undefined || this.#has("forgets the idempotency key") ? undefined : this.#keys.get(key);
    if (known !== undefined) return known;
    const added = documents.map((document, index): Document => {
      const field = `documents[${index}]`;
      if (!isObject(document) || typeof document.text !== "string") throw malformed(field);
      const { id = `minted-${this.#minted++}`, meta = {} } = document;
      if (typeof id !== "string" || !isObject(meta)) throw malformed(field);
      return { id, text: document.text, meta };
    });
    const ids = added.map(({ id }) => id);
    const unique = [...new Map(added.map((document) => [document.id, document])).values()];
    const kept = this.#has("forks documents") ? this.#documents : this.#documents.filter(({ id }) => !ids.includes(id));
    this.#versions.push([...kept, ...unique]);
    const result = { ids: this.#has("returns ids sorted") ? ids.toSorted() : ids };
    if (key !== undefined) this.#keys.set(key, result);
    return result;
  }

  #delete({ ids }: Params): object {
    if (!Array.isArray(ids) || !ids.every((id) => typeof id === "string")) throw malformed("ids");
    const kept = this.#documents.filter(({ id }) => !ids.includes(id));
    const deleted = this.#documents.length - kept.length;
    if (deleted === 0 && ids.length > 0 && this.#has("fails for an absent id")) throw new Refusal(-32015);
    this.#versions.push(kept);
    return { deleted };
  }

  #retrieve(params: Params): object {
    const k = this.#kOf(params);
    this.#checkOptions(params, k);
    const words = this.#wordsOf(params.query);
    const version = this.#versionOf(params.indexVersion);
    const { filter = null } = params;
    if (filter !== null) this.#passes(filter, "filter", {}); // what is malformed is refused whatever there is to filter
    const documents = this.#versions[this.#has("serves another version") ? this.#versions.length - 1 : version] ?? [];
    const found = documents
      .filter((document) => filter === null || this.#passes(filter, "filter", document.meta))
      .map((document) => ({ document, score: scoreOf(words, document.text) }))
      .filter(
        ({ score }) =>
          score > 0 &&
          (typeof params.minScore !== "number" ||
            this.#has("hides nothing below minScore") ||
            score >= params.minScore),
      );
    const byId = (a: Document, b: Document) => (a.id < b.id ? -1 : 1);
    const ranked = found.sort((a, b) =>
      this.#has("orders hits by id") ? byId(a.document, b.document) : b.score - a.score || byId(a.document, b.document),
    );
    const from = this.#cursorOf(params.cursor, ranked.length);
    const page = ranked.slice(from, from + (this.#has("returns more than k hits") ? k + 1 : k));
    const next = from + k - (this.#has("repeats a hit on the next page") && k > 1 ? 1 : 0);
    return {
      hits: page.map(({ document, score }) => this.#hit(document, score, params)),
      indexVersion: `v${version}`,
      ...(next < ranked.length && page.length === k && { nextCursor: `at-${next}-of-${ranked.length}` }),
      usage: { candidates: ranked.length, notes: params.strict === false ? ["left out what is not advertised"] : [] },
    };
  }

  #hit({ id, text, meta }: Document, score: number, { includeText }: Params): object {
    return {
      id,
      score,
      ...(includeText !== false && { text }),
      meta,
      citation: { source: "tiny", ...(this.#has("sends null") && { title: null }) },
      trust: { level: this.#has("calls everything trusted") ? "trusted" : "untrusted" },
    };
  }

  #kOf({ k }: Params): number {
    const value = this.#has("coerces k") && typeof k === "string" ? Number(k) : (k ?? 10);
    if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 1) throw malformed("k");
    if (value > MAX_K && this.#has("refuses k above maxK")) throw malformed("k");
    return Math.min(value, MAX_K);
  }

  #checkOptions(params: Params, clampedK: number): void {
    const types = {
      strict: "boolean",
      includeText: "boolean",
      includeVectors: "boolean",
      minScore: "number",
      seed: "number",
      indexVersion: "string",
      cursor: "string",
      sessionId: "string",
      mode: "string",
      unit: "string",
    };
    for (const [name, type] of Object.entries(types))
      if ((params[name] ?? undefined) !== undefined && typeof params[name] !== type) throw malformed(name);
    const { candidateK, mode, unit } = params;
    const k = typeof params.k === "number" ? params.k : clampedK;
    if ((candidateK ?? undefined) !== undefined && !(typeof candidateK === "number" && candidateK >= k))
      throw malformed("candidateK");
    if (params.strict === false) return;
    if (typeof mode === "string" && mode !== "sparse" && !this.#has("falls back to another mode"))
      throw new Refusal(-32005, { option: "mode" });
    if (typeof unit === "string" && unit !== "chunk") throw new Refusal(-32005, { option: "unit" });
    for (const option of ["mmr", "rerank", "rewrite", "recency", "tokenBudget", "fusion", "includeVectors"])
      if ((params[option] ?? false) !== false) throw new Refusal(-32005, { option });
  }

  #wordsOf(query: unknown): readonly string[] {
    const block = Array.isArray(query) ? query[0] : query;
    if (isObject(block) && (block.type === "image" || block.type === "audio")) {
      if (Object.hasOwn(block, "data") && Object.hasOwn(block, "uri")) throw malformed("query");
      throw new Refusal(-32005, { option: "query.type" });
    }
    const text = isObject(block) && block.type === "text" ? block.text : query;
    if (typeof text !== "string") throw malformed("query");
    return text.toLowerCase().split(/\s+/);
  }

  #versionOf(asked: unknown): number {
    const newest = this.#versions.length - 1;
    if ((asked ?? undefined) === undefined) return newest;
    const version = /^v(\d+)$/.exec(String(asked))?.[1];
    if (version === undefined || Number(version) > newest) throw new Refusal(-32010, { retryable: false });
    return Number(version);
  }

  /** The ranked list of the first page is not kept, so documents that are added sort behind it only by chance. */
  #cursorOf(cursor: unknown, length: number): number {
    if ((cursor ?? undefined) === undefined) return 0;
    const match = /^at-(\d+)-of-(\d+)$/.exec(String(cursor));
    if (match === null) throw malformed("cursor");
    // What came first since then is passed over.
    return Number(match[1]) + Math.max(0, length - Number(match[2]));
  }

  #passes(node: unknown, path: string, meta: Params): boolean {
    if (!isObject(node)) throw malformed(path);
    const kinds = ["and", "or", "not", "field"].filter((name) => Object.hasOwn(node, name));
    if (kinds.length !== 1) throw malformed(path);
    const [kind = ""] = kinds;
    if (kind === "not") return !this.#passes(node.not, `${path}.not`, meta);
    if (kind === "field") return this.#leaf(node, path, meta);
    const children = node[kind];
    if (!Array.isArray(children) || (children.length === 0 && !this.#has("passes an empty and")))
      throw malformed(`${path}.${kind}`);
    const passed = children.map((child) => this.#passes(child, `${path}.${kind}`, meta));
    return kind === "and" ? passed.every(Boolean) : passed.some(Boolean);
  }

  #leaf({ field, op, value }: Params, path: string, meta: Params): boolean {
    const name = String(field);
    const isField = this.#has("takes constructor for a field") ? name in FIELDS : Object.hasOwn(FIELDS, name);
    if (!isField) throw malformed(`${path}.field`);
    if (!OPERATORS.includes(String(op)) || op === "contains") throw malformed(`${path}.op`);
    const isKeyword = FIELDS[name] === "keyword";
    const isRight = (one: unknown) =>
      isKeyword || FIELDS[name] !== "int" ? typeof one === "string" : Number.isSafeInteger(one);
    const own = this.#folded(Object.hasOwn(meta, name) ? meta[name] : undefined);
    if (op === "exists") {
      if (typeof value !== "boolean") throw malformed(`${path}.value`);
      return (own !== undefined) === value;
    }
    const values = op === "in" || op === "nin" ? value : [value];
    if (!Array.isArray(values) || values.length === 0 || !values.every(isRight)) throw malformed(`${path}.value`);
    const among = values.map((one) => this.#folded(one)).includes(own);
    if (op === "eq" || op === "in") return among;
    if (op === "ne" || op === "nin") return !among;
    if (isKeyword) throw malformed(`${path}.op`);
    if (typeof own !== "number") return false;
    const difference = own - Number(value);
    return op === "gt"
      ? difference > 0
      : op === "gte"
        ? difference >= 0
        : op === "lt"
          ? difference < 0
          : difference <= 0;
  }

  #folded(value: unknown): unknown {
    return this.#has("compares keywords without case") && typeof value === "string" ? value.toLowerCase() : value;
  }
}

const scoreOf = (words: readonly string[], text: string): number => {
  const own = text.toLowerCase().split(/\s+/);
  return words.reduce((sum, word) => sum + own.filter((one) => one === word).length, 0);
};

const encode = (value: object): string => JSON.stringify(value);
const success = (id: string | number, result: object) => ({ jsonrpc: "2.0", id, result });
const failure = (id: string | number | null, code: number, data?: Params) => ({
  jsonrpc: "2.0",
  id,
  error: { code, message: "refused", ...(data && { data }) },
});
