import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ChurnStage } from "./churn.ts";
import type { CompactionFigures } from "./compaction.ts";
import { isFailure } from "./failure.ts";
import type { Figures, Step, StepFigures } from "./figures.ts";
import type { GrowthFigures } from "./growth.ts";
import type { IngestFigures, Reader } from "./ingest.ts";
import type { MatrixFigures } from "./matrix.ts";
import type { Overhead } from "./overhead.ts";
import type { PeersFigures } from "./peers/measure.ts";
import { plotToSvg } from "./plot.ts";
import { plots } from "./plots.ts";
import type { CellFigures, SizeFigures } from "./recall.ts";
import type { RlsFigures } from "./rls.ts";
import type { Run } from "./run.ts";
import type { SparseFigures } from "./sparse.ts";
import { count, decimals, kB, ms, share, table } from "./table.ts";
import type { Latency, TenantsFigures } from "./tenants.ts";
import { KINDS, WRITES } from "./traffic.ts";
import { TOPICS } from "./vectors.ts";

/** Writes what bench/results/README.md says. @returns the path of the Markdown */
export async function writeResults(folder: string, figures: Figures): Promise<string> {
  await mkdir(folder, { recursive: true });
  const name = await nameFor(folder, figures.run);
  const drawn = plots(figures).map(({ step, plot }, number) => ({
    step,
    plot,
    file: `${name}-${number + 1}-${step}.svg`,
  }));
  for (const { plot, file } of drawn) await writeFile(join(folder, file), plotToSvg(plot));
  await writeFile(join(folder, `${name}.json`), `${JSON.stringify(figures, null, 2)}\n`);
  const images = drawn.map(({ step, plot, file }) => ({ step, line: `![${plot.title}](${file})` }));
  const path = join(folder, `${name}.md`);
  await writeFile(path, reportToMarkdown(figures, images));
  return path;
}

/** The minute in which the run started, numbered where another one started in it, too. */
async function nameFor(folder: string, { startedAt }: Run): Promise<string> {
  const minute = startedAt.slice(0, 16).replace("T", "-").replace(":", "");
  for (let number = 1; ; number++) {
    const name = number === 1 ? minute : `${minute}-run${number}`;
    const there = await readFile(join(folder, `${name}.json`), "utf8").catch(() => undefined);
    if (there === undefined || (JSON.parse(there) as Figures).run.startedAt === startedAt) return name;
  }
}

/** @param images lines to put below the tables of a step */
export function reportToMarkdown(
  figures: Figures,
  images: readonly { readonly step: Step; readonly line: string }[] = [],
): string {
  const sections = STEPS.flatMap((step) => {
    const blocks = step.blocks(figures);
    if (blocks.length === 0) return [];
    const lines = images.filter((image) => image.step === step.name).map(({ line }) => line);
    return [`## ${step.name}: ${step.title}`, ...blocks, ...lines];
  });
  return `${[...runBlocks(figures.run), ...sections].join("\n\n")}\n`;
}

function runBlocks(run: Run): string[] {
  const { startedAt, endedAt, cores, load, seconds } = run;
  const minutes = Math.round((Date.parse(endedAt) - Date.parse(startedAt)) / 60_000);
  return [
    `# Bench of ${startedAt.slice(0, 16).replace("T", " ")} UTC`,
    "What each step measures and how: [bench/README.md](../README.md). Times are medians unless they are named otherwise.",
    table(
      ["", ""],
      [
        ["command", `\`npm run bench${run.options === "" ? "" : ` -- ${run.options}`}\`, ${minutes} minutes`],
        ["machine", `${cores} cores, ${run.cpu}, ${run.memoryGiB} GiB, ${run.os}`],
        [
          "versions",
          `commit ${run.commit}, Node ${run.node}, Postgres ${run.postgres} (shared_buffers ${run.sharedBuffers}), pgvector ${run.pgvector}`,
        ],
        [
          "load",
          `${decimals(load.start, 1)} at the start, ${decimals(load.end, 1)} at the end; above ${cores} processes waited for a core`,
        ],
        [
          "steps",
          Object.entries(seconds)
            .map(([step, some]) => `${step} ${count(some)} s`)
            .join(", "),
        ],
      ],
    ),
  ];
}

interface StepReport {
  readonly name: Step;
  readonly title: string;
  /** Tables and sentences; none where the step was not run. */
  blocks(figures: Figures): string[];
}

const blocksOf = <Name extends Step>(
  name: Name,
  title: string,
  render: (figures: StepFigures[Name]) => string[],
): StepReport => ({
  name,
  title,
  blocks(figures) {
    const some = figures[name];
    if (some === undefined) return [];
    return isFailure(some) ? [`Not measured: ${some.failure}`] : render(some as StepFigures[Name]);
  },
});

const STEPS: readonly StepReport[] = [
  blocksOf("overhead", "what the server adds to its SQL", overheadBlocks),
  blocksOf("sparse", "BM25 by corpus size", sparseBlocks),
  blocksOf("compaction", "the index of words of chunks written one at a time", compactionBlocks),
  blocksOf("recall", "recall and latency by size, filter and topic", recallBlocks),
  blocksOf("rls", "what Row Level Security costs", rlsBlocks),
  blocksOf("growth", "a small tenant among few and many", growthBlocks),
  blocksOf("tenants", "many tenants of Zipf sizes, under a mixed load", tenantsBlocks),
  blocksOf("churn", "all documents replaced five times, nine tenths deleted", churnBlocks),
  blocksOf("ingest", "what writing costs", ingestBlocks),
  blocksOf("peers", "beside what one might use in its place", peersBlocks),
];

function overheadBlocks(searches: readonly Overhead[]): string[] {
  return searches.flatMap(overheadOf);
}

function overheadOf(it: Overhead): string[] {
  const how = it.search === "graph" ? "by the corpus's graph" : "each looked at, before `pgrcp maintain`";
  return [
    `Dense \`retrieve\` of ${count(it.chunks)} chunks, ${how}; the question's vector known.`,
    table(
      ["", "p50, ms", "a second, 8 clients"],
      [
        ["`ping`", ms(it.pingMs), ""],
        ["`retrieve` over HTTP, with token and policies", ms(it.retrieveMs), count(it.retrieveRate)],
        ["the same SQL behind a bare server over HTTP", ms(it.bareMs), count(it.bareRate)],
        ["the same SQL, by the driver as the same login", ms(it.sameSqlMs), count(it.sameSqlRate)],
        ["one plain query without tenants", ms(it.plainSqlMs), ""],
      ],
    ),
    `The server adds ${ms(it.retrieveMs - it.sameSqlMs)} ms at p50, of which a bare one would add ${ms(it.bareMs - it.sameSqlMs)}, and has ${decimals(it.retrieveRate / it.sameSqlRate, 2)} of the throughput.`,
  ];
}

function sparseBlocks(sizes: readonly SparseFigures[]): string[] {
  const rows = sizes.flatMap(({ chunks, bytesPerChunk, queries }) =>
    Object.entries(queries).map(([kind, { httpMs, httpP95Ms, sameRowsMs }]) => [
      ...[count(chunks), kind, ms(httpMs), ms(httpP95Ms), ms(sameRowsMs), kB(bytesPerChunk)],
    ]),
  );
  const head = ["chunks", "query", "p50, ms", "p95, ms", "its rows, by the driver, ms", "index of words, kB a chunk"];
  return [table(head, rows)];
}

function compactionBlocks(it: CompactionFigures): string[] {
  return [
    table(
      ["chunks", "kB a chunk", "compacted", "took, s"],
      [[count(it.chunks), kB(it.bytesPerChunk), kB(it.bytesPerChunkCompacted), decimals(it.compactionMs / 1_000, 1)]],
    ),
  ];
}

/** Of every size, filter and topic. */
const WANTED_RECALL = 0.99;

function recallBlocks({ sizes, growth }: MatrixFigures): string[] {
  const cells = sizes.flatMap((size) => size.cells);
  const worst = cells.reduce((lowest, { recall }) => Math.min(lowest, recall), 1);
  const short = cells.reduce((sum, cell) => sum + cell.short, 0);
  const answers = cells.reduce((sum, { questions }) => sum + questions, 0);
  const below = cells.filter(({ recall }) => recall < WANTED_RECALL).length;
  return [
    `Lowest recall@10 of any cell: ${share(worst)}; below ${WANTED_RECALL}: ${count(below)} of ${count(cells.length)}. Answers with fewer hits than there are: ${count(short)} of ${count(answers)}.`,
    "Without a filter and on topic, all sizes asked in turn:",
    table(
      ["chunks", "p50, ms"],
      growth.map(({ chunks, p50Ms }) => [count(chunks), ms(p50Ms)]),
    ),
    ...sizes.flatMap(sizeBlocks),
  ];
}

/** A cell of the table is recall, p50 and the p50 of plain SQL that looks at every chunk that passes. */
function sizeBlocks({ chunks, vectors, cells }: SizeFigures): string[] {
  const filters = [...new Set(cells.map(({ filter }) => filter))];
  const cellAt = (filter: string, topic: string) =>
    cells.find((cell) => cell.filter === filter && cell.topic === topic);
  const shown = (cell: CellFigures | undefined) =>
    cell === undefined ? "" : `${share(cell.recall)}, ${ms(cell.p50Ms)} (${ms(cell.exactSqlMs)})`;
  const searches = new Map<string, number>();
  for (const cell of cells)
    for (const [how, answers] of Object.entries(cell.searches)) searches.set(how, (searches.get(how) ?? 0) + answers);
  return [
    `### ${count(chunks)} chunks: ${vectors}`,
    "Recall@10, p50 over HTTP in ms, and in brackets that of exact plain SQL, by where the question lies:",
    table(
      ["filter", "passes", ...TOPICS.map((topic) => `${topic} topic`)],
      filters.map((filter) => [
        ...[filter, `${decimals(100 * (cellAt(filter, "on")?.share ?? Number.NaN), 2)} %`],
        ...TOPICS.map((topic) => shown(cellAt(filter, topic))),
      ]),
    ),
    `Load ${loads(cells)}. How chunks were found: ${[...searches].map(([how, answers]) => `${how} (${count(answers)})`).join("; ")}.`,
  ];
}

function rlsBlocks(figures: readonly RlsFigures[]): string[] {
  const head = [
    "statements",
    "chunks",
    "with policies, ms",
    "without, ms",
    "with by without",
    "chance: with, once more, by with",
  ];
  const rows = figures.map(({ statements, chunks, withPoliciesMs, withoutMs, withPoliciesAgainMs }) => [
    ...[statements, count(chunks), ms(withPoliciesMs), ms(withoutMs)],
    ...[decimals(withPoliciesMs / withoutMs, 3), decimals(withPoliciesAgainMs / withPoliciesMs, 3)],
  ]);
  return [table(head, rows), `Load ${loads(figures)}.`];
}

function growthBlocks(figures: readonly GrowthFigures[]): string[] {
  const [few] = figures;
  const rows = figures.map(({ tenants, large, smallTenantP50Ms, maintainSeconds }) => [
    ...[count(tenants), count(large), ms(smallTenantP50Ms)],
    ...[decimals(smallTenantP50Ms / (few?.smallTenantP50Ms ?? Number.NaN), 2), count(maintainSeconds)],
  ]);
  const head = ["tenants", "of them large", "a small one's p50, ms", "by the first row", "`pgrcp maintain`, s"];
  return [table(head, rows), `Load ${loads(figures)}.`];
}

function tenantsBlocks(it: TenantsFigures): string[] {
  const shown = ({ calls, p50Ms, p95Ms }: Latency) => (calls === 0 ? "" : `${ms(p50Ms)} (${ms(p95Ms)})`);
  const rows = it.classes.flatMap(({ name, tenants, ...phases }) =>
    (["alone", "besideWrites"] as const).map((phase) => [
      ...[name, count(tenants), phase === "alone" ? "nobody" : "all"],
      ...KINDS.map((kind) => shown(phases[phase][kind])),
      count(KINDS.reduce((sum, kind) => sum + phases[phase][kind].calls, 0)),
    ]),
  );
  const { rssMiB, callsPerSecond } = it;
  return [
    `${count(it.tenants)} tenants of ${count(it.chunks)} chunks, the nth with 1/n of the largest's chunks and calls; ${it.clients} clients; p50 (p95) of a retrieve in ms. Where all write, ${decimals(100 * WRITES, 0)} % of calls do.`,
    table(["tenants of", "", "who writes", "hybrid", "dense", "sparse", "dense SQL, by the driver", "reads"], rows),
    `${decimals(callsPerSecond.alone, 1)} retrieves a second where nobody writes; else ${decimals(callsPerSecond.besideWrites, 1)} calls a second, of which ${decimals(it.writesPerSecond, 1)} were writes of ${shown(it.writes)} ms.`,
    `Errors: ${count(it.errors)}. Answers that held another tenant's chunk: ${count(it.foreign)} of ${count(it.answers)} (${count(it.hits)} hits).`,
    `The server's memory: ${count(rssMiB.before)} MiB before the first call, ${count(rssMiB.after)} at the end, ${count(rssMiB.peak)} at most. Load ${decimals(it.load, 1)}.`,
  ];
}

function churnBlocks(stages: readonly ChurnStage[]): string[] {
  const rows = stages.map(({ stage, chunks, seconds, recall, short, p50Ms, freshP50Ms, postingsBytesPerChunk }) => [
    ...[stage, count(chunks), count(seconds), share(recall), count(short), ms(p50Ms), ms(freshP50Ms)],
    ...[decimals(p50Ms / freshP50Ms, 2), kB(postingsBytesPerChunk)],
  ]);
  const head = ["stage", "chunks", "took, s", "recall@10", "short", "p50, ms", "written once, ms", "by that"];
  return [table([...head, "index of words, kB a chunk"], rows), `Load ${loads(stages)}.`];
}

function ingestBlocks({ written, imported, readers }: IngestFigures): string[] {
  const writes = written.map(({ words, documents, chunks, documentsPerSecond, ...it }) => [
    ...[count(words), count(documents), count(chunks), decimals(documentsPerSecond, 0)],
    ...[decimals(it.copyDocumentsPerSecond, 0), decimals(documentsPerSecond / it.copyDocumentsPerSecond, 3)],
    Object.entries(it.bytesPerChunk)
      .map(([name, bytes]) => `${name} ${kB(bytes)}`)
      .join(", "),
    `${decimals(it.rssMiB.before, 0)}, ${decimals(it.rssMiB.peak, 0)}`,
  ]);
  const readerRow = (when: string, mode: string, { p50Ms, p95Ms, maxMs }: Reader) => [
    ...[when, mode, ms(p50Ms), ms(p95Ms), ms(maxMs)],
  ];
  return [
    table(
      [
        "words",
        "documents",
        "chunks",
        "a second",
        "COPY, a second",
        "share",
        "kB a chunk",
        "server's memory before, at most, MiB",
      ],
      writes,
    ),
    ...(imported === undefined
      ? []
      : [
          `\`pgrcp import\` with the built-in model: ${count(imported.documents)} documents (${count(imported.chunks)} chunks), ${decimals(imported.documentsPerSecond, 1)} a second; the model had nothing to do ${decimals(100 * imported.modelIdleShare, 1)} % of the time.`,
        ]),
    table(
      ["reads of 10,000 chunks", "mode", "p50, ms", "p95, ms", "longest, ms"],
      Object.entries(readers).flatMap(([when, { dense, sparse }]) => [
        readerRow(READERS[when] ?? when, "dense", dense),
        readerRow(READERS[when] ?? when, "sparse", sparse),
      ]),
    ),
  ];
}

const READERS: Readonly<Record<string, string>> = {
  quiet: "nobody writes",
  besideNeighbour: "another tenant writes",
  besideOwn: "the tenant itself writes",
};

function peersBlocks({ data, contenders, notRun, sizes }: PeersFigures): string[] {
  const isolates = new Map(contenders.map((contender) => [contender.name, contender.isolates]));
  const head = ["", "isolates", "ef_search", "recall@10", "p50, ms", "p95, ms", "a second, 8 clients"];
  return [
    `Searched as widely as it takes to find what pgrcp finds, where that can be; ${data}. In the last two columns below 1 and above 1 mean that pgrcp is ahead.`,
    ...sizes.flatMap(({ chunks, tenants, questions, results, load }) => [
      `### ${count(chunks)} chunks`,
      table(
        [...head, "pgrcp's p50 by its", "pgrcp's rate by its"],
        results.map(({ name, width = "", recall, p50Ms, p95Ms, rate, pgrcpP50, pgrcpRate }) => [
          ...[name, isolates.get(name) === true ? "yes" : "no", String(width), share(recall)],
          ...[ms(p50Ms), ms(p95Ms), count(rate), decimals(pgrcpP50, 2), decimals(pgrcpRate, 2)],
        ]),
      ),
      `${count(questions)} questions, tenants of this size: ${count(tenants)}. Load ${decimals(load, 1)}.`,
    ]),
    ...Object.entries(notRun).map(([name, why]) => `${name}: ${why}`),
  ];
}

function loads(figures: readonly { readonly load: number }[]): string {
  const all = figures.map(({ load }) => load);
  return `${decimals(Math.min(...all), 1)} to ${decimals(Math.max(...all), 1)}`;
}
