import { backendUnavailable } from "../protocol/errors.ts";

/** Hands one thing to one caller after the other, in the order they asked. */
export class OneAtATime {
  readonly #waiting: (() => void)[] = [];
  readonly #waitMs: number;
  #taken = false;

  /** @param waitMs how long a caller waits for its turn before it is told that the database is busy */
  constructor(waitMs: number) {
    this.#waitMs = waitMs;
  }

  /**
   * Resolves when it is the caller's turn. A caller that gives up leaves the queue, so nothing of it runs later.
   *
   * @param signal aborts the wait with its reason
   * @param patient waits without end, for work that no request is waiting for
   * @throws RpcError -32010
   */
  async enter(signal: AbortSignal, patient = false): Promise<void> {
    signal.throwIfAborted();
    if (!this.#taken) {
      this.#taken = true;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const turn = () => {
        off();
        resolve();
      };
      const leave = (reason: unknown) => {
        off();
        this.#waiting.splice(this.#waiting.indexOf(turn), 1);
        reject(reason);
      };
      const abort = () => leave(signal.reason);
      const busy = () => {
        const detail = "the embedded database is busy";
        leave(backendUnavailable({ retryable: true, retryAfterMs: this.#waitMs, detail }));
      };
      const timer = patient ? undefined : setTimeout(busy, this.#waitMs);
      signal.addEventListener("abort", abort, { once: true });
      const off = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", abort);
      };
      this.#waiting.push(turn);
    });
  }

  /** Ends the turn; the next in the queue has it at once. */
  leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#taken = false;
    else next();
  }
}
