import type { EmbeddingModel } from "../../../src/models/embedding.ts";
import { documentOf, type Owner, type SentDocument } from "./sent-documents.ts";

/** What a document is: one of its variants, or not there. */
export type State = number | null;

interface Group {
  readonly base: ReadonlySet<State>;
  readonly done: Set<State>;
  /** Outcomes of writes whose answer never came. */
  readonly doubtful: Set<State>;
  running: number;
  total: number;
}

interface Tracked {
  /** What it can be, as long as no write to it runs. */
  possible: ReadonlySet<State>;
  readonly everSent: Set<number>;
  /** When a write to it last began or ended. */
  changedAt: number;
  /** Writes that overlap in time: any of them may be the last. */
  group: Group | undefined;
}

/** One write on its way. Exactly one of the three is called at its end. */
export interface Ticket {
  applied(): void;
  refused(): void;
  /** Nobody knows: it was aborted. What became of it is seen when everything has settled. */
  lost(): void;
  /** How many of the ids can have been live before: at least, at most. */
  live(): readonly [number, number];
}

const NOTHING: ReadonlySet<State> = new Set([null]);

/** What one corpus of one tenant can hold, given what its clients sent and were told. Knows nothing of other corpora. */
export class CorpusModel {
  readonly owner: Owner;
  /** What its server embeds with. */
  readonly embedding: EmbeddingModel;
  /** Tokens of versions that add calls were told, with what they wrote. */
  readonly versions = new Map<string, ReadonlyMap<string, State>>();
  /** Versions that were made for certain, and those that perhaps were. */
  versionsMade = 0;
  versionsDoubtful = 0;
  readonly #documents = new Map<string, Tracked>();
  #clock = 0;

  constructor(owner: Owner, embedding: EmbeddingModel) {
    this.owner = owner;
    this.embedding = embedding;
  }

  /** A moment, to ask later what held from then on. */
  now(): number {
    this.#clock += 1;
    return this.#clock;
  }

  begin(changes: ReadonlyMap<string, State>): Ticket {
    for (const [id, state] of changes) {
      const one = this.#track(id);
      if (state !== null) one.everSent.add(state);
      one.changedAt = this.now();
      one.group ??= { base: one.possible, done: new Set(), doubtful: new Set(), running: 0, total: 0 };
      one.group.running += 1;
      one.group.total += 1;
    }
    const finish = (note: (group: Group, state: State) => void) => {
      for (const [id, state] of changes) {
        const one = this.#track(id);
        if (one.group === undefined) continue;
        note(one.group, state);
        one.group.running -= 1;
        one.changedAt = this.now();
        // A doubtful write may still take effect, so its group stays open.
        if (one.group.running === 0 && one.group.doubtful.size === 0) close(one);
      }
    };
    return {
      applied: () => finish(({ done }, state) => done.add(state)),
      refused: () => finish(() => {}),
      lost: () => finish(({ doubtful }, state) => doubtful.add(state)),
      live: () => this.#live([...changes.keys()]),
    };
  }

  #live(ids: readonly string[]): readonly [number, number] {
    let [least, most] = [0, 0];
    for (const id of ids) {
      const { group, possible } = this.#track(id);
      const before = group?.base ?? possible;
      if (group?.total === 1 && !before.has(null)) least += 1;
      if ((group !== undefined && group.total > 1) || [...before].some((state) => state !== null)) most += 1;
    }
    return [least, most];
  }

  /** The document as it was sent, if this tenant ever sent that variant under that id. */
  sent(id: string, variant: unknown): SentDocument | undefined {
    const known = typeof variant === "number" && this.#documents.get(id)?.everSent.has(variant) === true;
    return known ? documentOf(this.owner, id, variant) : undefined;
  }

  /** What the document was all the time since then; undefined when nobody can say. */
  certain(id: string, since: number): State | undefined {
    const one = this.#documents.get(id);
    if (one === undefined) return null;
    if (one.group !== undefined || one.changedAt > since || one.possible.size !== 1) return undefined;
    return [...one.possible][0];
  }

  ids(): string[] {
    return [...this.#documents.keys()];
  }

  /** What the document can be now that nothing runs any more. */
  possible(id: string): ReadonlySet<State> {
    const one = this.#documents.get(id);
    if (one?.group !== undefined) close(one);
    return one?.possible ?? NOTHING;
  }

  /** What the document was seen to be. */
  resolve(id: string, state: State): void {
    this.#track(id).possible = new Set([state]);
  }

  #track(id: string): Tracked {
    const known = this.#documents.get(id);
    if (known !== undefined) return known;
    const one: Tracked = { possible: NOTHING, everSent: new Set(), changedAt: 0, group: undefined };
    this.#documents.set(id, one);
    return one;
  }
}

function close(one: Tracked): void {
  const { group } = one;
  if (group === undefined) return;
  const base = group.done.size === 0 ? group.base : [];
  one.possible = new Set([...base, ...group.done, ...group.doubtful]);
  one.group = undefined;
}
