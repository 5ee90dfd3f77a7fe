import type { FastifyReply } from "fastify";
import { type Pace, pacedBody } from "./paced-body.ts";

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
 * Notifications are advisory, so one that finds no room beside what the reader has left unread is dropped; the answer is not.
 */
export function openEventStream(reply: FastifyReply, heartbeatMs: number, pace: Pace): EventStream {
  const body = pacedBody(reply.raw, pace);
  const heartbeat = setInterval(() => write(HEARTBEAT), heartbeatMs);
  let isOpen = false;
  reply.raw.once("close", () => clearInterval(heartbeat));

  function open(): void {
    if (isOpen) return;
    isOpen = true;
    reply.headers(HEADERS).send(body.stream);
  }

  function write(text: string): void {
    if (body.offer(text)) open();
  }

  return {
    notify: (json) => write(frame(json)),
    end(json) {
      clearInterval(heartbeat);
      body.end(Buffer.from(frame(json)));
      if (!reply.raw.destroyed) open();
      return reply;
    },
  };
}
