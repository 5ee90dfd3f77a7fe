import { randomBytes } from "node:crypto";
import pg from "pg";
import { afterAll, describe, expect, test } from "vitest";
import { type Config, configSchema } from "../../src/config/config.ts";
import { runBatch } from "../../src/db/batch.ts";
import { scramVerifier, setLogins } from "../../src/db/logins.ts";
import { migrate } from "../../src/db/migrator.ts";
import { openPostgresAdmin } from "../../src/db/operator-database.ts";
import { connectFailure } from "../../src/db/pg-errors.ts";
import { PostgresDatabase } from "../../src/db/postgres-database.ts";
import { selfTest } from "../../src/db/self-test.ts";
import { StartupError } from "../../src/db/startup-error.ts";
import { ErrorCode } from "../../src/protocol/errors.ts";
import { compile, identifier, integer, noRows, plannedOnce, sql } from "../../src/sql/sql.ts";
import { accessTo } from "../support/access.ts";
import { openTestDatabase } from "../support/database.ts";
import { quickest } from "../support/quickest.ts";
import { limits, rows, run } from "./rows.ts";

const { admin, config, kind, close } = await openTestDatabase();
afterAll(close);

/** An advisory lock that nobody else uses. */
const LOCK = 5_821_006;
const NOWHERE = "postgres://127.0.0.1:1/nothing";
const withDatabase = (changes: Record<string, unknown>) =>
  configSchema.parse({ database: { ...config.database, ...changes } });

/** What the server would say when it is started with this configuration. */
async function startError(changed: Config, url: string): Promise<unknown> {
  const database = new PostgresDatabase(url, changed, () => {});
  const outcome = await selfTest(database, new Map(), () => {}).catch((error: unknown) => error);
  await database.close();
  return outcome;
}

test("a password becomes the verifier of RFC 5803", () => {
  // RFC 7677's example password and salt; both keys worked out with Python's hashlib and hmac.
  const verifier = scramVerifier("pencil", Buffer.from("W22ZaJ0SNY7soEsUEjb6gQ==", "base64"));

  expect(verifier).toBe(
    "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=",
  );
});

test("a database that does not answer is one line and one remedy", async () => {
  expect(await startError(withDatabase({ url: NOWHERE }), NOWHERE)).toMatchObject({
    line: "no database answers at 127.0.0.1:1/nothing",
    remedy: "start it, or correct database.url",
    exitCode: 4,
  });
});

describe("a failed login", () => {
  const attempt = {
    url: "postgres://secret:hidden@db.example:5433/docs",
    user: "pgrcp_reader",
    password: "database.reader.password",
  };
  const failed = (code: string) => Object.assign(new Error("FATAL"), { severity: "FATAL", code });

  test.each([
    ["28P01", "the database at db.example:5433/docs refused the password of pgrcp_reader"],
    ["28000", "the database at db.example:5433/docs does not let pgrcp_reader in"],
    ["3D000", "there is no database db.example:5433/docs"],
    ["42501", "pgrcp_reader may not connect to db.example:5433/docs"],
    ["53300", "the database at db.example:5433/docs has no connection left"],
    ["57P03", "the database at db.example:5433/docs is starting or stopping"],
    ["ECONNREFUSED", "no database answers at db.example:5433/docs"],
  ])("with %s is told without the URL's user and password", (code, line) => {
    const failure = connectFailure(failed(code), attempt);

    expect(failure).toBeInstanceOf(StartupError);
    expect(failure).toMatchObject({ line });
  });

  test("of another kind is left as it is", () => {
    const bug = new TypeError("undefined is not a function");

    expect(connectFailure(bug, attempt)).toBe(bug);
  });
});

const onPostgres = () => {
  const url = config.database.url ?? "";
  const role = () => `pgrcptest_${randomBytes(4).toString("hex")}`;
  const quoted = (name: string) => compile(identifier(name), noRows).text;
  const made: string[] = [];
  const makeRole = async (attributes: string): Promise<string> => {
    const name = role();
    made.push(name);
    await admin.transaction((transaction) =>
      transaction.script(`create role ${name} login password 'pw' ${attributes}`),
    );
    await admin.transaction((transaction) =>
      transaction.script(
        `do $$ begin execute format('grant connect on database %I to ${name}', current_database()); end $$`,
      ),
    );
    return name;
  };
  afterAll(async () => {
    for (const name of made) {
      await admin.transaction((transaction) =>
        transaction.script(`drop owned by ${quoted(name)}; drop role ${quoted(name)}`),
      );
    }
  });
  const reader = (user: string) => withDatabase({ reader: { user, password: "pw" } });

  test("the server's own logins pass", async () => {
    expect(await startError(config, url)).toBeUndefined();
  });

  test.each([
    ["superuser", "a superuser: row level security would not hold"],
    ["bypassrls in role pgrcp_reader", "which has BYPASSRLS"],
    ["in role pgrcp_reader, pgrcp_owner", "which is the owner of pgrcp's tables or a member of it"],
    ["in role pgrcp_operator", "which is the owner of pgrcp's tables or a member of it"],
    ["in role pgrcp_reader, pgrcp_adder", "a member of pgrcp_adder"],
    ["in role pgrcp_reader, pg_read_all_data", "a member of pg_read_all_data"],
    [
      "in role pgrcp_reader, pg_write_all_data, pg_monitor",
      "a member of pg_monitor, pg_read_all_settings, pg_read_all_stats, pg_stat_scan_tables, pg_write_all_data",
    ],
    ["createrole in role pgrcp_reader", "which has CREATEROLE"],
    ["createdb replication in role pgrcp_reader", "which has CREATEDB, REPLICATION"],
  ])("a login made with %s is refused", async (attributes, reason) => {
    const user = await makeRole(attributes);

    expect(await startError(reader(user), url)).toMatchObject({ line: `database.reader.user is ${user}, ${reason}` });
  });

  test("a login without the role is refused", async () => {
    const user = await makeRole("");

    expect(await startError(reader(user), url)).toMatchObject({
      line: `database.reader.user is ${user}, which does not have the rights of pgrcp_reader`,
    });
  });

  test("a login of another name, made by migrate, passes, reads, and is held to replacing when it adds", async () => {
    const [readerName, adderName] = [`${role()}'"`, role()];
    made.push(readerName, adderName);
    const custom = withDatabase({
      reader: { user: readerName, password: "p'w\"1" },
      adder: { user: adderName, password: "pw2" },
    });

    await setLogins(admin, custom);
    await admin.transaction((transaction) =>
      transaction.script(`insert into pgrcp.tenants values ('custom');
insert into pgrcp.documents (tenant_id, corpus, doc_id, added_version, source, issuer, subject, trust, injection_suspected, quarantined, meta, chunk_count)
  values ('custom', 'default', 'd', 1, 's', 'i', 's', 'trusted', false, false, '{}', 1)`),
    );

    expect(await startError(custom, url)).toBeUndefined();
    const database = new PostgresDatabase(url, custom, () => {});
    const found = await database.read(
      "reader",
      accessTo("custom"),
      [rows(sql`select tenant_id from pgrcp.tenants`)],
      limits(),
    );
    expect(found).toEqual([[{ tenant_id: "custom" }]]);
    const deleting = database.write("adder", accessTo("custom"), limits(), (transaction) =>
      transaction.query(run(sql`update pgrcp.documents set removed_version = 2 where tenant_id = 'custom'`)),
    );
    await expect(deleting).rejects.toMatchObject({ code: ErrorCode.Unauthorized });
    await database.close();
  });

  test("an extension that lives in a schema of its own is found by migrations and logins", async () => {
    const name = `pgrcp_test_${randomBytes(6).toString("hex")}`;
    await admin.query(compile(sql`create database ${identifier(name)} template template0`, noRows));
    const there = url.replace(/\/[^/]*$/, `/${name}`);
    const owner = openPostgresAdmin(there, config, () => {});
    await owner.transaction((transaction) =>
      transaction.script("create schema extensions; create extension vector schema extensions"),
    );

    await migrate(owner, { fields: new Map(), columnValueOf: () => null });

    const database = new PostgresDatabase(there, config, () => {});
    const distance = rows<{ d: number }>(sql`select '[1,0]'::halfvec <-> '[0,0]'::halfvec as d`);
    expect(await database.read("reader", accessTo("a"), [distance], limits())).toEqual([[{ d: 1 }]]);
    await expect(selfTest(database, new Map(), () => {})).resolves.toBeUndefined();
    await Promise.all([database.close(), owner.close()]);
    await admin.query(compile(sql`drop database ${identifier(name)} with (force)`, noRows));
  });

  test("a database that is not there is one line and one remedy", async () => {
    const elsewhere = url.replace(/\/[^/]*$/, "/no_such_database");

    expect(await startError(withDatabase({ url: elsewhere }), elsewhere)).toMatchObject({
      line: expect.stringMatching(/^there is no database .*\/no_such_database$/),
    });
  });

  test("when every connection is taken, the next caller is told within poolWaitMs", async () => {
    const database = new PostgresDatabase(url, withDatabase({ poolSize: 1, poolWaitMs: 100 }), () => {});
    const read = () => database.read("reader", accessTo("a"), [run(sql`select`)], limits());
    // Connecting alone may take longer on a busy machine.
    await expect.poll(() => read().then(() => "connected", String)).toBe("connected");
    // The only connection waits for this lock for as long as the test has it, so the answer cannot come from a free one.
    await admin.query(run(sql`select pg_advisory_lock(${LOCK})`));
    const slow = database.read("reader", accessTo("a"), [run(sql`select pg_advisory_xact_lock(${LOCK})`)], limits());
    const told = async () => {
      const start = performance.now();
      await expect(read()).rejects.toMatchObject({
        code: ErrorCode.BackendUnavailable,
        data: { retryable: true, retryAfterMs: 100, detail: "every database connection is in use" },
      });
      return performance.now() - start;
    };

    expect(await quickest(800, told)).toBeLessThan(800);
    await admin.query(run(sql`select pg_advisory_unlock(${LOCK})`));
    await slow;
    await read();
    await database.close();
  });

  test("a tenant whose statements do not end keeps only its share of the connections from its neighbours", async () => {
    const settings = withDatabase({ poolSize: 2, poolTenantShare: 0.5, poolWaitMs: 30_000 });
    const database = new PostgresDatabase(url, settings, () => {});
    await admin.query(run(sql`select pg_advisory_lock(${LOCK})`));
    const read = (tenant: string) =>
      database.read("reader", accessTo(tenant), [run(sql`select pg_advisory_xact_lock(${LOCK})`)], limits(30_000));
    const flood = Array.from({ length: 50 }, () => read("flood"));

    await database.read("reader", accessTo("neighbour"), [run(sql`select`)], limits());

    await admin.query(run(sql`select pg_advisory_unlock(${LOCK})`));
    await Promise.all(flood);
    await database.close();
  });

  test("statements are named by default, where Postgres itself answers", async () => {
    const database = new PostgresDatabase(url, withDatabase({ poolSize: 1 }), () => {});
    const names = rows<{ n: number }>(sql`select count(*) as n from pg_prepared_statements`);
    await database.read("reader", accessTo("a"), [names], limits());
    const [[held]] = await database.read("reader", accessTo("a"), [names], limits());
    // This one, and the set_config before it.
    expect(held).toEqual({ n: 2 });
    await database.close();
  });

  test("plans are kept where every statement of a batch allows it, and where statements have names", async () => {
    const once = (by: number) => plannedOnce(rows<{ n: number }>(sql`select 6 / ${by}::int as n`));
    const plans = rows<{ generic: number; custom: number }>(
      sql`select generic_plans as generic, custom_plans as custom from pg_prepared_statements where statement like 'select 6%'`,
    );
    const plansOf = async (preparedStatements: boolean) => {
      const database = new PostgresDatabase(url, withDatabase({ poolSize: 1, preparedStatements }), () => {});
      for (const by of [1, 2, 3]) await database.read("reader", accessTo("a"), [once(by)], limits());
      await database.read("reader", accessTo("a"), [once(1), plans], limits());
      const [found] = await database.read("reader", accessTo("a"), [plans], limits());
      await database.close();
      return found;
    };
    expect(await plansOf(true)).toEqual([{ generic: 3, custom: 1 }]);
    expect(await plansOf(false)).toEqual([]);
  });

  test("a connection keeps the statements that it was asked last, and answers any", async () => {
    const database = new PostgresDatabase(url, withDatabase({ poolSize: 1, preparedStatements: true }), () => {});
    const names = rows<{ n: number }>(sql`select count(*) as n from pg_prepared_statements`);
    const numbered = (n: number) => rows<{ n: number }>(sql`select ${integer(n)} as n`);
    for (let n = 0; n < 1_200; n++)
      expect(await database.read("reader", accessTo("a"), [numbered(n), numbered(0)], limits())).toEqual([
        [{ n }],
        [{ n: 0 }],
      ]);
    expect(await database.read("reader", accessTo("a"), [numbered(1), names], limits())).toEqual([
      [{ n: 1 }],
      [{ n: 64 }],
    ]);
    await database.close();
  });

  test("prepared statements stay right when one of them fails after it was parsed", async () => {
    const prepared = new PostgresDatabase(url, withDatabase({ poolSize: 1, preparedStatements: true }), () => {});
    const divide = (by: number) => rows<{ n: number }>(sql`select 6 / ${by}::int as n`);
    const read = (by: number) => prepared.read("reader", accessTo("a"), [divide(by)], limits());

    await expect(read(0)).rejects.toMatchObject({ code: "22012" });
    expect(await read(2)).toEqual([[{ n: 3 }]]);
    expect(await read(3)).toEqual([[{ n: 2 }]]);
    await expect(read(0)).rejects.toMatchObject({ code: "22012" });
    expect(await read(6)).toEqual([[{ n: 1 }]]);

    const names = rows<{ n: number }>(sql`select count(*) as n from pg_prepared_statements`);
    const [[held]] = await prepared.read("reader", accessTo("a"), [names], limits());
    // set_config, divide, and this one
    expect(held).toEqual({ n: 3 });
    await prepared.close();
  });

  test("a named statement is described once, and anew after a table has changed under it", async () => {
    const client = new pg.Client(url) as pg.Client & { readonly connection: pg.Connection };
    await client.connect();
    let described = 0;
    client.connection.on("rowDescription", () => (described += 1));
    await client.query("create temporary table changing as select 1 as n, '2'::text as t");
    const read = () => runBatch(client, [{ text: "select n, t from changing", values: [], name: "of_two" }]);

    expect(await read()).toEqual([[{ n: 1, t: "2" }]]);
    expect(await read()).toEqual([[{ n: 1, t: "2" }]]);
    expect(described).toBe(1);
    await client.query("alter table changing alter n type text, alter t type int using t::int");
    await expect(read()).rejects.toMatchObject({ code: "0A000" });
    expect(await read()).toEqual([[{ n: "1", t: 2 }]]);
    expect(described).toBe(2);
    await client.end();
  });

  test("a reachable database is reachable, and one that is closed is not", async () => {
    const database = new PostgresDatabase(url, config, () => {});
    expect(await database.isReachable(5_000)).toBe(true);
    await database.close();
    expect(await database.isReachable(500)).toBe(false);
  });
};
if (kind === "postgres") describe("on Postgres", onPostgres);
