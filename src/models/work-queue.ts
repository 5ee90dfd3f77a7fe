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
  /** Calls that may wait in each lane; one more is refused, and one party's more than half of them. */
  readonly maxWaitingCalls: number;
}

/** Whose call it is: a tenant; undefined = the server itself. */
type Party = string | undefined;

interface Call<Unit, Answer> {
  readonly party: Party;
  readonly units: readonly Unit[];
  readonly answers: Answer[];
  started: number;
  answered: number;
  readonly settle: (outcome: { readonly error: unknown } | undefined) => void;
}

/** The calls that wait, by party; the party that was served last stands at the end, and so does its call that was. */
type Waiting<Unit, Answer> = Map<Party, Call<Unit, Answer>[]>;

/** Of the calls that may wait, what one party's may be. */
const PARTY_SHARE = 0.5;

/**
 * Hands units of work to a few workers. A call's units start in order; between any two of them a call of a more urgent lane goes
 * first. Within a lane the party goes first of which the fewest units run, and of equals the one whose turn is longest ago; its calls
 * take turns, too. So a query waits for one unit of each other party and of each query of its own party before it.
 */
export class WorkQueue<Unit, Answer> {
  readonly #options: WorkQueueOptions<Unit, Answer>;
  readonly #lanes: Record<Lane, Waiting<Unit, Answer>> = { query: new Map(), count: new Map(), document: new Map() };
  #running = 0;
  /** Of each party; none that is 0. */
  readonly #runningOf = new Map<Party, number>();
  #passedOver = 0;
  #closed: { readonly error: unknown } | undefined;

  constructor(options: WorkQueueOptions<Unit, Answer>) {
    this.#options = options;
  }

  /**
   * The answers to all units of a call, in order.
   *
   * @throws RpcError -32010, retryable, when the lane or the party's part of it is full; the signal's reason, at once, when it aborts; what a unit
   *   failed with; the error the queue was closed with
   */
  submit(lane: Lane, units: readonly Unit[], signal?: AbortSignal, party?: Party): Promise<readonly Answer[]> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.#closed) return Promise.reject(this.#closed.error);
    if (units.length === 0) return Promise.resolve([]);
    const waiting = this.#lanes[lane];
    if (this.#isFull(waiting, party)) return Promise.reject(overloaded(this.#options.name));
    const { promise, resolve, reject } = Promise.withResolvers<readonly Answer[]>();
    const onAbort = () => call.settle({ error: signal?.reason });
    const call: Call<Unit, Answer> = {
      party,
      units,
      answers: [],
      started: 0,
      answered: 0,
      settle: (outcome) => {
        signal?.removeEventListener("abort", onAbort);
        remove(waiting, call);
        if (outcome) reject(outcome.error);
        else resolve(call.answers);
      },
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    add(waiting, call);
    this.#start();
    return promise;
  }

  /** Refuses the calls that wait and those to come. */
  close(error: unknown): void {
    this.#closed ??= { error };
    for (const lane of LANES) {
      for (const call of [...this.#lanes[lane].values()].flat()) call.settle({ error });
    }
  }

  #isFull(waiting: Waiting<Unit, Answer>, party: Party): boolean {
    const { maxWaitingCalls } = this.#options;
    const own = waiting.get(party)?.length ?? 0;
    const all = [...waiting.values()].reduce((sum, calls) => sum + calls.length, 0);
    return all >= maxWaitingCalls || (party !== undefined && own >= Math.ceil(maxWaitingCalls * PARTY_SHARE));
  }

  #start(): void {
    while (this.#running < this.#options.concurrency) {
      const waiting = this.#chooseLane();
      const call = waiting && this.#chooseCall(waiting);
      if (waiting === undefined || call === undefined) return;
      const index = call.started++;
      const others = remove(waiting, call);
      // To the end, with what its party has left.
      waiting.delete(call.party);
      if (call.started < call.units.length) others.push(call);
      if (others.length > 0) waiting.set(call.party, others);
      void this.#runUnit(call, index);
    }
  }

  async #runUnit(call: Call<Unit, Answer>, index: number): Promise<void> {
    this.#count(call.party, 1);
    try {
      call.answers[index] = await this.#options.run(call.units[index] as Unit);
      call.answered += 1;
      if (call.answered === call.units.length) call.settle(undefined);
    } catch (error) {
      call.settle({ error });
    } finally {
      this.#count(call.party, -1);
      this.#start();
    }
  }

  #count(party: Party, change: 1 | -1): void {
    this.#running += change;
    const running = (this.#runningOf.get(party) ?? 0) + change;
    if (running === 0) this.#runningOf.delete(party);
    else this.#runningOf.set(party, running);
  }

  #chooseLane(): Waiting<Unit, Answer> | undefined {
    const lanes = LANES.map((lane) => this.#lanes[lane]).filter((waiting) => waiting.size > 0);
    const least = lanes.at(-1);
    const chosen = this.#passedOver >= PATIENCE ? least : lanes[0];
    this.#passedOver = chosen === least ? 0 : this.#passedOver + 1;
    return chosen;
  }

  #chooseCall(waiting: Waiting<Unit, Answer>): Call<Unit, Answer> | undefined {
    let fewest = Number.POSITIVE_INFINITY;
    let chosen: Call<Unit, Answer> | undefined;
    for (const [party, [first]] of waiting) {
      const running = this.#runningOf.get(party) ?? 0;
      if (running >= fewest) continue;
      fewest = running;
      chosen = first;
    }
    return chosen;
  }
}

function add<Unit, Answer>(waiting: Waiting<Unit, Answer>, call: Call<Unit, Answer>): void {
  const calls = waiting.get(call.party);
  if (calls === undefined) waiting.set(call.party, [call]);
  else calls.push(call);
}

/** @returns what its party has left */
function remove<Unit, Answer>(waiting: Waiting<Unit, Answer>, call: Call<Unit, Answer>): Call<Unit, Answer>[] {
  const others = waiting.get(call.party) ?? [];
  const place = others.indexOf(call);
  if (place >= 0) others.splice(place, 1);
  if (others.length === 0) waiting.delete(call.party);
  return others;
}

const overloaded = (name: string) =>
  backendUnavailable({ retryable: true, retryAfterMs: 1_000, detail: `${name} has too many calls waiting` });
