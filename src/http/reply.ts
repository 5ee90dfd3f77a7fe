import type { FastifyReply } from "fastify";
import { cutOffSlowReader, type Pace, pacedBody } from "./paced-body.ts";

const JSON_TYPE = "application/json";

/** Sends text as it is. Bytes, because Fastify would add a charset parameter to a string's type, and JSON has none. */
export const sendJson = (reply: FastifyReply, text: string): FastifyReply =>
  sendBytes(reply, Buffer.from(text, "utf8"), JSON_TYPE);

/** Sends the answer of a call, however large, no faster than it is read. */
export function sendAnswer(reply: FastifyReply, text: string, pace: Pace, type = JSON_TYPE): FastifyReply {
  const bytes = Buffer.from(text, "utf8");
  if (bytes.length > pace.maxBufferedBytes && !reply.raw.destroyed) {
    const body = pacedBody(reply.raw, pace);
    body.end(bytes);
    return reply.headers({ "content-type": type, "content-length": bytes.length }).send(body.stream);
  }
  cutOffSlowReader(reply.raw, () => 0, bytes.length, pace);
  return sendBytes(reply, bytes, type);
}

const sendBytes = (reply: FastifyReply, bytes: Buffer, type: string): FastifyReply =>
  reply.header("content-type", type).send(bytes);
