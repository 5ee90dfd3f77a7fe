import { setTimeout as sleep } from "node:timers/promises";
import { type Command, InvalidArgumentError } from "commander";
import type { Config } from "../config/config.ts";
import type { AdminConnection } from "../db/admin-connection.ts";
import { serverFacts } from "../db/catalog-facts.ts";
import { openPostgresMaintainer } from "../db/operator-database.ts";
import { connectFailure } from "../db/pg-errors.ts";
import { hasSafeParallelBuild } from "../db/server-checks.ts";
import { bytesOf, compactPostings } from "../maintenance/compact-postings.ts";
import { type Placed, type PlacingEvent, placeCorpora } from "../maintenance/place-corpora.ts";
import { addConfigOption, type ConfigOption, configOf } from "./config-option.ts";
import { formatFailure, toFailure } from "./exit.ts";
import { createProgress, type Progress } from "./progress.ts";
import { stopOnSignal } from "./stop-signal.ts";
import { visibleLine } from "./terminal-text.ts";

interface Options extends ConfigOption {
  readonly every?: number;
  readonly json?: boolean;
}

/** `pgrcp maintain`: where each corpus's chunks are, its graph, and the room that postings take. */
export function registerMaintain(program: Command): void {
  addConfigOption(program.command("maintain"))
    .description(
      "give large corpora a partition and a graph of their own, take them from small ones, and compact the postings",
    )
    .option("--every <time>", "go on, with so long between two rounds: 30s, 10m or 2h", parseTime)
    .option("--json", "one JSON object a line for each thing done")
    .addHelpText(
      "after",
      `
Safe beside a running server: reads and writes go on. What was interrupted is gone on with, or cleaned up, by the next run.
It logs in as database.operator, over a connection of its own: not through a pooler in transaction mode.
The embedded database keeps every corpus in the shared partition and searches it exactly, so there is nothing to do there.
Exit codes: 0 done, or asked to stop; 2 configuration, or another maintainer is at work; 4 database.`,
    )
    .action(maintain);
}

async function maintain(options: Options): Promise<void> {
  const config = await configOf(options);
  const { url } = config.database;
  if (url === undefined) {
    process.stdout.write("nothing to do: the embedded database searches every corpus exactly\n");
    return;
  }
  const stop = stopOnSignal();
  try {
    for (;;) {
      const round = runRound(url, config, options, stop.signal);
      if (options.every === undefined) return await round;
      // A service outlives a database that is away for a while.
      await round.catch((error: unknown) => process.stderr.write(formatFailure(toFailure(error))));
      await sleep(options.every, undefined, { signal: stop.signal }).catch(() => {});
      if (stop.signal.aborted) return;
    }
  } finally {
    stop.release();
  }
}

async function runRound(url: string, config: Config, { json }: Options, signal: AbortSignal): Promise<void> {
  const admin = openPostgresMaintainer(url, config, () => {});
  const progress = createProgress("moving chunks");
  try {
    const settings = await settingsOf(admin, config);
    for await (const done of placeCorpora(admin, { settings, signal, report: (event) => show(event, progress) }))
      process.stdout.write(json === true ? `${JSON.stringify(done)}\n` : lineOf(done));
    if (!signal.aborted) await compact(admin, json, signal);
  } catch (error) {
    const { user } = config.database.operator;
    throw connectFailure(error, { url, user, password: "database.operator.password" });
  } finally {
    progress.finish();
    await admin.close();
  }
}

async function compact(admin: AdminConnection, json: boolean | undefined, signal: AbortSignal): Promise<void> {
  const room = await compactPostings(admin, signal);
  const [before, after] = [bytesOf(room.before), bytesOf(room.after)];
  if (after >= before) return;
  const done = { did: "compacted the postings", bytesBefore: before, bytesAfter: after };
  const megabytes = (bytes: number) => (bytes / 1_000_000).toFixed(1);
  process.stdout.write(
    json === true
      ? `${JSON.stringify(done)}\n`
      : `postings: ${megabytes(before)} MB before, ${megabytes(after)} MB after compaction\n`,
  );
}

async function settingsOf(admin: AdminConnection, { retrieval, maintenance }: Config) {
  const [server] = await admin.query(serverFacts);
  const isSafe = server !== undefined && hasSafeParallelBuild(server);
  const buildWorkers = isSafe ? maintenance.buildWorkers : 0;
  return { ...maintenance, buildWorkers, ownPartitionFrom: retrieval.ownPartitionFrom };
}

const nameOf = (tenant: string, corpus: string): string => `${visibleLine(tenant)}/${visibleLine(corpus)}`;

function show(event: PlacingEvent, progress: Progress): void {
  switch (event.kind) {
    case "cleaned":
      progress.line(`removed ${event.what === "index" ? "an unfinished index" : "a partition that is no corpus's"}`);
      break;
    case "moving": {
      const { corpus, done, total } = event;
      progress.update(done / total, `${nameOf(corpus.tenantId, corpus.corpus)}: ${done} of ${total} chunks`);
      break;
    }
    case "failed":
      progress.line(
        `${nameOf(event.corpus.tenantId, event.corpus.corpus)}: failed; the others go on, and what the first failed with is told at the end`,
      );
      break;
    case "building":
      progress.line(
        `${nameOf(event.corpus.tenantId, event.corpus.corpus)}: building a graph over ${event.chunks} chunks`,
      );
      break;
  }
}

function lineOf({ tenant, corpus, did, chunks, seconds, lockedMs }: Placed): string {
  const waited = lockedMs === 0 ? "" : `; writes waited ${lockedMs} ms at most`;
  return `${nameOf(tenant, corpus)}: ${did}, ${chunks} chunks in ${seconds} s${waited}\n`;
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };
const MAX_HOURS = 24;

function parseTime(value: string): number {
  const [, count, unit] = /^([1-9][0-9]{0,4})([smh])$/.exec(value) ?? [];
  const time = Number(count) * (UNITS[unit ?? ""] ?? Number.NaN);
  if (time <= MAX_HOURS * 3_600_000) return time;
  throw new InvalidArgumentError(`It must look like 30s, 10m or 2h, and be at most ${MAX_HOURS}h.`);
}
