import type { CorpusName, TenantId } from "../catalog/corpus.ts";

interface Seen {
  readonly version: number;
  readonly until: number;
}

const keyOf = (tenantId: TenantId, corpus: CorpusName): string => JSON.stringify([tenantId, corpus]);

/**
 * The newest version of each corpus that this process has made or met, for as long as a replica may be without it. So there are no more
 * of them than corpora that are used in that time.
 */
export class SeenVersions {
  readonly #keepMs: number;
  readonly #now: () => number;
  /** In the order in which they were met. */
  readonly #corpora = new Map<string, Seen>();

  constructor(keepMs: number, now: () => number = () => performance.now()) {
    this.#keepMs = keepMs;
    this.#now = now;
  }

  /** 0 for a corpus that nothing is known of. */
  of(tenantId: TenantId, corpus: CorpusName): number {
    this.#forget();
    return this.#corpora.get(keyOf(tenantId, corpus))?.version ?? 0;
  }

  meet(tenantId: TenantId, corpus: CorpusName, version: number): void {
    // One that is met again is kept no longer for it, or one that was never committed would be kept for ever.
    if (version <= this.of(tenantId, corpus)) return;
    const key = keyOf(tenantId, corpus);
    this.#corpora.delete(key);
    this.#corpora.set(key, { version, until: this.#now() + this.#keepMs });
  }

  #forget(): void {
    for (const [key, { until }] of this.#corpora) {
      if (this.#now() < until) return;
      this.#corpora.delete(key);
    }
  }
}
