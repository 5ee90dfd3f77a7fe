import { isObject } from "../protocol/params.ts";
import { ensure, show, Violation } from "./outcome.ts";

/** One JSON text as it came, and what it says. */
export interface Frame {
  readonly text: string;
  readonly value: unknown;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Reads what a server sent.
 *
 * @throws Violation for what is not UTF-8, begins with a byte order mark, is not JSON or holds a number that no double holds
 */
export function readFrame(bytes: Uint8Array): Frame {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw new Violation("the server sent bytes that are not UTF-8");
  }
  ensure(!text.startsWith("\uFEFF"), "the server sent a byte order mark");
  const value = parse(text);
  ensure(holdsFiniteNumbers(value), `the server sent a number beyond the range of a double: ${show(text)}`);
  return { text, value };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Violation(`the server sent what is not JSON: ${show(text)}`);
  }
}

/** False where `1e999` became infinite. */
function holdsFiniteNumbers(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (Array.isArray(value)) return value.every(holdsFiniteNumbers);
  return !isObject(value) || Object.values(value).every(holdsFiniteNumbers);
}

/** A frame that answers something: a response, or the array of a batch. */
export const isAnswer = ({ value }: Frame): boolean => !isObject(value) || !Object.hasOwn(value, "method");
