import { setTimeout as sleep } from "node:timers/promises";
import { isObject } from "../protocol/params.ts";
import { Client, type Exchange, encode, type Message, type Seen } from "./client.ts";
import { type Frame, isAnswer } from "./frame.ts";
import { ensure, show } from "./outcome.ts";
import type { StdioProcess } from "./stdio-process.ts";

const BARRIER = "conformance-barrier-";
/** How long an answer that must not come is waited for after the one that must. */
const QUIET_MS = 40;

const NEWLINE = Buffer.from("\n");

/** A client that started the server for itself. */
export class StdioClient extends Client {
  readonly kind = "stdio";
  readonly process: StdioProcess;
  #taken = 0;

  constructor(process: StdioProcess, seen: Seen) {
    super(seen);
    this.process = process;
  }

  protected async transfer(messages: readonly Message[], answers: number): Promise<Exchange> {
    const { process } = this;
    const unasked = process.frames.slice(this.#taken).find(isAnswer);
    ensure(unasked === undefined, `an answer came that nobody waited for: ${show(unasked?.value)}`);
    const from = this.#taken;
    for (const message of messages) process.write(Buffer.concat([Buffer.from(encode(message)), NEWLINE]));
    if (answers === 0) return { frames: await this.#untilBarrier(from), http: [] };
    const came = () => process.frames.slice(from).filter(isAnswer).length >= answers || undefined;
    await process.until(answers === 1 ? "an answer" : `${answers} answers`, came);
    this.#taken = process.frames.length;
    return { frames: process.frames.slice(from), http: [] };
  }

  /** Everything that comes before, and shortly after, the answer to a ping sent now. */
  async #untilBarrier(from: number): Promise<Frame[]> {
    const id = `${BARRIER}${this.nextId()}`;
    this.process.write(`${JSON.stringify(this.request("ping", {}, id))}\n`);
    const isBarrier = ({ value }: Frame) => isObject(value) && value.id === id;
    await this.process.until("the answer to a ping", () => this.process.frames.slice(from).find(isBarrier));
    await sleep(QUIET_MS);
    this.#taken = this.process.frames.length;
    return this.process.frames.slice(from).filter((frame) => !isBarrier(frame));
  }

  close(): Promise<void> {
    return this.process.close();
  }
}
