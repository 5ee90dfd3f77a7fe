/** How a check ends other than well: the server broke a rule, or the rule could not be tried. */

/** The server broke a rule. The message says what was seen and what would be right. */
export class Violation extends Error {
  override readonly name = "Violation";
}

/** The rule does not apply to this server, or cannot be tried on it from here. */
export class Skipped extends Error {
  override readonly name = "Skipped";
}

/** @throws Violation */
export function ensure(holds: boolean, whatIsWrong: string): asserts holds {
  if (!holds) throw new Violation(whatIsWrong);
}

/** @throws Skipped */
export function need(holds: boolean, reason: string): asserts holds {
  if (!holds) throw new Skipped(reason);
}

/** The longest answer that is taken, in bytes: what is no RCP server may never end its own. */
export const MAX_ANSWER = 16 * 1024 * 1024;

const SHOWN = 160;

/** A value for a message: JSON, cut where it gets long. */
export function show(value: unknown): string {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN)}…`;
}
