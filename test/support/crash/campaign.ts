import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { SeededRandom } from "../seeded-random.ts";
import { type Outcome, WriteHistory } from "./check-history.ts";
import { servedProblems } from "./check-served.ts";
import { totalsProblems } from "./check-totals.ts";
import type { CorpusRows } from "./corpus-rows.ts";
import type { CommitPoint, Deployment } from "./deployment.ts";
import { ImportRunner } from "./import-runner.ts";
import { chunkProblems, indexedChunks, liveChunks } from "./indexed-chunks.ts";
import { openServerHome, type ServerHome } from "./server-home.ts";
import type { ServerProcess } from "./server-process.ts";
import { postingsProblems } from "./term-statistics.ts";
import { WriteGate } from "./write-gate.ts";

/** How a server is killed. */
export interface Kill {
  /** `anywhere`, or a point of the commit that comes next. */
  readonly at: "anywhere" | CommitPoint;
  /** The import is killed too and started again; otherwise it waits and goes on. */
  readonly withImport: boolean;
  /** The next server is killed while it starts. */
  readonly withNextStart: boolean;
}

/** A kill and what was found after it. */
export interface KillReport extends Kill, Findings {
  /** Writes that the server was sent before the kill, or before the order to kill at the next commit. */
  readonly afterWrites: number;
  /** From the last of them to the kill or the order. */
  readonly afterMs: number;
  readonly startMs: number;
}

export interface Findings {
  /** Writes whose answer never came, by their first document, and whether they were written all the same. */
  readonly inFlight: readonly { readonly firstId: string; readonly isWritten: boolean }[];
  readonly versions: number;
  readonly liveDocuments: number;
  readonly liveChunks: number;
  readonly problems: readonly string[];
}

/** Two thirds of an import. */
const MOST_WRITES = 20;
/** A few writes long. */
const LONGEST_DELAY_MS = 100;
const EVERYTHING = 10_000;
const TOKEN_SECONDS = 3600;

/** A server, an import that keeps it busy, and what stands around them to watch. */
export class Campaign {
  readonly kind: Deployment["kind"];
  readonly #random: SeededRandom;
  readonly #home: ServerHome;
  readonly #gate: WriteGate;
  readonly #importer: ImportRunner;
  readonly #history = new WriteHistory();
  readonly #readToken: string;
  #server: ServerProcess;
  #startMs = 0;

  private constructor(home: ServerHome, gate: WriteGate, readToken: string, random: SeededRandom) {
    this.#home = home;
    this.kind = home.deployment.kind;
    this.#gate = gate;
    this.#readToken = readToken;
    this.#random = random;
    this.#server = home.start();
    this.#importer = new ImportRunner(home.folder, gate.url, random);
  }

  /** On the database that the tests are run on, empty. */
  static async open(random: SeededRandom): Promise<Campaign> {
    const home = await openServerHome({
      retrieval: { maxK: EVERYTHING, defaultCandidateK: EVERYTHING, maxCandidateK: EVERYTHING },
      indexing: { chunkTokens: 48, overlapTokens: 8 },
    });
    const tokenFor = (credential: "add" | "read") =>
      home.issuer.mint({ credentials: [credential], expiresIn: TOKEN_SECONDS });
    await writeFile(join(home.folder, "add"), await tokenFor("add"));
    const gate = await WriteGate.open();
    const campaign = new Campaign(home, gate, await tokenFor("read"), random);
    gate.openTo(await campaign.#server.ready);
    return campaign;
  }

  /** Kills the server while an import writes, starts it again on what is left, and looks. */
  async kill(kill: Kill): Promise<KillReport> {
    const afterWrites = this.#random.integer(1, MOST_WRITES);
    const afterMs = this.#random.fraction() * LONGEST_DELAY_MS;
    await this.#orFailedImport(this.#gate.moreWrites(afterWrites));
    await sleep(afterMs);
    const server = this.#server;
    if (kill.at === "anywhere") server.kill("SIGKILL");
    else await this.#home.deployment.killAtCommit(kill.at, () => server.kill("SIGKILL"));
    const { code, signal } = await this.#orFailedImport(server.ended);
    if (signal !== "SIGKILL") throw new Error(`the server ended by itself with exit code ${code}`);
    await this.#gate.hold();
    if (kill.withImport) this.#importer.kill();

    const readRows = await this.#home.deployment.snapshot(true);
    if (kill.withNextStart) await this.#killAStart();
    const [rows, url] = await Promise.all([readRows(), this.#restart()]);
    const outcome = this.#history.look(rows, this.#gate.writes);
    const findings = await this.#look(url, rows, outcome);
    this.#gate.openTo(url);
    const problems = [...findings.problems, ...aimProblems(kill, findings)];
    return { ...kill, ...findings, problems, afterWrites, afterMs, startMs: this.#startMs };
  }

  /** Lets the import complete, looks once more, and stops the server in peace. */
  async complete(): Promise<Findings & { readonly imports: number }> {
    await this.#importer.finish();
    const url = await this.#server.ready;
    await this.#gate.hold();
    const rows = await (await this.#home.deployment.snapshot(false))();
    const outcome = this.#history.look(rows, this.#gate.writes);
    const findings = await this.#look(url, rows, outcome);
    const problems = [...findings.problems];
    const { documents, completed: imports } = this.#importer;
    if (outcome.live.size !== documents.length) problems.push("not all that was imported is live");
    for (const { id, text } of documents) {
      if (outcome.live.get(id)?.text !== text) problems.push(`${id} is not found as it was imported last`);
    }
    this.#server.kill("SIGTERM");
    const { code } = await this.#server.ended;
    if (code !== 0) problems.push(`the server ended with exit code ${code}`);
    return { ...findings, problems, imports };
  }

  async close(): Promise<void> {
    this.#importer.stop();
    this.#server.kill("SIGKILL");
    await this.#server.ended;
    await this.#gate.close();
    await this.#home.close();
  }

  async #look(url: string, rows: CorpusRows, outcome: Outcome): Promise<Findings> {
    const chunks = indexedChunks(rows);
    const live = liveChunks(rows, chunks);
    const server = { url, readToken: this.#readToken };
    return {
      inFlight: outcome.unanswered.map((write) => ({
        firstId: [...write.documents.keys()][0] ?? "none",
        isWritten: outcome.applied.includes(write),
      })),
      versions: rows.versions.length,
      liveDocuments: outcome.live.size,
      liveChunks: live.length,
      problems: [
        ...outcome.problems,
        ...chunkProblems(rows, chunks),
        ...totalsProblems(rows, chunks),
        ...postingsProblems(rows, live),
        ...(rows.corpus === undefined ? [] : await servedProblems(server, rows, live, this.#random)),
      ],
    };
  }

  async #restart(): Promise<string> {
    const startedAt = performance.now();
    this.#server = this.#home.start();
    const url = await this.#server.ready;
    this.#startMs = performance.now() - startedAt;
    return url;
  }

  async #killAStart(): Promise<void> {
    const server = this.#home.start();
    await sleep(this.#random.fraction() * this.#startMs);
    server.kill("SIGKILL");
    await server.ended;
  }

  /** What is awaited while an import runs never comes when the import has failed. */
  async #orFailedImport<Value>(awaited: Promise<Value>): Promise<Value> {
    const failed = this.#importer.done.then(() => Promise.reject(new Error("the import has ended")));
    return await Promise.race([awaited, failed]);
  }
}

/** Of the writes in flight, the one whose commit was aimed at is written or not, as the point says; `midway` may be either. */
function aimProblems({ at }: Kill, { inFlight }: Findings): string[] {
  const written = inFlight.filter(({ isWritten }) => isWritten).length;
  if (at === "before" && written !== 0) return ["a write was committed although its commit never arrived"];
  if (at === "after" && written !== 1) return [`of the writes in flight ${written} are there instead of one`];
  return [];
}
