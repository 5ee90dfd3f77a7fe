import { decodeJwt, decodeProtectedHeader } from "jose";
import { audiencesOf, type Members, own } from "./claims.ts";
import { TokenRefused } from "./verify-token.ts";

/** A token taken apart. Nothing in it is to be believed before its signature is checked. */
export interface DecodedToken {
  readonly text: string;
  readonly header: Members;
  readonly claims: Members;
}

/** Three parts of base64url (RFC 7515 §7.1); the decoders alone would pass over white space. */
const COMPACT = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/;
const MAX_LOGGED_CHARACTERS = 256;
const MAX_LOGGED_AUDIENCES = 8;

/**
 * The token in a request's Authorization headers: exactly one header, of the scheme Bearer (RFC 6750 §2.1).
 *
 * @throws TokenRefused `missing`, `duplicate`, `scheme` or `size`
 */
export function bearerToken(authorization: readonly string[], maxTokenBytes: number): string {
  const [header, ...others] = authorization;
  if (header === undefined) throw new TokenRefused("missing");
  if (others.length > 0) throw new TokenRefused("duplicate");
  const [, token] = /^bearer +([^ ]+)$/i.exec(withoutOuterSpace(header)) ?? [];
  if (token === undefined) throw new TokenRefused("scheme");
  if (Buffer.byteLength(token) > maxTokenBytes) throw new TokenRefused("size");
  return token;
}

/**
 * Takes a token apart without checking it.
 *
 * @throws TokenRefused `form`
 */
export function decodeToken(text: string): DecodedToken {
  if (!COMPACT.test(text)) throw new TokenRefused("form");
  try {
    return { text, header: decodeProtectedHeader(text), claims: decodeJwt(text) };
  } catch (cause) {
    throw new TokenRefused("form", {}, { cause });
  }
}

/** What may be logged of a token that was refused, cut to a length that suits a log. */
export function publicClaims({ header, claims }: Pick<DecodedToken, "header" | "claims">): TokenRefused["claims"] {
  const issuer = own(claims, "iss");
  const expiresAt = own(claims, "exp");
  const keyId = own(header, "kid");
  const audience = audiencesOf(claims).slice(0, MAX_LOGGED_AUDIENCES).map(cut);
  return {
    ...(typeof issuer === "string" && { issuer: cut(issuer) }),
    ...(audience.length > 0 && { audience }),
    ...(typeof expiresAt === "number" && { expiresAt }),
    ...(typeof keyId === "string" && { keyId: cut(keyId) }),
  };
}

const cut = (text: string) => text.slice(0, MAX_LOGGED_CHARACTERS);

/** RFC 9110 §5.5: white space around a field's value is no part of it. (A regular expression would take quadratic time.) */
function withoutOuterSpace(value: string): string {
  const isSpace = (index: number) => value[index] === " " || value[index] === "\t";
  let start = 0;
  let end = value.length;
  while (start < end && isSpace(start)) start++;
  while (end > start && isSpace(end - 1)) end--;
  return value.slice(start, end);
}
