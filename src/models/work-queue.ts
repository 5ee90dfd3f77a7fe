import { backendUnavailable } from "../protocol/errors.ts";

/** Who waits for a unit of work, most urgent first: a search, a write that is being cut into chunks, a bulk import. */
const LANES = ["query", "count", "document"] as const;
export type Lane = (typeof LANES)[number];

/** After this many units in a row from more urgent lanes, the least urgent one that waits gets a turn. */
const PATIENCE = 7;

export interface WorkQueueOptions<Unit, Answer> {
  /** In the error of a full lane: `the embedding server`. */
  readonly name: string;
  readonly run: (unit: Unit) => Promise<Answer>;
  /** Units that run at the same time. */
  readonly concurrency: number;
  /** Calls that may wait in each lane; one more is refused. */
  readonly maxWaitingCalls: number;
}

interface Call<Unit, Answer> {
  readonly units: readonly Unit[];
  readonly answers: Answer[];
  started: number;
  answered: number;
  readonly settle: (outcome: { readonly error: unknown } | undefined) => void;
}

/**
 * Hands units of work to a few workers. A call's units start in order; between any two of them a call of a more urgent lane
 * goes first, and the calls of one lane take turns: a query waits for one unit of each query before it, and for no others.
 */
export class WorkQueue<Unit, Answer> {
  readonly #options: WorkQueueOptions<Unit, Answer>;
  readonly #lanes: Record<Lane, Call<Unit, Answer>[]> = { query: [], count: [], document: [] };
  #running = 0;
  #passedOver = 0;
  #closed: { readonly error: unknown } | undefined;

  constructor(options: WorkQueueOptions<Unit, Answer>) {
    this.#options = options;
  }

  /**
   * The answers to all units of a call, in order.
   *
   * @throws RpcError -32010, retryable, when the lane is full; the signal's reason, at once, when it aborts; what a unit
   *   failed with; the error the queue was closed with
   */
  submit(lane: Lane, units: readonly Unit[], signal?: AbortSignal): Promise<readonly Answer[]> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.#closed) return Promise.reject(this.#closed.error);
    if (units.length === 0) return Promise.resolve([]);
    const calls = this.#lanes[lane];
    if (calls.length >= this.#options.maxWaitingCalls) return Promise.reject(overloaded(this.#options.name));
    const { promise, resolve, reject } = Promise.withResolvers<readonly Answer[]>();
    const onAbort = () => call.settle({ error: signal?.reason });
    const call: Call<Unit, Answer> = {
      units,
      answers: [],
      started: 0,
      answered: 0,
      settle: (outcome) => {
        signal?.removeEventListener("abort", onAbort);
        remove(calls, call);
        if (outcome) reject(outcome.error);
        else resolve(call.answers);
      },
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    calls.push(call);
    this.#start();
    return promise;
  }

  /** Refuses the calls that wait and those to come. */
  close(error: unknown): void {
    this.#closed ??= { error };
    for (const lane of LANES) {
      for (const call of [...this.#lanes[lane]]) call.settle({ error });
    }
  }

  #start(): void {
    while (this.#running < this.#options.concurrency) {
      const calls = this.#chooseLane();
      const call = calls?.[0];
      if (calls === undefined || call === undefined) return;
      const index = call.started++;
      remove(calls, call);
      if (call.started < call.units.length) calls.push(call);
      void this.#runUnit(call, index);
    }
  }

  async #runUnit(call: Call<Unit, Answer>, index: number): Promise<void> {
    this.#running += 1;
    try {
      call.answers[index] = await this.#options.run(call.units[index] as Unit);
      call.answered += 1;
      if (call.answered === call.units.length) call.settle(undefined);
    } catch (error) {
      call.settle({ error });
    } finally {
      this.#running -= 1;
      this.#start();
    }
  }

  #chooseLane(): Call<Unit, Answer>[] | undefined {
    const waiting = LANES.map((lane) => this.#lanes[lane]).filter((calls) => calls.length > 0);
    const least = waiting.at(-1);
    const chosen = this.#passedOver >= PATIENCE ? least : waiting[0];
    this.#passedOver = chosen === least ? 0 : this.#passedOver + 1;
    return chosen;
  }
}

function remove<T>(list: T[], member: T): void {
  const place = list.indexOf(member);
  if (place >= 0) list.splice(place, 1);
}

const overloaded = (name: string) =>
  backendUnavailable({ retryable: true, retryAfterMs: 1_000, detail: `${name} has too many calls waiting` });
