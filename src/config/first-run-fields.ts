import { authMode } from "./auth-mode.ts";
import type { Config } from "./config.ts";

/** Filter fields of the sample corpus, so that a newcomer's first filter works. */
const SAMPLE_FIELDS = { topic: "keyword", year: "int" } as const satisfies Config["filter"]["fields"];

/** True for a first run: the embedded database, and generated tokens because no issuer is configured. */
export const isFirstRun = ({ auth, database }: Config): boolean =>
  authMode(auth) === "first-run" && database.url === undefined;

/** On a first run without fields of its own: those of the sample corpus. */
export function withSampleFields(config: Config): Config {
  if (!isFirstRun(config) || Object.keys(config.filter.fields).length > 0) return config;
  return { ...config, filter: { ...config.filter, fields: SAMPLE_FIELDS } };
}
