/** How calls ended. */
const OUTCOMES = ["result", "error", "cut off", "timed out", "cancelled"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** One caller's call, made while another tenant's words, ids, sessions or versions were at hand. */
export interface Trial {
  readonly caller: string;
  readonly other: string;
  readonly method: string;
  /** Of a retrieve. */
  readonly mode: string | undefined;
  readonly isFiltered: boolean;
}

/** Counts calls by their kind and how they ended. */
export class Tally {
  readonly #rows = new Map<string, Map<Outcome, number>>();
  /** By method, mode and filter, then by the pair of tenants. */
  readonly #trials = new Map<string, Map<string, number>>();

  add(kind: string, outcome: Outcome): void {
    const row = this.#rows.get(kind) ?? new Map<Outcome, number>();
    this.#rows.set(kind, row);
    row.set(outcome, (row.get(outcome) ?? 0) + 1);
  }

  addTrial({ caller, other, method, mode, isFiltered }: Trial): void {
    const shape = [method, mode ?? "", isFiltered ? "filtered" : ""].join(" ").trim();
    const row = this.#trials.get(shape) ?? new Map<string, number>();
    this.#trials.set(shape, row);
    const pair = `${caller} < ${other}`;
    row.set(pair, (row.get(pair) ?? 0) + 1);
  }

  /** How many trials there were of each shape (`retrieve dense filtered`), for each pair of tenants. */
  trials(): ReadonlyMap<string, readonly number[]> {
    const pairs = [...new Set([...this.#trials.values()].flatMap((row) => [...row.keys()]))].sort();
    return new Map([...this.#trials].sort().map(([shape, row]) => [shape, pairs.map((pair) => row.get(pair) ?? 0)]));
  }

  kinds(): readonly string[] {
    return [...this.#rows.keys()];
  }

  total(...outcomes: readonly Outcome[]): number {
    const counted = outcomes.length === 0 ? OUTCOMES : outcomes;
    return [...this.#rows.values()].reduce(
      (sum, row) => sum + counted.reduce((all, outcome) => all + (row.get(outcome) ?? 0), 0),
      0,
    );
  }

  /** A table, one kind a line. */
  toString(): string {
    const line = (name: string, cells: readonly (string | number)[]) =>
      `${name.padEnd(30)}${cells.map((cell) => String(cell).padStart(10)).join("")}`;
    const rows = [...this.#rows].sort(([a], [b]) => (a < b ? -1 : 1));
    return [
      line("kind", OUTCOMES),
      ...rows.map(([kind, row]) =>
        line(
          kind,
          OUTCOMES.map((outcome) => row.get(outcome) ?? 0),
        ),
      ),
      line(
        "all",
        OUTCOMES.map((outcome) => this.total(outcome)),
      ),
    ].join("\n");
  }
}
