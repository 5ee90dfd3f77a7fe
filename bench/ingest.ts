import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type pg from "pg";
import { loadEmbeddingModel } from "../src/models/load-embedding-model.ts";
import { runCli } from "../test/cli/run-cli.ts";
import { percentile, rssMiB } from "../test/support/measures.ts";
import { copyRows } from "./copy-rows.ts";
import { type BenchServer, connectAsOwner, startBenchServer } from "./server.ts";
import { timed } from "./statistics.ts";

/**
 * What writing costs: documents a second over HTTP with a model that costs next to nothing, beside COPY of the same chunks into a plain table
 * in the same run; an import with the built-in model, which is what such an import should wait for; and what readers see meanwhile.
 */

const DIMENSION = 384;
const PER_CALL = 100;
const IN_FLIGHT = 2;
const TENANT = "acme";
const QUERY = "w1 w2 w3 w4";

export interface Written {
  readonly words: number;
  readonly documents: number;
  readonly chunks: number;
  readonly documentsPerSecond: number;
  /** The same chunks, text and vector, into a table without an index. */
  readonly copyDocumentsPerSecond: number;
  /** With indexes and what is out of line. */
  readonly bytesPerChunk: Readonly<Record<string, number>>;
  readonly rssMiB: { readonly before: number; readonly peak: number };
}

export interface Imported {
  readonly documents: number;
  readonly chunks: number;
  readonly documentsPerSecond: number;
  /** The part of the time, from the first text to the last, in which the model had nothing to do. */
  readonly modelIdleShare: number;
}

export interface Reader {
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly maxMs: number;
}

export interface IngestFigures {
  readonly written: readonly Written[];
  readonly imported: Imported | undefined;
  /** Retrieves of a tenant of 10,000 chunks: alone, while a neighbour adds documents, and while it does so itself. */
  readonly readers: Readonly<Record<string, Readonly<Record<"dense" | "sparse", Reader>>>>;
}

export interface IngestOptions {
  readonly documents: number;
  /** Seconds that readers are watched for, each time. */
  readonly seconds: number;
  /** A test collection, of which this many documents are imported. */
  readonly collection: string | undefined;
  readonly imported: number;
  readonly report: (line: string) => void;
}

export async function measureIngest(options: IngestOptions): Promise<IngestFigures> {
  const { documents, report, collection } = options;
  const written: Written[] = [];
  for (const words of [30, 1_000]) {
    report(`${documents} documents of ${words} words`);
    written.push(await measureWrites(words, documents));
  }
  if (collection !== undefined) report(`import of ${options.imported} documents with the built-in model`);
  const imported = collection === undefined ? undefined : await measureImport(collection, options.imported);
  report("readers beside writers");
  return { written, imported, readers: await measureReaders(options.seconds) };
}

/** A text as the bench's other corpora have them, with sentences. */
function textOf(number: number, words: number): string {
  const word = (at: number) => {
    const place = number * 7_919 + at * 104_729 + at * at * 31;
    return `w${(place % (at % 3 === 0 ? 60 : 20_000)).toString(36)}${at % 12 === 11 ? "." : ""}`;
  };
  return Array.from({ length: words }, (_, at) => word(at)).join(" ");
}

/** @param until asked before each call of `PER_CALL` documents, with the documents that were sent */
async function writeAll(
  server: BenchServer,
  token: string,
  words: number,
  until: (sent: number) => boolean,
): Promise<void> {
  let sent = 0;
  const lane = async () => {
    while (!until(sent)) {
      const first = sent;
      sent += PER_CALL;
      const numbers = Array.from({ length: PER_CALL }, (_, n) => first + n);
      const documents = numbers.map((number) => ({ id: `i${number}`, text: textOf(number, words) }));
      await server.call("index/add", { documents }, token);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
}

const tokenOf = (server: BenchServer, tenant: string) =>
  server.issuer.mint({ tenant, credentials: ["read", "add"], expiresIn: 36_000 });

async function measureWrites(words: number, documents: number): Promise<Written> {
  const server = await startBenchServer({ dimension: DIMENSION, model: cheapModel() });
  const owner = await connectAsOwner(server);
  try {
    const token = await tokenOf(server, "writer");
    await writeAll(server, await tokenOf(server, "warm"), words, (sent) => sent > 0);
    const before = rssMiB(server.pid);
    let peak = before;
    const watch = setInterval(() => {
      peak = Math.max(peak, rssMiB(server.pid));
    }, 50);
    const ms = await timed(() => writeAll(server, token, words, (sent) => sent >= documents));
    clearInterval(watch);
    const rows = await chunksOf(owner);
    await owner.query("create table plain (doc_id text, body text, embedding halfvec)");
    const copyMs = await timed(() => copyRows(owner, "plain", rows));
    const perSecond = (took: number) => documents / (took / 1_000);
    return {
      words,
      documents,
      chunks: rows.length,
      documentsPerSecond: perSecond(ms),
      copyDocumentsPerSecond: perSecond(copyMs),
      bytesPerChunk: await bytesPerChunk(owner),
      rssMiB: { before, peak },
    };
  } finally {
    await owner.end();
    await server.close();
  }
}

async function chunksOf(owner: pg.Client): Promise<string[][]> {
  const { rows } = await owner.query<{ doc_id: string; body: string; embedding: string }>(
    `select c.doc_id, substr(t.body, c.start_offset + 1, c.end_offset - c.start_offset) as body, c.embedding::text as embedding
from pgrcp.chunks c join pgrcp.document_texts t using (tenant_id, corpus, doc_id, added_version) where tenant_id = 'writer'`,
  );
  return rows.map(({ doc_id, body, embedding }) => [doc_id, body, embedding]);
}

async function bytesPerChunk(owner: pg.Client): Promise<Record<string, number>> {
  const { rows } = await owner.query<{ name: string; bytes: number }>(
    `select name, (pg_total_relation_size('pgrcp.' || name) / (select count(*) from pgrcp.chunks))::int as bytes
from unnest('{chunks_shared,documents,document_texts,postings}'::text[]) as name`,
  );
  return Object.fromEntries(rows.map(({ name, bytes }) => [name, bytes]));
}

/** Gives one of a few vectors, whatever the text, so that the bench's own process has little to do. */
function cheapModel() {
  const vectors = Array.from({ length: 64 }, (_, n) =>
    Float32Array.from({ length: DIMENSION }, (_value, at) => Math.sin(1 + n * 31 + at * (n + 7))),
  );
  return {
    maxTokens: 256,
    async embed(texts: readonly string[]) {
      return texts.map((text) => vectors[text.length % vectors.length] ?? new Float32Array(DIMENSION));
    },
  };
}

/** The built-in model, and how long it had work between its first and its last text. */
async function watchedModel() {
  const model = await loadEmbeddingModel({ provider: "builtin", threads: 0 });
  let running = 0;
  let busyMs = 0;
  let [since, firstAt, lastAt] = [0, Number.POSITIVE_INFINITY, 0];
  const embed: typeof model.embed = async (...asked) => {
    if (running++ === 0) since = performance.now();
    firstAt = Math.min(firstAt, since);
    try {
      return await model.embed(...asked);
    } finally {
      lastAt = performance.now();
      if (--running === 0) busyMs += lastAt - since;
    }
  };
  const figures = () => ({ idleShare: 1 - busyMs / (lastAt - firstAt), seconds: (lastAt - firstAt) / 1_000 });
  return { model: { maxTokens: model.maxTokens, embed }, figures, close: () => model.close() };
}

async function measureImport(collection: string, documents: number): Promise<Imported> {
  const folder = await mkdtemp(join(tmpdir(), "pgrcp-ingest-"));
  const watched = await watchedModel();
  const server = await startBenchServer({ dimension: DIMENSION, model: watched.model });
  try {
    const lines = (await readFile(join(collection, "corpus.jsonl"), "utf8")).split("\n").slice(0, documents);
    await writeFile(join(folder, "in.jsonl"), lines.join("\n"));
    await writeFile(join(folder, "token"), await tokenOf(server, TENANT));
    const { code, stdout, stderr } = await runCli(
      ["import", "in.jsonl", "--url", server.url, "--token-file", "token"],
      folder,
    );
    if (code !== 0) throw new Error(`the import ended with ${code}:\n${stdout}${stderr}`);
    const { idleShare, seconds } = watched.figures();
    const chunks = Number(/as (\d+) chunks/.exec(stdout)?.[1]);
    return { documents, chunks, documentsPerSecond: documents / seconds, modelIdleShare: idleShare };
  } finally {
    await server.close();
    await watched.close();
    await rm(folder, { recursive: true });
  }
}

async function measureReaders(seconds: number): Promise<IngestFigures["readers"]> {
  const server = await startBenchServer({ dimension: DIMENSION, model: cheapModel() });
  try {
    const own = await tokenOf(server, TENANT);
    const neighbour = await tokenOf(server, "neighbour");
    await writeAll(server, own, 30, (sent) => sent >= 10_000);
    const read = async (writer: string | undefined) => {
      const endsAt = performance.now() + seconds * 1_000;
      const took = { dense: [] as number[], sparse: [] as number[] };
      const isOver = () => performance.now() >= endsAt;
      const writing = writer === undefined ? undefined : writeAll(server, writer, 300, isOver);
      while (!isOver())
        for (const mode of ["dense", "sparse"] as const)
          took[mode].push(await timed(() => server.call("retrieve", { query: QUERY, mode, k: 10 }, own)));
      await writing;
      return { dense: readerOf(took.dense), sparse: readerOf(took.sparse) };
    };
    await read(undefined);
    return { quiet: await read(undefined), besideNeighbour: await read(neighbour), besideOwn: await read(own) };
  } finally {
    await server.close();
  }
}

const readerOf = (took: readonly number[]): Reader => ({
  p50Ms: percentile(0.5, took),
  p95Ms: percentile(0.95, took),
  maxMs: Math.max(...took),
});
