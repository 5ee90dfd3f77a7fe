import { type DestinationStream, type LevelWithSilent, pino } from "pino";
import type { Observation, Observe } from "./observation.ts";
import { tellError } from "./tell-error.ts";

type Level = "error" | "warn" | "info" | "debug";

const LEVELS = {
  listening: "info",
  stopping: "info",
  request: "info",
  "token-refused": "warn",
  "identity-ignored": "warn",
  "identity-refused": "warn",
  "fetch-refused": "warn",
  "rate-limited": "warn",
  "backend-failed": "warn",
  "internal-error": "error",
  "audit-failed": "error",
  database: "warn",
  replica: "warn",
  "read-sent-on": "info",
  "load-shedding": "warn",
  warning: "warn",
} as const satisfies Record<Observation["kind"], Level>;

/** An observer that writes one JSON line per observation. */
export function createLogger({ level }: { readonly level: LevelWithSilent }, destination: DestinationStream): Observe {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, messageKey: "event" };
  const logger = pino(options, destination);
  return (observation) => {
    const { kind, ...fields } = observation;
    logger[LEVELS[kind]]("error" in fields ? { ...fields, error: tellError(fields.error) } : fields, kind);
  };
}
