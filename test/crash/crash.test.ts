import { afterAll, beforeAll, expect, test } from "vitest";
import { Campaign, type Findings, type Kill, type KillReport } from "../support/crash/campaign.ts";
import { SeededRandom, testSeed } from "../support/seeded-random.ts";

/**
 * Kills `pgrcp serve` with SIGKILL while `pgrcp import` writes: 4 times, or 20 times with `PGRCP_TEST_FULL=1` (on a very busy machine six
 * minutes on the embedded database, two on Postgres). `PGRCP_TEST_SEED` repeats a run's choices; the moments also depend on the machine.
 *
 * Every other kill comes at a random moment, up to 20 writes and 0.1 s after the import has gone on. The others are aimed at a commit from
 * outside the server: on Postgres by a relay on the way to the database that sees the COMMIT message of the adder's connection, on the
 * embedded database by a module that Node loads before the server and that sees the engine's write to its log. `CommitPoint` says what
 * the three points of a commit are. At every fifth kill the next server is killed once more while it starts and recovers.
 *
 * Between the import and the server stands a gate that keeps a record of what was sent and what was acknowledged. After each kill the rows
 * are read from what the server left (on the embedded database from a copy of its folder), the server is started again on it, and both
 * rows and answers are held against that record and against the texts.
 */

const KILLS = process.env.PGRCP_TEST_FULL === "1" ? 20 : 4;
const POINTS = ["before", "after", "midway"] as const;
const SHOWN_PROBLEMS = 20;

const seed = testSeed();
let campaign: Campaign | undefined;
const reports: KillReport[] = [];
let end: (Findings & { readonly imports: number }) | undefined;

beforeAll(
  async () => {
    const random = new SeededRandom(seed);
    campaign = await Campaign.open(random);
    for (let index = 0; index < KILLS; index++) {
      const at = index % 2 === 0 ? "anywhere" : (POINTS[((index - 1) / 2) % POINTS.length] ?? "before");
      const kill: Kill = { at, withImport: random.fraction() < 0.5, withNextStart: index % 5 === 2 };
      reports.push(await campaign.kill(kill));
    }
    end = await campaign.complete();
  },
  60_000 + KILLS * 30_000,
);

afterAll(async () => {
  console.log(`seed ${seed}, ${campaign?.kind}\n${table(reports)}\nat the end: ${JSON.stringify(end)}`);
  await campaign?.close();
});

test("what was acknowledged is found and nothing is half-written, whenever the server is killed", () => {
  expect(
    reports
      .flatMap(({ problems }, index) => problems.map((problem) => `kill ${index + 1}: ${problem}`))
      .slice(0, SHOWN_PROBLEMS),
  ).toEqual([]);
  expect(reports).toHaveLength(KILLS);
});

test("half of the kills hit a commit, and some of the writes that they hit are there and some are not", () => {
  const aimed = reports.filter(({ at }) => at !== "anywhere");

  expect(aimed).toHaveLength(KILLS / 2);
  expect(aimed.filter(({ inFlight }) => inFlight.length === 0)).toEqual([]);
  expect(new Set(aimed.flatMap(({ inFlight }) => inFlight.map(({ isWritten }) => isWritten)))).toEqual(
    new Set([true, false]),
  );
});

test("the resumed import completes, and everything it imported is found", () => {
  expect(end?.problems.slice(0, SHOWN_PROBLEMS)).toEqual([]);
  expect(end?.imports).toBeGreaterThan(0);
});

const HEADERS = [
  "kill",
  "at",
  "after",
  "import",
  "in flight",
  "versions",
  "documents",
  "chunks",
  "start ms",
  "problems",
] as const;

function table(rows: readonly KillReport[]): string {
  const cells = rows.map((row, index) => [
    String(index + 1),
    row.at,
    `${row.afterWrites} writes ${row.afterMs.toFixed(0)} ms`,
    row.withImport ? "killed too" : "goes on",
    row.inFlight.map(({ firstId, isWritten }) => `${firstId} ${isWritten ? "WRITTEN" : "lost"}`).join(", ") || "none",
    String(row.versions),
    String(row.liveDocuments),
    String(row.liveChunks),
    `${row.startMs.toFixed(0)}${row.withNextStart ? " (killed once)" : ""}`,
    String(row.problems.length),
  ]);
  const widths = HEADERS.map((header, column) =>
    Math.max(header.length, ...cells.map((row) => row[column]?.length ?? 0)),
  );
  return [HEADERS, ...cells]
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "))
    .join("\n");
}
