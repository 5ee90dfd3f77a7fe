import type { IncomingMessage } from "node:http";
import { headerValues } from "./header-values.ts";

/** Weight 0 in any of its spellings: not acceptable (RFC 9110 §12.4.2). */
const REFUSED = /;[ \t]*q=0(?:\.0*)?[ \t]*$/i;
const EVENTS = /^text\/event-stream[ \t]*(?:;.*)?$/i;

/** Whether the client names `text/event-stream` as acceptable. A wildcard does not ask for a stream: its default is JSON (RCP §5.2). */
export const acceptsEvents = (request: IncomingMessage): boolean =>
  headerValues(request, "accept")
    .flatMap((value) => value.split(","))
    .map((range) => range.trim())
    .some((range) => EVENTS.test(range) && !REFUSED.test(range));
