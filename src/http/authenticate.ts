import { createHash } from "node:crypto";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { FastifyRequest, onRequestAsyncHookHandler } from "fastify";
import type { Principal } from "../auth/principal.ts";
import { TokenRefused, type TokenVerifier } from "../auth/verify-token.ts";
import type { Observe } from "../observability/observation.ts";
import { ErrorCode, RpcError, unauthorized } from "../protocol/errors.ts";
import { headerValues } from "./header-values.ts";
import type { ResourceMetadata } from "./resource-metadata.ts";
import { readTarget } from "./target.ts";
import { TransportRefusal } from "./transport-refusal.ts";

const principals = new WeakMap<FastifyRequest, Principal>();

/** Who calls. Throws when it is asked before authentication, which is a bug. */
export function principalOf(request: FastifyRequest): Principal {
  const principal = principals.get(request);
  if (principal === undefined) throw new Error("the request was not authenticated");
  return principal;
}

/**
 * The same bytes whatever was wrong; `error` only says that some token was there (RFC 6750 §3.1, DESIGN ruling 2), and
 * `resource_metadata` where to look for a better one (RFC 9728 §5.1).
 */
function challenge(hasToken: boolean, metadata: ResourceMetadata | undefined, url: string): string {
  const target = readTarget(url);
  const error = hasToken ? ', error="invalid_token"' : "";
  const base = target.kind === "rcp" || target.kind === "mcp" ? target.base : undefined;
  const where = metadata === undefined || base === undefined ? "" : `, resource_metadata="${metadata.urlOf(base)}"`;
  return `Bearer realm="pgrcp"${error}${where}`;
}

/**
 * Of the certificate that the client has shown to hold and `server.tls.clientCaFile` vouches for; undefined where there is none.
 * What a header says of a certificate is never read: anybody could send it.
 */
function thumbprintOf(socket: Socket): string | undefined {
  const certificate = socket instanceof TLSSocket && socket.authorized ? socket.getPeerX509Certificate() : undefined;
  return certificate && createHash("sha256").update(certificate.raw).digest("base64url");
}

/**
 * Authenticates from headers alone, before a byte of the body is read.
 *
 * @param retryAfterMs when to ask again while keys are out of reach
 * @param metadata undefined where no metadata is served
 * @returns a hook that throws TransportRefusal 401, or 503 when no key can be had
 */
export function authenticate(
  verifier: TokenVerifier,
  retryAfterMs: number,
  metadata: ResourceMetadata | undefined,
  observe: Observe,
): onRequestAsyncHookHandler {
  return async (request) => {
    const authorization = headerValues(request.raw, "authorization");
    try {
      const principal = await verifier.verify(authorization);
      if (principal.boundTo !== undefined && principal.boundTo !== thumbprintOf(request.raw.socket)) {
        throw new TokenRefused("certificate", { issuer: principal.issuer });
      }
      principals.set(request, principal);
    } catch (error) {
      if (error instanceof TokenRefused) {
        observe({ kind: "token-refused", check: error.check, ...error.claims });
        const headers = { "www-authenticate": challenge(authorization.length > 0, metadata, request.originalUrl) };
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
