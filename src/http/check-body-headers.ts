import type { onRequestHookHandler } from "fastify";
import { headerValues } from "./header-values.ts";
import { TransportRefusal } from "./transport-refusal.ts";

const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8")[ \t]*)?$/i;

/**
 * Lets a body through only if it says that it is JSON in UTF-8, once, and not compressed: nothing is ever inflated. A browser
 * cannot send such a content type without a preflight.
 *
 * @throws TransportRefusal 415
 */
export const checkBodyHeaders: onRequestHookHandler = ({ raw }, _reply, done) => {
  const [type, ...otherTypes] = headerValues(raw, "content-type");
  const encodings = headerValues(raw, "content-encoding");
  const isJson = type !== undefined && otherTypes.length === 0 && JSON_TYPE.test(type);
  if (!isJson || encodings.some((encoding) => encoding.toLowerCase() !== "identity")) throw new TransportRefusal(415);
  done();
};
