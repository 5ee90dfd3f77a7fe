import { invalidParams } from "./errors.ts";
import { hasNul, isWellFormed, utf8Bytes } from "./text.ts";

/**
 * Checks a string that the caller chose as a key: a document id, a session id, an idempotency key (DESIGN rulings 4 and 15).
 *
 * @param setting the configuration key that holds `maxBytes`, named in the error
 * @throws RpcError -32602 naming `field`
 */
export function checkIdentifier(value: unknown, field: string, maxBytes: number, setting: string): string {
  const refuse = (detail: string) => invalidParams({ field, detail });
  if (typeof value !== "string") throw refuse("must be a string");
  if (value === "") throw refuse("must not be empty");
  if (!isWellFormed(value)) throw refuse("must be well-formed Unicode: it holds a lone surrogate");
  if (hasNul(value)) throw refuse("must not hold U+0000");
  if (utf8Bytes(value) > maxBytes) throw refuse(`must be at most ${maxBytes} bytes in UTF-8 (${setting})`);
  return value;
}
