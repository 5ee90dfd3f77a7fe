import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import type { Config } from "../config/config.ts";

/** Notifications of one call, then its answer, as server-sent events (RCP §5.2, §9). */
export interface EventStream {
  /** One frame, or nothing: it is dropped when the reader has left too much unread, or when the answer is out. */
  notify(json: string): void;
  /** The one final frame. */
  end(json: string): FastifyReply;
}

const HEADERS = {
  "content-type": "text/event-stream",
  // nginx would keep frames back until it has a bufferful.
  "x-accel-buffering": "no",
} as const;

const HEARTBEAT = ": \n\n";

/** JSON text holds no line break, so that a frame is one `data:` line whatever is in it. */
const frame = (json: string): string => `data: ${json}\n\n`;

/**
 * A stream that is opened by its first frame. While the call runs without one, a comment every `heartbeatMs` tells proxies and the
 * reader that it is alive.
 *
 * Memory: frames wait in this process while the reader is slow. Notifications are advisory, so one that would take what waits over
 * `maxBufferedBytes` is dropped; the answer is not.
 */
export function openEventStream(reply: FastifyReply, settings: Config["streaming"]): EventStream {
  const { raw } = reply;
  const body = new Readable({ read() {} });
  const heartbeat = setInterval(() => write(HEARTBEAT), settings.heartbeatMs);
  let isOpen = false;
  let isEnded = false;

  raw.once("close", () => {
    clearInterval(heartbeat);
    body.destroy();
  });

  function open(): void {
    if (isOpen) return;
    isOpen = true;
    reply.headers(HEADERS).send(body);
  }

  function write(text: string): void {
    const waiting = body.readableLength + raw.writableLength;
    if (isEnded || body.destroyed || waiting + Buffer.byteLength(text) > settings.maxBufferedBytes) return;
    open();
    body.push(text);
  }

  return {
    notify: (json) => write(frame(json)),
    end(json) {
      isEnded = true;
      clearInterval(heartbeat);
      if (body.destroyed) return reply;
      open();
      body.push(frame(json));
      body.push(null);
      return reply;
    },
  };
}
