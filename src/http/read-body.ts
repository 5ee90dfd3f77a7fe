import type { IncomingMessage, ServerResponse } from "node:http";
import type { Principal } from "../auth/principal.ts";
import type { Config } from "../config/config.ts";
import { payloadTooLarge } from "../protocol/errors.ts";
import type { RequestPath } from "../rpc/request-path.ts";
import { TransportRefusal } from "./transport-refusal.ts";

/** How long a body may be, and the setting that says so. */
export interface BodyLimit {
  readonly bytes: number;
  readonly setting: keyof BodyLimits;
}

export type BodyLimits = Pick<Config["server"], "maxBodyBytes" | "maxAddBodyBytes">;

/** Documents may be long, from whoever may add: in index/add, or in a batch, which is at the base path. All else is short. */
export function bodyLimit(
  { credentials }: Pick<Principal, "credentials">,
  { method }: Pick<RequestPath, "method">,
  { maxBodyBytes, maxAddBodyBytes }: BodyLimits,
): BodyLimit {
  const mayAdd = credentials.has("add") && (method === "index/add" || method === undefined);
  return mayAdd && maxAddBodyBytes > maxBodyBytes
    ? { bytes: maxAddBodyBytes, setting: "maxAddBodyBytes" }
    : { bytes: maxBodyBytes, setting: "maxBodyBytes" };
}

/**
 * Reads a body, after inviting it from a client that waits for that (RFC 9110 §10.1.1), and gives up at the first byte too many.
 *
 * @throws TransportRefusal 413, which ends the connection; 400 when the connection broke off
 */
export function readBody(request: IncomingMessage, response: ServerResponse, limit: BodyLimit): Promise<Buffer> {
  if (Number(request.headers["content-length"] ?? 0) > limit.bytes) return Promise.reject(tooLarge(limit));
  // Who left while the token was looked at is not heard of again.
  if (request.destroyed) return Promise.reject(brokenOff());
  if (request.headers.expect !== undefined && request.httpVersion === "1.1") {
    response.removeHeader("connection");
    response.writeContinue();
  }
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let size = 0;
    const settle = (act: () => void) => {
      request.off("data", take).off("end", end).off("error", fail).off("close", fail);
      act();
    };
    const take = (piece: Buffer) => {
      size += piece.length;
      if (size > limit.bytes) settle(() => reject(tooLarge(limit)));
      else pieces.push(piece);
    };
    const end = () => settle(() => resolve(Buffer.concat(pieces, size)));
    const fail = () => settle(() => reject(brokenOff()));
    request.on("data", take).on("end", end).on("error", fail).on("close", fail);
  });
}

function tooLarge({ bytes, setting }: BodyLimit): TransportRefusal {
  const detail = `a body holds at most ${bytes} bytes (server.${setting})`;
  return new TransportRefusal(413, { connection: "close" }, payloadTooLarge({ detail }));
}

const brokenOff = (): TransportRefusal => new TransportRefusal(400, { connection: "close" });
