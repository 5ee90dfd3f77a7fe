/** A number of places; work that finds none waits its turn, first come, first served. */
export class Slots {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  /** @throws the signal's reason when it aborts before the work has begun; what the work throws */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#take(signal);
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }

  async #take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const turn = () => {
      // At once, not when the promise is heard: whoever has the turn can no longer give it up.
      signal.removeEventListener("abort", leave);
      resolve();
    };
    const leave = () => {
      this.#waiting.splice(this.#waiting.indexOf(turn), 1);
      reject(signal.reason);
    };
    this.#waiting.push(turn);
    signal.addEventListener("abort", leave, { once: true });
    await promise;
  }
}
