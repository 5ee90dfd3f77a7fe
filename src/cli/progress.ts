/** Progress on standard error: a bar that is redrawn on a terminal, a plain line every few seconds anywhere else. */

export interface Progress {
  /** @param fraction what is done, from 0 to 1 */
  update(fraction: number, note: string): void;
  /** Prints a line that stays, above the bar. */
  line(text: string): void;
  /** Removes the bar, or prints the last plain line. */
  finish(): void;
}

export interface ProgressTarget {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const BAR_WIDTH = 24;
const REDRAW_MS = 100;
const PLAIN_MS = 5_000;
const CLEAR_LINE = "\r\u001b[K";

/**
 * @param label what is being done, such as `importing`
 * @param now milliseconds, rising
 */
export function createProgress(
  label: string,
  target: ProgressTarget = process.stderr,
  now: () => number = () => performance.now(),
): Progress {
  return target.isTTY === true ? barProgress(label, target, now) : plainProgress(label, target, now);
}

const percent = (fraction: number) => `${Math.floor(Math.min(1, Math.max(0, fraction)) * 100)} %`;

function barProgress(label: string, target: ProgressTarget, now: () => number): Progress {
  let last: string | undefined;
  let drawnAt = Number.NEGATIVE_INFINITY;
  const draw = () => {
    if (last !== undefined) target.write(CLEAR_LINE + last.slice(0, (target.columns ?? 80) - 1));
  };
  return {
    update(fraction, note) {
      const filled = Math.round(Math.min(1, Math.max(0, fraction)) * BAR_WIDTH);
      last = `${label} [${"#".repeat(filled)}${".".repeat(BAR_WIDTH - filled)}] ${percent(fraction)}  ${note}`;
      if (now() - drawnAt < REDRAW_MS && fraction < 1) return;
      drawnAt = now();
      draw();
    },
    line(text) {
      target.write(`${last === undefined ? "" : CLEAR_LINE}${text}\n`);
      draw();
    },
    finish() {
      if (last !== undefined) target.write(CLEAR_LINE);
      last = undefined;
    },
  };
}

function plainProgress(label: string, target: ProgressTarget, now: () => number): Progress {
  let printedAt = now();
  let pending: string | undefined;
  return {
    update(fraction, note) {
      pending = `${label}: ${percent(fraction)}  ${note}\n`;
      if (now() - printedAt < PLAIN_MS) return;
      printedAt = now();
      target.write(pending);
      pending = undefined;
    },
    line(text) {
      target.write(`${text}\n`);
    },
    finish() {
      if (pending !== undefined) target.write(pending);
      pending = undefined;
    },
  };
}
