/** How calls ended. */
const OUTCOMES = ["result", "error", "cut off", "timed out", "cancelled"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Counts calls by their kind and how they ended. */
export class Tally {
  readonly #rows = new Map<string, Map<Outcome, number>>();

  add(kind: string, outcome: Outcome): void {
    const row = this.#rows.get(kind) ?? new Map<Outcome, number>();
    this.#rows.set(kind, row);
    row.set(outcome, (row.get(outcome) ?? 0) + 1);
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
