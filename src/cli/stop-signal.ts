import { ExitCode } from "../protocol/failure.ts";

/** What a stop request ends work with. */
export class Stopped extends Error {
  override readonly name = "Stopped";
  readonly by: NodeJS.Signals;

  constructor(by: NodeJS.Signals) {
    super(`stopped by ${by}`);
    this.by = by;
  }
}

export interface StopRequest {
  /** Aborts with a `Stopped` when the process is asked to stop. */
  readonly signal: AbortSignal;
  /** Settles then. */
  readonly requested: Promise<Stopped>;
  /** The signal that asked, once one has. */
  by(): NodeJS.Signals | undefined;
  release(): void;
}

const SIGNALS = ["SIGINT", "SIGTERM"] as const;
/** What comes within it is one press of Ctrl-C: npm passes on to its child what the terminal has sent there already. */
const ONE_PRESS_MS = 1_000;

/** Listens for SIGINT and SIGTERM. The first asks to stop; a further one, pressed on purpose, ends the process at once. */
export function stopOnSignal(): StopRequest {
  const controller = new AbortController();
  const { promise: requested, resolve } = Promise.withResolvers<Stopped>();
  let requestedAt = Number.NaN;
  const onSignal = (name: NodeJS.Signals) => {
    if (performance.now() - requestedAt >= ONE_PRESS_MS) process.exit(ExitCode.interrupted);
    if (controller.signal.aborted) return;
    requestedAt = performance.now();
    const stopped = new Stopped(name);
    controller.abort(stopped);
    resolve(stopped);
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  return {
    signal: controller.signal,
    requested,
    by: () => (controller.signal.reason as Stopped | undefined)?.by,
    release() {
      for (const name of SIGNALS) process.off(name, onSignal);
    },
  };
}
