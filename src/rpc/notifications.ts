import type { Call } from "../methods/handler.ts";
import { ErrorCode } from "../protocol/errors.ts";
import { LOG_LEVELS, type LogLevel } from "../protocol/wire.ts";
import { logLevelOf, progressTokenOf, traceIdOf } from "./call-meta.ts";

/** Takes one notification on its way to the caller, as JSON text. Never waits and never throws; it may drop it, since all are advisory. */
export type Notify = (notification: string) => void;

/** What one call tells its caller beside the answer: progress (RCP §9) and log lines (RCP §17.1). */
export interface Notifier {
  /** For a call that names no level itself: the level that its session was opened with. */
  logFrom(level: LogLevel | undefined): void;
  /** Undefined when the caller asked to be told nothing that a handler could report. */
  reporter(): Call["report"];
  /** Once, when the answer is made. @param code 0 = success */
  answered(code: number, latencyMs: number): void;
}

/** Not the caller's doing. */
const SERVER_FAULTS: ReadonlySet<number> = new Set([
  ErrorCode.InternalError,
  ErrorCode.BackendUnavailable,
  ErrorCode.Timeout,
]);

/** @param notify undefined when nothing can be sent before the answer: then nothing is made either */
export function createNotifier(method: string, params: unknown, notify: Notify | undefined): Notifier {
  const token = progressTokenOf(params);
  const traceId = traceIdOf(params);
  const meta = { ...(token !== undefined && { progressToken: token }), ...(traceId !== undefined && { traceId }) };
  let threshold = logLevelOf(params);
  let reached = 0;

  const send = (name: string, content: object) =>
    notify?.(JSON.stringify({ jsonrpc: "2.0", method: name, params: content }));
  const isLogged = (level: LogLevel) =>
    threshold !== undefined && LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(threshold);
  const log = (level: LogLevel, message: string, data: object) => {
    if (!isLogged(level)) return;
    send("notifications/log", {
      level,
      message,
      logger: method,
      data,
      ...(Object.keys(meta).length > 0 && { _meta: meta }),
    });
  };

  return {
    logFrom(level) {
      threshold ??= level;
    },
    reporter() {
      if (notify === undefined || (token === undefined && !isLogged("debug"))) return undefined;
      return ({ progress, stage, ...rest }) => {
        reached = Math.max(reached, Math.min(1, progress));
        if (token !== undefined)
          send("notifications/progress", { progressToken: token, progress: reached, stage, ...rest });
        log("debug", rest.message ?? stage, { stage });
      };
    },
    answered(code, latencyMs) {
      const level = code === 0 ? "info" : SERVER_FAULTS.has(code) ? "error" : "notice";
      log(level, code === 0 ? "answered" : "refused", { code, latencyMs: Math.round(latencyMs) });
    },
  };
}
