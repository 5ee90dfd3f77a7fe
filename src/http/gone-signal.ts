import type { FastifyReply } from "fastify";
import type { Principal } from "../auth/principal.ts";
import { cancelled, unauthorized } from "../protocol/errors.ts";
import { MAX_TIMER_MS } from "../rpc/deadline.ts";

/** The most that `auth.clockToleranceSeconds` may be: for so long a token may be good past its end. */
const CLOCK_TOLERANCE_MS = 60_000;

/**
 * Aborts when the connection closes before the answer is out, and a stream also when its token expires: a call outlives its token
 * only as long as nothing is sent on the strength of it.
 */
export function goneSignal({ raw }: FastifyReply, streamsTo: Principal | undefined): AbortSignal {
  const controller = new AbortController();
  const leftMs = streamsTo === undefined ? Number.POSITIVE_INFINITY : streamsTo.expiresAt * 1000 - Date.now();
  const waitMs = leftMs > 0 ? leftMs : leftMs + CLOCK_TOLERANCE_MS;
  const expiry =
    waitMs < MAX_TIMER_MS
      ? setTimeout(() => controller.abort(unauthorized("the token has expired")), waitMs)
      : undefined;
  raw.once("close", () => {
    clearTimeout(expiry);
    if (!raw.writableFinished) controller.abort(cancelled());
  });
  return controller.signal;
}
