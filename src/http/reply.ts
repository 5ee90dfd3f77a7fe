import type { FastifyReply } from "fastify";
import { cutOffSlowReader, type Pace, pacedBody } from "./paced-body.ts";

/** Sends text as it is. Bytes, because Fastify would add a charset parameter to a string's type, and JSON has none. */
export const sendJson = (reply: FastifyReply, text: string): FastifyReply =>
  sendBytes(reply, Buffer.from(text, "utf8"));

/** Sends the answer of a call, however large, no faster than it is read. */
export function sendAnswer(reply: FastifyReply, text: string, pace: Pace): FastifyReply {
  const bytes = Buffer.from(text, "utf8");
  if (bytes.length > pace.maxBufferedBytes && !reply.raw.destroyed) {
    const body = pacedBody(reply.raw, pace);
    body.end(bytes);
    return reply.headers({ "content-type": "application/json", "content-length": bytes.length }).send(body.stream);
  }
  cutOffSlowReader(reply.raw, () => 0, bytes.length, pace);
  return sendBytes(reply, bytes);
}

const sendBytes = (reply: FastifyReply, bytes: Buffer): FastifyReply =>
  reply.header("content-type", "application/json").send(bytes);
