import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { Config } from "../config/config.ts";

export type Pace = Pick<Config["server"], "maxBufferedBytes" | "stallMs">;

/**
 * A body that goes out no faster than its reader takes it. At most `maxBufferedBytes` of it wait in the streams and in the socket,
 * and when it is ending, a reader that has not taken as much (or all that is left) within `stallMs` is cut off.
 */
export interface PacedBody {
  readonly stream: Readable;
  /** Adds to the body, unless more would wait than may, or it is ending. @returns whether it was added */
  offer(text: string): boolean;
  /** The rest, whole: it is kept here and handed on as what was sent before is taken. Nothing is added after it. */
  end(rest: Buffer): void;
}

/** What is handed on at once. The reading and the writing stream each hold one of these, and the latter some more of Node's own. */
const SLICES = 8;

/** @param raw the response that the body's stream is handed to; the stream ends with it */
export function pacedBody(raw: ServerResponse, { maxBufferedBytes, stallMs }: Pace): PacedBody {
  const sliceBytes = Math.ceil(maxBufferedBytes / SLICES);
  let rest: Buffer | undefined;
  let handedOn = 0;
  const stream = new Readable({ highWaterMark: sliceBytes, read: handOn });
  raw.once("close", () => stream.destroy());

  function handOn(): void {
    if (rest === undefined) return;
    if (rest.length === 0) {
      stream.push(null);
      return;
    }
    const slice = rest.subarray(0, sliceBytes);
    rest = rest.subarray(slice.length);
    handedOn += slice.length;
    stream.push(slice);
  }

  const waiting = (): number => stream.readableLength + raw.writableLength;

  return {
    stream,
    offer(text) {
      const bytes = Buffer.byteLength(text);
      if (rest !== undefined || stream.destroyed || waiting() + bytes > maxBufferedBytes) return false;
      handedOn += bytes;
      stream.push(text);
      return true;
    },
    end(all) {
      rest = all;
      const total = handedOn + all.length;
      cutOffSlowReader(raw, () => handedOn - waiting(), total, { maxBufferedBytes, stallMs });
      if (stream.readableLength < sliceBytes) handOn();
    },
  };
}

/**
 * Ends the connection of a reader that takes less than `maxBufferedBytes`, or less than is left, within `stallMs`.
 *
 * @param taken how many bytes its reader has taken so far, of `total`
 */
export function cutOffSlowReader(raw: ServerResponse, taken: () => number, total: number, pace: Pace): void {
  let before = taken();
  const timer = setInterval(() => {
    // Neither an answer to somebody who has left nor one that is still in line hears of its connection's end.
    if (raw.req.socket.destroyed) return clearInterval(timer);
    // An answer behind another one of the same connection has no reader yet.
    if (raw.socket === null) return;
    const now = taken();
    if (now - before < Math.min(pace.maxBufferedBytes, total - before)) raw.destroy();
    before = now;
  }, pace.stallMs);
  raw.once("close", () => clearInterval(timer));
}
