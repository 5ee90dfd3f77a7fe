import { refusal, tooLarge } from "./answer-body.ts";
import { type Bridge, DRAIN_MS } from "./bridge.ts";
import type { Caller } from "./running-call.ts";

/** The bridge's client on a pair of pipes (RCP §5.1; MCP, stdio). */
export interface StdioOptions {
  readonly bridge: Pick<Bridge, "isOpen" | "ended" | "close">;
  /** @returns the line that answers; undefined when none does */
  readonly answerLine: (line: Uint8Array, caller: Caller) => Promise<string | undefined>;
  /** Lines without their line feeds; undefined for one that was too long to keep. Ends at EOF, or when `stopReading` was called. */
  readonly lines: AsyncIterable<Uint8Array | undefined>;
  readonly stopReading: () => void;
  /** Writes one line; settles when it is out. */
  readonly writeLine: (text: string) => Promise<void>;
}

/** Lines in work at a time. Beyond it the pipe fills up, which holds back the client. */
const MAX_LINES_IN_WORK = 256;

const BYTE_ORDER_MARK = Uint8Array.of(0xef, 0xbb, 0xbf);

/** Serves until EOF, `shutdown` or a changed server; every answer is written then. */
export async function serveStdio({ bridge, answerLine, lines, stopReading, writeLine }: StdioOptions): Promise<void> {
  const inWork = new Set<Promise<void>>();
  const caller: Caller = {
    onFrame: async (frame) => {
      if (frame !== undefined) await writeLine(frame);
    },
  };
  const answer = async (line: Uint8Array | undefined) => {
    const text = line === undefined ? refusal(tooLarge("a line")) : await answerLine(line, caller);
    if (text !== undefined) await writeLine(text);
  };
  void bridge.ended.then(stopReading);
  for await (const line of withoutBlanks(lines)) {
    const work = answer(line).finally(() => inWork.delete(work));
    inWork.add(work);
    // Decided at once by `shutdown`: what stands after it is never read.
    if (!bridge.isOpen) break;
    if (inWork.size >= MAX_LINES_IN_WORK) await Promise.race(inWork);
  }
  await bridge.close(DRAIN_MS);
  await Promise.all(inWork);
}

/** RCP §5.1: blank lines are ignored, and so is the byte order mark of a client that writes one. */
async function* withoutBlanks(lines: StdioOptions["lines"]): AsyncGenerator<Uint8Array | undefined> {
  let isFirst = true;
  for await (const line of lines) {
    const bare = isFirst && line !== undefined ? withoutMark(line) : line;
    isFirst = false;
    if (bare === undefined || !isBlank(bare)) yield bare;
  }
}

const withoutMark = (line: Uint8Array): Uint8Array =>
  BYTE_ORDER_MARK.every((byte, index) => line[index] === byte) ? line.subarray(BYTE_ORDER_MARK.length) : line;

/** Nothing but what JSON takes for white space; a CR is the rest of a CRLF. */
const isBlank = (line: Uint8Array): boolean => line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
