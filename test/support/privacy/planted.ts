import { randomBytes } from "node:crypto";

/** Something that no log may hold. */
export interface Secret {
  /** What it was sent as. */
  readonly name: string;
  /** Letters and digits that are nowhere else. */
  readonly core: string;
}

/** Letters and digits, and nothing that a base64 or hex text could hold by chance. */
export const plant = (name: string): Secret => ({ name, core: `q${randomBytes(12).toString("hex")}z` });

/** A text with the secret in it and with what has to be escaped in JSON, in URLs and in SQL. */
export const wordy = ({ core }: Secret): string => `it's "${core}" \\ 100 % of söme ${core}`;

/** Base64 of the text inside a longer one begins at one of three places: what each has in common. */
function base64Of(core: string): string[] {
  return [0, 1, 2].flatMap((before) => {
    const padded = Buffer.concat([Buffer.alloc(before), Buffer.from(core)]);
    const whole = padded.subarray(0, padded.length - (padded.length % 3)).toString("base64");
    const text = whole.slice(before === 0 ? 0 : 4);
    return [text, text.replaceAll("+", "-").replaceAll("/", "_")];
  });
}

/** As it could stand in a log: as it is, and escaped for JSON and URLs as a whole, in hex and in base64. */
export function formsOf({ core }: Secret): string[] {
  const hex = Buffer.from(core).toString("hex");
  const each = (write: (code: string) => string) => hex.replaceAll(/../g, write);
  return [
    core,
    hex,
    hex.toUpperCase(),
    each((code) => `%${code}`),
    each((code) => `%${code.toUpperCase()}`),
    each((code) => `\\u00${code}`),
    ...base64Of(core),
  ];
}

/** Names of the secrets that are in the text in one form or another, in order. */
export function findPlanted(text: string, secrets: readonly Secret[]): string[] {
  return secrets.filter((secret) => formsOf(secret).some((form) => text.includes(form))).map(({ name }) => name);
}
