import type { Config } from "../config/config.ts";
import type { Observe } from "../observability/observation.ts";
import type { DatabaseRole } from "./database.ts";
import { connectionOf, poolLimitsOf, RolePool } from "./pools.ts";
import { RoleDatabase } from "./role-database.ts";

/** Postgres by `pg`: one pool per login role. Nothing connects before the first statement. */
export class PostgresDatabase extends RoleDatabase {
  readonly url: string;
  readonly logins: Readonly<Record<DatabaseRole, { readonly user: string }>>;

  /** @param url where the database is; each role has its own login there */
  constructor(url: string, config: Config, observe: Observe) {
    const { reader, adder, deleter, state } = config.database;
    const pool = (role: DatabaseRole) =>
      new RolePool(role, connectionOf(url, config.database[role]), poolLimitsOf(config), observe);
    const pools = { reader: pool("reader"), adder: pool("adder"), deleter: pool("deleter"), state: pool("state") };
    super("postgres", pools, async () => {
      await Promise.all(Object.values(pools).map((one) => one.close()));
    });
    this.url = url;
    this.logins = { reader, adder, deleter, state };
  }
}
