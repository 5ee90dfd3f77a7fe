import type { FastifyReply } from "fastify";

/** Sends text as it is. Bytes, because Fastify would add a charset parameter to a string's type, and JSON has none. */
export const sendJson = (reply: FastifyReply, text: string): FastifyReply =>
  reply.header("content-type", "application/json").send(Buffer.from(text, "utf8"));
