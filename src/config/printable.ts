import type { Config } from "./config.ts";
import { configSchema } from "./config.ts";
import { type Schema, shapeOf } from "./schema-shape.ts";

/** What stands in a secret's place. */
const SET = "<set>";
const SECRET_PARAMETER = /pass|secret|token|key|sig/i;

/** The configuration as plain data without secrets: `<set>` for each, and URLs with their passwords masked. */
export function printableConfig(config: Config): unknown {
  return printable(config, configSchema);
}

function printable(value: unknown, schema: Schema): unknown {
  const shape = shapeOf(schema);
  if (shape.kind === "list") return Array.isArray(value) ? value.map((each) => printable(each, shape.element)) : value;
  if (shape.kind === "section" && typeof value === "object" && value !== null) {
    const entries = Object.entries(value).map(([key, inner]) => {
      const innerSchema = shape.keys.get(key);
      return [key, innerSchema === undefined ? SET : printable(inner, innerSchema)];
    });
    return Object.fromEntries(entries);
  }
  if (shape.kind === "text" && typeof value === "string") {
    if (shape.secret === "value") return SET;
    if (shape.url) return maskUrl(value);
  }
  return value;
}

function maskUrl(text: string): string {
  const url = new URL(text);
  // A user name alone may be a token; with a password behind it, it is a name.
  if (url.password !== "") url.password = SET;
  else if (url.username !== "" && /^https?:$/.test(url.protocol)) url.username = SET;
  for (const name of [...url.searchParams.keys()]) if (SECRET_PARAMETER.test(name)) url.searchParams.set(name, SET);
  const masked = url.href.replaceAll(/%3Cset%3E/gi, SET);
  return masked.includes(SET) ? masked : text;
}
