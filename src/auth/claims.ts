import { hasNul, isWellFormed, utf8Bytes } from "../protocol/text.ts";

/** A decoded part of a token. Only its own members count: `__proto__` in a token is a name like any other. */
export type Members = Readonly<Record<string, unknown>>;

/** Who calls is kept with sessions and documents, so it is text that a database can keep and index. */
const MAX_NAME_BYTES = 255;

export const own = (members: Members, name: string): unknown =>
  Object.hasOwn(members, name) ? members[name] : undefined;

/** The value at a path of objects; undefined as soon as a name on the way is missing. */
export function claimAt(claims: Members, path: readonly string[]): unknown {
  let value: unknown = claims;
  for (const name of path) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    value = own(value as Members, name);
  }
  return value;
}

export function isName(value: unknown): value is string {
  return (
    typeof value === "string" &&
    value !== "" &&
    utf8Bytes(value) <= MAX_NAME_BYTES &&
    isWellFormed(value) &&
    !hasNul(value)
  );
}

const THUMBPRINT = /^[\w-]{43}$/;

/** The thumbprint of the certificate that a token is bound to (RFC 8705 §3.1). @returns undefined where there is none */
export function boundTo(claims: Members): string | undefined {
  const thumbprint = claimAt(claims, ["cnf", "x5t#S256"]);
  return typeof thumbprint === "string" && THUMBPRINT.test(thumbprint) ? thumbprint : undefined;
}

/** `aud` as a list (RFC 7519 §4.1.3); what is no text names nobody. */
export function audiencesOf(claims: Members): readonly string[] {
  const aud = own(claims, "aud");
  if (typeof aud === "string") return [aud];
  return Array.isArray(aud) ? aud.filter((each) => typeof each === "string") : [];
}

/**
 * The scopes of a token, exactly as written.
 *
 * @param form `string`: joined by single spaces, which are the only separator (RFC 8693 §4.2); `array`: one each
 * @returns undefined when the claim is missing or of another form
 */
export function scopesOf(value: unknown, form: "string" | "array"): readonly string[] | undefined {
  if (form === "string") return typeof value === "string" ? value.split(" ") : undefined;
  return Array.isArray(value) && value.every((each) => typeof each === "string") ? value : undefined;
}

/** In place of names: every corpus of the tenant, also one that is made later. */
export const ALL_CORPORA = "*";

/**
 * The corpora that a token names: a list of names, or names joined by single spaces. One that does not exist is no error.
 *
 * @returns undefined when the claim is missing or neither
 */
export function corporaOf(value: unknown): ReadonlySet<string> | "all" | undefined {
  const names = scopesOf(value, typeof value === "string" ? "string" : "array");
  return names?.includes(ALL_CORPORA) ? "all" : names && new Set(names);
}

/** `client_id` (RFC 9068) or `azp`; empty when the token has neither, undefined when it is malformed. */
export function clientOf(claims: Members): string | undefined {
  for (const name of ["client_id", "azp"]) {
    const value = own(claims, name);
    if (value !== undefined && value !== null && value !== "") return isName(value) ? value : undefined;
  }
  return "";
}
