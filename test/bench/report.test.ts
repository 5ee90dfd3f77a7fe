import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import type { Figures } from "../../bench/figures.ts";
import { plotToSvg } from "../../bench/plot.ts";
import { plots } from "../../bench/plots.ts";
import { reportToMarkdown, writeResults } from "../../bench/report.ts";

/** Made up, so that every number below can be worked out by hand. */
const FIGURES: Figures = {
  run: {
    options: "--quick",
    startedAt: "2026-01-02T03:04:05.000Z",
    endedAt: "2026-01-02T03:16:05.000Z",
    ...{ cores: 2, cpu: "A CPU", memoryGiB: 8, os: "Linux 6", node: "v24.0.0" },
    ...{ postgres: "17.1", sharedBuffers: "128MB", pgvector: "0.8.1", commit: "abc1234" },
    load: { start: 0.25, end: 3 },
    seconds: { overhead: 34.4, rls: 145.2 },
  },
  overhead: [
    {
      ...{ chunks: 10_000, search: "exact" },
      ...{ pingMs: 0.5, retrieveMs: 12.5, bareMs: 11, sameSqlMs: 10, plainSqlMs: 4 },
      ...{ retrieveRate: 300, bareRate: 600, sameSqlRate: 1_200 },
    },
    {
      ...{ chunks: 10_000, search: "graph" },
      ...{ pingMs: 0.5, retrieveMs: 2.25, bareMs: 1.75, sameSqlMs: 1.5, plainSqlMs: 1 },
      ...{ retrieveRate: 600, bareRate: 900, sameSqlRate: 1_200 },
    },
  ],
  rls: [
    ...[100, 1_000].map((chunks) => ({
      ...{ statements: "dense | exact", chunks, withPoliciesMs: 1.05, withoutMs: 1, withPoliciesAgainMs: 1.05 },
      load: chunks / 100,
    })),
  ],
};

test("a run's tables say on what, when and under which load they were measured", () => {
  const report = reportToMarkdown(FIGURES);

  expect(report).toContain("# Bench of 2026-01-02 03:04 UTC");
  expect(report).toContain("`npm run bench -- --quick`, 12 minutes");
  expect(report).toContain("2 cores, A CPU, 8 GiB, Linux 6");
  expect(report).toContain("commit abc1234, Node v24.0.0, Postgres 17.1 (shared_buffers 128MB), pgvector 0.8.1");
  expect(report).toContain("0.3 at the start, 3.0 at the end");
  expect(report).toContain("overhead 34 s, rls 145 s");
});

test("a figure stands beside that of the raw database, with their difference and ratio", () => {
  const report = reportToMarkdown(FIGURES);

  expect(report).toContain(
    "The server adds 2.50 ms at p50, of which a bare one would add 1.00, and has 0.25 of the throughput.",
  );
  expect(report).toContain("| one plain query without tenants               | 4.00    |");
  expect(report).toContain("10,000 chunks, by the corpus's graph");
  expect(report).toContain(
    "The server adds 0.75 ms at p50, of which a bare one would add 0.25, and has 0.50 of the throughput.",
  );
  expect(report).toContain("| dense \\| exact | 1,000  | 1.05              | 1.00        | 1.050           | 1.000 ");
  expect(report).toContain("Load 1.0 to 10.0.");
});

test("recall is told for each filter and topic, and the lowest and the short answers above all of them", () => {
  const cell = { questions: 20, short: 0, matching: 10, p50Ms: 3, p95Ms: 5, exactSqlMs: 2, load: 1 };
  const cells = [
    { ...cell, filter: "none", share: 1, topic: "on", recall: 1, searches: { "graph: large": 20 } },
    { ...cell, filter: "none", share: 1, topic: "off", recall: 0.995, searches: { "exact: far": 20 } },
    { ...cell, filter: "half", share: 0.5, topic: "on", recall: 0.9, short: 2, searches: { "graph: large": 20 } },
  ] as const;
  const size = { chunks: 40_000, vectors: "made up", loadSeconds: 1, maintained: [], cells };
  const report = reportToMarkdown({ ...FIGURES, recall: { sizes: [size], growth: [{ chunks: 40_000, p50Ms: 3 }] } });

  expect(report).toContain(
    "Lowest recall@10 of any cell: 0.9000; below 0.99: 1 of 3. Answers with fewer hits than there are: 2 of 60.",
  );
  expect(report).toContain("| none   | 100.00 % | 1.0000, 3.00 (2.00) |              | 0.9950, 3.00 (2.00) |");
  expect(report).toContain("| half   | 50.00 %  | 0.9000, 3.00 (2.00) |              |                     |");
  expect(report).toContain("How chunks were found: graph: large (40); exact: far (20).");
});

test("tenants are told by their sizes, without writes and beside them", () => {
  const latency = (p50Ms: number, calls = 10) => ({ calls, p50Ms, p95Ms: 2 * p50Ms });
  const reads = { hybrid: latency(20), dense: latency(10), sparse: latency(8), sql: latency(5) };
  const one = { name: "up to 100 chunks", tenants: 4, chunks: 200, alone: reads };
  const tenants = {
    ...{ tenants: 4, chunks: 200, clients: 4, loadSeconds: 1, maintained: [] },
    classes: [{ ...one, besideWrites: { ...reads, sql: latency(Number.NaN, 0) } }],
    callsPerSecond: { alone: 50, besideWrites: 40 },
    ...{ writesPerSecond: 4, writes: latency(30), answers: 60, hits: 600, foreign: 0, errors: 0 },
    ...{ rssMiB: { before: 100, after: 150, peak: 160 }, load: 1 },
  };
  const report = reportToMarkdown({ ...FIGURES, tenants });

  expect(report).toContain(
    "| up to 100 chunks | 4   | nobody     | 20.0 (40.0) | 10.0 (20.0) | 8.00 (16.0) | 5.00 (10.0)",
  );
  expect(report).toMatch(/\| up to 100 chunks \| 4 {3}\| all {8}\| 20\.0 \(40\.0\) \|.*\| {26}\| 30 {4}\|/);
  expect(report).toContain("40.0 calls a second, of which 4.0 were writes of 30.0 (60.0) ms.");
  expect(report).toContain("Errors: 0. Answers that held another tenant's chunk: 0 of 60 (600 hits).");
  expect(report).toContain("100 MiB before the first call, 150 at the end, 160 at most");
  const [, alone, besideWrites] = plots({ ...FIGURES, tenants });
  expect(alone?.plot.series).toContainEqual({ name: "hybrid", points: [[50, 20]] });
  expect(besideWrites?.plot.series.map(({ name }) => name)).toEqual(["hybrid", "dense", "sparse"]);
});

test("a step that was not run has no section", () => {
  const headings = reportToMarkdown(FIGURES)
    .split("\n")
    .filter((line) => line.startsWith("## "));

  expect(headings).toEqual(["## overhead: what the server adds to its SQL", "## rls: what Row Level Security costs"]);
});

test("a step that failed says why in its place, and the others stay", () => {
  const report = reportToMarkdown({ ...FIGURES, rls: { failure: "Postgres went away" } });

  expect(report).toContain("## rls: what Row Level Security costs\n\nNot measured: Postgres went away\n");
  expect(report).toContain("The server adds 2.50 ms at p50");
  expect(plots({ ...FIGURES, rls: { failure: "Postgres went away" } })).toEqual([]);
});

test("results are JSON, tables and the plots of what was measured, by when the run began", async () => {
  const folder = await mkdtemp(join(tmpdir(), "pgrcp-report-"));
  try {
    await writeResults(folder, FIGURES);

    expect((await readdir(folder)).toSorted()).toEqual([
      "2026-01-02-0304-1-rls.svg",
      "2026-01-02-0304.json",
      "2026-01-02-0304.md",
    ]);
    expect(JSON.parse(await readFile(join(folder, "2026-01-02-0304.json"), "utf8"))).toEqual(FIGURES);
    expect(await readFile(join(folder, "2026-01-02-0304.md"), "utf8")).toContain("(2026-01-02-0304-1-rls.svg)");

    // The same run after its next step, and another one of the same minute.
    const other = { ...FIGURES, run: { ...FIGURES.run, startedAt: "2026-01-02T03:04:06.000Z" } };
    const written = [
      await writeResults(folder, FIGURES),
      await writeResults(folder, other),
      await writeResults(folder, other),
    ];
    expect(written.map((path) => basename(path))).toEqual([
      "2026-01-02-0304.md",
      "2026-01-02-0304-run2.md",
      "2026-01-02-0304-run2.md",
    ]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("on a log axis a decade is as wide everywhere, and texts are escaped", () => {
  const svg = plotToSvg({
    title: "a < b & c",
    x: { label: "chunks", scale: "log" },
    y: { label: "p50, ms", scale: "linear", include: [0] },
    series: [
      {
        name: "one",
        points: [
          [100, 10],
          [10_000, 5],
          [1_000_000, 0],
        ],
      },
    ],
  });

  // The axes are 80 to 670 across and 350 up to 50: halves are at 375 and 200.
  expect(svg).toContain('points="80,50 375,200 670,350"');
  expect(svg).toContain('text-anchor="middle">1,000,000</text>');
  expect(svg).toContain("<title>a &lt; b &amp; c</title>");
  expect(svg).not.toContain("<script");
});

test("one measured point, or the same one for all, still has axes", () => {
  const flat = { name: "one", points: [[1_000, 3]] as const };
  for (const scale of ["log", "linear"] as const) {
    const svg = plotToSvg({ title: "t", x: { label: "x", scale }, y: { label: "y", scale }, series: [flat] });

    expect(svg).not.toMatch(/NaN|Infinity/);
  }
});

test("lines are drawn by what was measured, in its order", () => {
  const [rls] = plots(FIGURES);

  expect(rls?.plot.series).toEqual([
    {
      name: "dense | exact",
      points: [
        [100, 1.05],
        [1_000, 1.05],
      ],
    },
  ]);
});
