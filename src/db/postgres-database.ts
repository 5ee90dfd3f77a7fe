import type { CorpusName } from "../catalog/corpus.ts";
import type { Config } from "../config/config.ts";
import type { Observe } from "../observability/observation.ts";
import type { Statement } from "../sql/sql.ts";
import type { Access, CorpusPoint, DatabaseRole, RowsOf, StatementLimits, TenantTransaction } from "./database.ts";
import { placeOf } from "./pg-errors.ts";
import { connectionOf, poolLimitsOf, RolePool } from "./pools.ts";
import { Replica } from "./replica.ts";
import { Replicas } from "./replicas.ts";
import { RoleDatabase } from "./role-database.ts";

/** Postgres by `pg`: one pool per login role, and one of the reader's for each replica. Nothing connects before the first statement. */
export class PostgresDatabase extends RoleDatabase {
  readonly url: string;
  readonly logins: Readonly<Record<DatabaseRole, { readonly user: string }>>;
  readonly replicas: readonly Replica[];
  readonly #reads: Replicas | undefined;

  /** @param url where the database is; each role has its own login there */
  constructor(url: string, config: Config, observe: Observe) {
    const { reader, adder, deleter, state, connectTimeoutMs, maxReplicaLagMs: maxLagMs } = config.database;
    const pool = (role: DatabaseRole, at = url) =>
      new RolePool(role, connectionOf(at, config.database[role]), poolLimitsOf(config), observe);
    const pools = { reader: pool("reader"), adder: pool("adder"), deleter: pool("deleter"), state: pool("state") };
    const standbys = config.database.replicas.map((at) => ({ place: placeOf(at), pool: pool("reader", at) }));
    const replicas = standbys.map((one) => new Replica(one.place, one.pool, observe));
    const settings = { maxLagMs, connectTimeoutMs };
    const reads = replicas.length === 0 ? undefined : new Replicas(pools.reader, replicas, settings, observe);
    super("postgres", pools, async () => {
      reads?.close();
      await Promise.all([...Object.values(pools), ...standbys.map((one) => one.pool)].map((one) => one.close()));
    });
    this.url = url;
    this.logins = { reader, adder, deleter, state };
    this.replicas = replicas;
    this.#reads = reads;
  }

  override readCorpus<const Statements extends readonly Statement<unknown>[]>(
    point: CorpusPoint,
    access: Access,
    statements: Statements,
    limits: StatementLimits,
  ): Promise<RowsOf<Statements>> {
    const reads = this.#reads;
    return reads === undefined
      ? super.readCorpus(point, access, statements, limits)
      : reads.read(point, access, statements, limits);
  }

  override async write<Result>(
    role: Exclude<DatabaseRole, "reader">,
    access: Access,
    limits: StatementLimits,
    work: (transaction: TenantTransaction) => Promise<Result>,
  ): Promise<Result> {
    const made: [corpus: CorpusName, version: number][] = [];
    const advances = (corpus: CorpusName, version: number) => void made.push([corpus, version]);
    try {
      return await super.write(role, access, limits, (transaction) => work({ ...transaction, advances }));
    } finally {
      // Also after a failure, in which the commit may have been what nobody heard of.
      for (const [corpus, version] of made) this.#reads?.meet(access.tenantId, corpus, version);
    }
  }
}
