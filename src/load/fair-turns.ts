import type { RpcError } from "../protocol/errors.ts";

export interface TurnOptions {
  /** Places that are held at the same time. */
  readonly places: number;
  /** Most places of one party, so that others find one however long it holds them; absent = all. */
  readonly placesPerParty?: number;
  /** Absent = any number waits, each until its signal aborts. */
  readonly waiting?: WaitingLimits;
}

export interface WaitingLimits {
  /** Most that wait, of all parties and of one; absent = any number. */
  readonly max?: number;
  readonly maxPerParty?: number;
  /** How long a caller waits; absent = until its signal aborts. */
  readonly ms?: number;
  /** What a caller is told that nothing was free for in time, or that found no room to wait. */
  busy(): RpcError;
}

interface Party {
  held: number;
  /** First come first. */
  readonly waiting: (() => void)[];
}

/**
 * Places that parties (tenants) share. A free place goes to the party that holds the fewest, and among equals to the one whose turn, or
 * first question, is longest ago: a party that asks a thousand times stands in nobody's way but its own.
 */
export class FairTurns {
  readonly #options: TurnOptions;
  /** Those that hold or wait, the one that was served last at the end. */
  readonly #parties = new Map<string | undefined, Party>();
  #held = 0;
  #waiting = 0;

  constructor(options: TurnOptions) {
    this.#options = options;
  }

  /**
   * Resolves when it is the caller's turn, which it must end once. A caller that gives up leaves the queue.
   *
   * @param name undefined for the server itself, which may hold every place
   * @param patient waits without end, for work that no request is waiting for
   * @returns ends the turn
   * @throws RpcError busy; the signal's reason when it aborts first
   */
  async enter(signal: AbortSignal, name: string | undefined, patient = false): Promise<() => void> {
    signal.throwIfAborted();
    const party = this.#parties.get(name) ?? { held: 0, waiting: [] };
    this.#parties.set(name, party);
    if (this.#held < this.#options.places && this.#mayHold(name, party)) this.#take(name, party);
    else await this.#wait(signal, name, party, patient);
    return () => this.#leave(name, party);
  }

  /** @throws RpcError busy; the signal's reason when it aborts before the work has begun; what the work throws */
  async run<Result>(work: () => Promise<Result>, signal: AbortSignal, name: string | undefined): Promise<Result> {
    const leave = await this.enter(signal, name);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  #mayHold(name: string | undefined, { held }: Party): boolean {
    return name === undefined || held < (this.#options.placesPerParty ?? Number.POSITIVE_INFINITY);
  }

  #take(name: string | undefined, party: Party): void {
    party.held += 1;
    this.#held += 1;
    this.#parties.delete(name);
    this.#parties.set(name, party);
  }

  #leave(name: string | undefined, party: Party): void {
    party.held -= 1;
    this.#held -= 1;
    this.#forget(name, party);
    const next = this.#next();
    if (next === undefined) return;
    const [nextName, { waiting }] = next;
    this.#take(...next);
    waiting.shift()?.();
    this.#forget(nextName, next[1]);
  }

  #next(): [string | undefined, Party] | undefined {
    let best: [string | undefined, Party] | undefined;
    for (const [name, party] of this.#parties) {
      if (party.waiting.length === 0 || !this.#mayHold(name, party)) continue;
      if (best === undefined || party.held < best[1].held) best = [name, party];
    }
    return best;
  }

  #forget(name: string | undefined, party: Party): void {
    if (party.held === 0 && party.waiting.length === 0 && this.#parties.get(name) === party) this.#parties.delete(name);
  }

  async #wait(signal: AbortSignal, name: string | undefined, party: Party, patient: boolean): Promise<void> {
    const limits = this.#options.waiting;
    const isFull = this.#waiting >= (limits?.max ?? Number.POSITIVE_INFINITY);
    if (limits && (isFull || party.waiting.length >= (limits.maxPerParty ?? Number.POSITIVE_INFINITY))) {
      this.#forget(name, party);
      throw limits.busy();
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (reason: unknown) => {
      off();
      party.waiting.splice(party.waiting.indexOf(turn), 1);
      this.#forget(name, party);
      reject(reason);
    };
    const abort = () => leave(signal.reason);
    const timer = patient || limits?.ms === undefined ? undefined : setTimeout(() => leave(limits.busy()), limits.ms);
    signal.addEventListener("abort", abort, { once: true });
    const turn = () => {
      // At once, not when the promise is heard: whoever has the turn can no longer give it up.
      off();
      resolve();
    };
    const off = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
    };
    party.waiting.push(turn);
    this.#waiting += 1;
    try {
      await promise;
    } finally {
      off();
      this.#waiting -= 1;
    }
  }
}
