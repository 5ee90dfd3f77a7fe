import type { FastifyRequest, onRequestAsyncHookHandler } from "fastify";
import type { Principal } from "../auth/principal.ts";
import { TokenRefused, type TokenVerifier } from "../auth/verify-token.ts";
import type { Observe } from "../observability/observation.ts";
import { ErrorCode, RpcError, unauthorized } from "../protocol/errors.ts";
import { headerValues } from "./header-values.ts";
import { TransportRefusal } from "./transport-refusal.ts";

const principals = new WeakMap<FastifyRequest, Principal>();

/** Who calls. Throws when it is asked before authentication, which is a bug. */
export function principalOf(request: FastifyRequest): Principal {
  const principal = principals.get(request);
  if (principal === undefined) throw new Error("the request was not authenticated");
  return principal;
}

/** The same bytes whatever was wrong; `error` only says that some token was there (RFC 6750 §3.1, DESIGN ruling 2). */
const challenge = (hasToken: boolean): string => `Bearer realm="pgrcp"${hasToken ? ', error="invalid_token"' : ""}`;

/**
 * Authenticates from headers alone, before a byte of the body is read.
 *
 * @param retryAfterMs when to ask again while keys are out of reach
 * @returns a hook that throws TransportRefusal 401, or 503 when no key can be had
 */
export function authenticate(
  verifier: TokenVerifier,
  retryAfterMs: number,
  observe: Observe,
): onRequestAsyncHookHandler {
  return async (request) => {
    const authorization = headerValues(request.raw, "authorization");
    try {
      principals.set(request, await verifier.verify(authorization));
    } catch (error) {
      if (error instanceof TokenRefused) {
        observe({ kind: "token-refused", check: error.check, ...error.claims });
        const headers = { "www-authenticate": challenge(authorization.length > 0) };
        throw new TransportRefusal(401, headers, unauthorized(), { cause: error });
      }
      if (error instanceof RpcError && error.code === ErrorCode.BackendUnavailable) {
        const waitMs = error.data.retryAfterMs ?? retryAfterMs;
        throw new TransportRefusal(503, { "retry-after": seconds(waitMs) }, error, { cause: error });
      }
      throw error;
    }
  };
}

/** `Retry-After` counts in whole seconds. */
export const seconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1000));
