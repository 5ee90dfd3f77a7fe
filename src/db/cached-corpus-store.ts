import type { Corpus, CorpusName, TenantId } from "../catalog/corpus.ts";
import { findCorpus } from "../sql/corpora.ts";
import type { CorpusRole, CorpusStore } from "./corpus-store.ts";
import type { Access, Database, StatementLimits } from "./database.ts";

/** A corpus that another process moved or remade is seen after this at the latest. */
const MAX_AGE_MS = 10_000;
/** Tenants kept; the one unused for longest makes room. */
const MAX_TENANTS = 10_000;

interface Kept {
  readonly corpus: Corpus;
  readonly until: number;
}

/**
 * Corpora by tenant, then name, so that no key can be read as another tenant's. Found ones are kept for some seconds; that one is
 * missing is asked anew each time, because the next write may make it, and so is one that was never written to, whose language may
 * still change.
 */
export class CachedCorpusStore implements CorpusStore {
  readonly #database: Pick<Database, "read">;
  readonly #now: () => number;
  readonly #tenants = new Map<TenantId, Map<CorpusName, Kept>>();
  #forgotten = 0;

  constructor(database: Pick<Database, "read">, now: () => number = Date.now) {
    this.#database = database;
    this.#now = now;
  }

  async find(role: CorpusRole, access: Access, name: CorpusName, limits: StatementLimits): Promise<Corpus | undefined> {
    const { tenantId } = access;
    const kept = this.#tenants.get(tenantId)?.get(name);
    if (kept !== undefined && this.#now() < kept.until) return kept.corpus;
    const forgotten = this.#forgotten;
    const [[corpus]] = await this.#database.read(role, access, [findCorpus(tenantId, name)], limits);
    // A `forget` while the database was asked wins: what was read may be what it was called for.
    if (corpus !== undefined && !corpus.unwritten && this.#forgotten === forgotten) this.#keep(corpus);
    return corpus;
  }

  forget(tenantId: TenantId): void {
    this.#forgotten += 1;
    this.#tenants.delete(tenantId);
  }

  #keep(corpus: Corpus): void {
    const corpora = this.#tenants.get(corpus.tenantId) ?? new Map<CorpusName, Kept>();
    corpora.set(corpus.name, { corpus, until: this.#now() + MAX_AGE_MS });
    this.#tenants.delete(corpus.tenantId);
    this.#tenants.set(corpus.tenantId, corpora);
    if (this.#tenants.size <= MAX_TENANTS) return;
    for (const oldest of this.#tenants.keys()) {
      this.#tenants.delete(oldest);
      break;
    }
  }
}
