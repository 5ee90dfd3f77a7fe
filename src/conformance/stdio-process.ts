import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { type Frame, readFrame } from "./frame.ts";
import { ensure, MAX_ANSWER, show, Violation } from "./outcome.ts";

const NEWLINE = 0x0a;
const MAX_STDERR = 64 * 1024;
/** Far more than a server could print by mistake. */
const MAX_STRAYS = 1_000;

/** A server that was started as a child process, and every line that it wrote. */
export class StdioProcess {
  readonly frames: Frame[] = [];
  /** What stood on standard output and was no frame. */
  readonly strays: string[] = [];
  stderr = "";
  readonly #child: ChildProcess;
  readonly #timeoutMs: number;
  readonly #ended = Promise.withResolvers<string>();
  #rest: Buffer = Buffer.alloc(0);
  #end: string | undefined;
  #wake = Promise.withResolvers<void>();

  /** @param command the program and its arguments */
  constructor(command: readonly string[], timeoutMs: number) {
    const [program = "", ...args] = command;
    this.#timeoutMs = timeoutMs;
    this.#child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"] });
    this.#child.stdout?.on("data", (bytes: Buffer) => this.#read(bytes));
    this.#child.stderr?.on("data", (bytes: Buffer) => {
      if (this.stderr.length < MAX_STDERR) this.stderr += bytes.toString("utf8");
    });
    this.#child.stdin?.on("error", () => {}); // a server that is gone is seen by its end
    this.#child.on("error", (error) => this.#finish(`could not be started: ${error.message}`));
    this.#child.on("close", (code, signal) => this.#finish(`ended with ${signal ?? `exit code ${code}`}`));
  }

  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  /** What was written but for a last line without its newline. */
  write(bytes: string | Uint8Array): void {
    this.#child.stdin?.write(bytes);
  }

  /** RCP §5.1: end of file on standard input. */
  endInput(): void {
    this.#child.stdin?.end();
  }

  /** Waits until `found` gives something. @throws Violation when the time is over or the process has ended without it */
  async until<Found>(what: string, found: () => Found | undefined): Promise<Found> {
    const endsAt = performance.now() + this.#timeoutMs;
    for (;;) {
      const value = found();
      if (value !== undefined) return value;
      ensure(this.#end === undefined, `the server ${this.#end} while ${what} was awaited${this.#said()}`);
      const leftMs = endsAt - performance.now();
      ensure(leftMs > 0, `${what} did not come within ${this.#timeoutMs} ms`);
      const stop = new AbortController();
      await Promise.race([this.#wake.promise, sleep(leftMs, undefined, { signal: stop.signal }).catch(() => {})]);
      stop.abort();
    }
  }

  /** Waits for its end. @returns how it ended, or undefined when it still runs after the time that one answer may take */
  async exit(): Promise<string | undefined> {
    const stop = new AbortController();
    const late = sleep(this.#timeoutMs, undefined, { signal: stop.signal }).catch(() => undefined);
    const how = await Promise.race([this.#ended.promise, late]);
    stop.abort();
    return how;
  }

  /** Ends it: by end of file, and by force when that does not. */
  async close(): Promise<void> {
    this.endInput();
    if ((await this.exit()) === undefined) this.#child.kill("SIGKILL");
    await this.#ended.promise;
  }

  #finish(how: string): void {
    this.#end ??= how;
    this.#stir();
    this.#ended.resolve(how);
  }

  /** Ends a process that goes on writing what nobody can read. */
  #giveUp(why: string): void {
    this.#child.kill("SIGKILL");
    this.#finish(why);
  }

  #said(): string {
    const [line = ""] = this.stderr.trim().split("\n").slice(-1);
    return line === "" ? "" : `; its last words: ${show(line)}`;
  }

  #read(bytes: Buffer): void {
    if (this.hasEnded) return;
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    for (let end = this.#rest.indexOf(NEWLINE); end >= 0; end = this.#rest.indexOf(NEWLINE)) {
      this.#take(this.#rest.subarray(0, end));
      this.#rest = this.#rest.subarray(end + 1);
    }
    if (this.#rest.length > MAX_ANSWER) this.#giveUp(`wrote a line of more than ${MAX_ANSWER} bytes`);
    if (this.strays.length > MAX_STRAYS) this.#giveUp(`wrote ${MAX_STRAYS} lines that are no message`);
    this.#stir();
  }

  #take(line: Buffer): void {
    try {
      const frame = readFrame(line);
      if (typeof frame.value === "object" && frame.value !== null) this.frames.push(frame);
      else this.strays.push(show(frame.text));
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      this.strays.push(error.message);
    }
  }

  #stir(): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }
}
