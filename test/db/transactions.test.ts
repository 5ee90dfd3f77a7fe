import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { runBatch } from "../../src/db/batch.ts";
import type { TenantTransaction } from "../../src/db/database.ts";
import { EmbeddedEngine } from "../../src/db/embedded-engine.ts";
import { EmbeddedSource } from "../../src/db/embedded-source.ts";
import type { LeaseSource } from "../../src/db/lease.ts";
import { connectionOf, poolLimitsOf, RolePool } from "../../src/db/pools.ts";
import { readInBatch, writeInTransaction } from "../../src/db/tenant-transaction.ts";
import { cancelled, ErrorCode, RpcError } from "../../src/protocol/errors.ts";
import { compile, type Statement, sql } from "../../src/sql/sql.ts";
import { accessTo } from "../support/access.ts";
import { openTestDatabase } from "../support/database.ts";
import { embeddedTemplate } from "../support/embedded-template.ts";
import { closeDocument, insertDocument, limits, rows, run, seed } from "./rows.ts";

const { database, operator, admin, config, kind, observations, close } = await openTestDatabase({
  database: { poolSize: 2, poolWaitMs: 60_000 },
});
afterAll(close);

/** A pool of one connection. */
function onePool(role: "reader" | "adder"): RolePool {
  const connection = connectionOf(config.database.url ?? "", config.database[role]);
  return new RolePool(role, connection, { ...poolLimitsOf(config), size: 1 }, () => {});
}

const whoami = rows<{ tenant: string; role: string }>(
  sql`select current_setting('pgrcp.tenant_id') as tenant, current_user::text as role`,
);
const sleep = (seconds: number) => run(sql`select pg_sleep(${seconds}::float8)`);
/** Longer than a busy machine delays an answer that does not wait for its end. The embedded database's next statement waits for it. */
const LONG_SECONDS = kind === "postgres" ? 20 : 2;
/** On the embedded database pg_sleep is not interrupted either; both sleep the same. */
const read = (statement: Statement<unknown>, timeoutMs?: number, signal?: AbortSignal) =>
  database.read("reader", accessTo("a"), [statement], limits(timeoutMs, signal));

async function timed(work: Promise<unknown>): Promise<{ readonly error: unknown; readonly ms: number }> {
  const start = performance.now();
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return { error, ms: performance.now() - start };
}

/** Both connections work, and neither remembers a tenant. */
async function expectUsable(): Promise<void> {
  const both = await Promise.all(
    ["x", "y"].map((id) => database.read("reader", accessTo(id), [whoami], limits(30_000))),
  );
  expect(both.map(([[row]]) => row)).toEqual([
    { tenant: "x", role: "pgrcp_reader" },
    { tenant: "y", role: "pgrcp_reader" },
  ]);
}

describe("a read", () => {
  test("runs as its role and its tenant, and gives one list of rows per statement", async () => {
    const numbers = compile(sql`select n from generate_series(1, ${3}::int) n`, (row) => row.n as number);

    const result = await database.read(
      "reader",
      accessTo("a"),
      [whoami, numbers, run(sql`select 1 where false`)],
      limits(),
    );

    expect(result).toEqual([[{ tenant: "a", role: "pgrcp_reader" }], [1, 2, 3], []]);
  });

  test("sees one snapshot, and cannot write", async () => {
    const statement = rows<{ isolation: string; ro: string }>(
      sql`select current_setting('transaction_isolation') as isolation, current_setting('transaction_read_only') as ro`,
    );

    const [[settings]] = await database.read("reader", accessTo("a"), [statement], limits());

    // The embedded database has one connection, so nothing can change between two statements of a read.
    expect(settings).toEqual({ isolation: kind === "postgres" ? "repeatable read" : "read committed", ro: "on" });
  });

  test("that does not parse rises as it is, and the connection works on", async () => {
    await expect(read(run(sql`selec 1`))).rejects.toMatchObject({ code: "42601" });
    await expectUsable();
  });

  test("that fails while it runs rises as it is, and the connection works on", async () => {
    await expect(read(run(sql`select 1 / ${0}::int`))).rejects.toMatchObject({ code: "22012" });
    await expectUsable();
  });

  test("whose statement fails gives nothing of the others", async () => {
    const statements = [whoami, run(sql`select 1 / ${0}::int`), whoami] as const;

    await expect(database.read("reader", accessTo("a"), statements, limits())).rejects.toMatchObject({ code: "22012" });
  });

  test("of what the role has no right to is -32012", async () => {
    const statement = run(sql`select 1 from pgrcp_state.sessions`);

    await expect(read(statement)).rejects.toMatchObject({ code: ErrorCode.Unauthorized });
  });

  test("that runs out of time is -32014 when the time is up", async () => {
    const { error, ms } = await timed(read(sleep(LONG_SECONDS), 100));

    expect(error).toMatchObject({ code: ErrorCode.Timeout, data: { retryable: true } });
    expect(ms).toBeLessThan(LONG_SECONDS * 1_000);
    await expectUsable();
  });

  test("that is aborted rejects at once with the signal's reason", async () => {
    const controller = new AbortController();
    const reason = cancelled();
    setTimeout(() => controller.abort(reason), 50);

    const { error, ms } = await timed(read(sleep(LONG_SECONDS), 60_000, controller.signal));

    expect(error).toBe(reason);
    expect(ms).toBeLessThan(LONG_SECONDS * 1_000);
    await expectUsable();
  });

  test("that was aborted before it began does not begin", async () => {
    const { error, ms } = await timed(read(sleep(LONG_SECONDS), 60_000, AbortSignal.abort("gone")));

    expect(error).toBe("gone");
    expect(ms).toBeLessThan(LONG_SECONDS * 1_000);
  });
});

describe("a write", () => {
  const count = rows<{ n: number }>(sql`select count(*) as n from pgrcp.tenants`);
  const created = (id: string) => run(sql`insert into pgrcp.tenants (tenant_id) values (${id})`);
  const exists = async (id: string) =>
    (await operator.read(rows(sql`select 1 from pgrcp.tenants where tenant_id = ${id}`))).length === 1;

  test("is read committed, runs as its role and tenant, and commits what it returns from", async () => {
    const statement = rows<{ isolation: string }>(sql`select current_setting('transaction_isolation') as isolation`);

    const result = await database.write("adder", accessTo("w1"), limits(), async (transaction) => {
      await transaction.query(created("w1"));
      return [await transaction.query(whoami), await transaction.query(statement), await transaction.query(count)];
    });

    expect(result).toEqual([[{ tenant: "w1", role: "pgrcp_adder" }], [{ isolation: "read committed" }], [{ n: 1 }]]);
    expect(await exists("w1")).toBe(true);
  });

  test("sends several statements in one round trip, and each sees what those before it did", async () => {
    const mine = rows<{ n: number }>(sql`select count(*) as n from pgrcp.tenants where tenant_id = ${"w1b"}`);

    const result = await database.write("adder", accessTo("w1b"), limits(), (transaction) =>
      transaction.batch([mine, created("w1b"), mine, whoami]),
    );

    expect(result).toEqual([[{ n: 0 }], [], [{ n: 1 }], [{ tenant: "w1b", role: "pgrcp_adder" }]]);
    expect(await exists("w1b")).toBe(true);
  });

  test("of which one statement among several fails commits none of them", async () => {
    const writing = database.write("adder", accessTo("w1c"), limits(), async (transaction) => {
      await transaction.batch([created("w1c"), run(sql`select 1 / ${0}::int`), whoami]).catch(() => {});
    });

    await expect(writing).rejects.toMatchObject({ code: "22012" });
    expect(await exists("w1c")).toBe(false);
  });

  test("that throws rolls back, and its error comes through untouched", async () => {
    const reason = new Error("on second thought");

    const { error } = await timed(
      database.write("adder", accessTo("w2"), limits(), async (transaction) => {
        await transaction.query(created("w2"));
        throw reason;
      }),
    );

    expect(error).toBe(reason);
    expect(await exists("w2")).toBe(false);
  });

  test("that swallows a failed statement does not commit the rest", async () => {
    const writing = database.write("adder", accessTo("w3"), limits(), async (transaction) => {
      await transaction.query(created("w3"));
      await transaction.query(run(sql`select 1 / ${0}::int`)).catch(() => {});
    });

    await expect(writing).rejects.toMatchObject({ code: "22012" });
    expect(await exists("w3")).toBe(false);
  });

  test("whose transaction is used after its end is refused", async () => {
    let kept: TenantTransaction | undefined;
    await database.write("adder", accessTo("w4"), limits(), async (transaction) => {
      kept = transaction;
    });

    await expect(kept?.query(whoami)).rejects.toThrow("the transaction has ended");
  });

  test("that runs out of time is -32014 and leaves nothing", async () => {
    const { error, ms } = await timed(
      database.write("adder", accessTo("w5"), limits(150), async (transaction) => {
        await transaction.query(created("w5"));
        await transaction.query(sleep(LONG_SECONDS));
      }),
    );

    expect(error).toMatchObject({ code: ErrorCode.Timeout });
    expect(ms).toBeLessThan(LONG_SECONDS * 1_000);
    expect(await exists("w5")).toBe(false);
  });

  test("that is refused only at commit reports it", async () => {
    await seed(operator, "w6");

    const writing = database.write("adder", accessTo("w6"), limits(), async (transaction) => {
      await transaction.query(run(closeDocument("w6", "doc", 2)));
    });

    await expect(writing).rejects.toMatchObject({ code: ErrorCode.Unauthorized });
  });

  // A deadlock; a lock that did not come within somebody's lock_timeout.
  const meeting = (code: string) => Object.assign(new Error("another transaction"), { severity: "ERROR", code });

  test.each(["40P01", "55P03"])("that met another one (%s) is run again", async (code) => {
    const tenant = `w7-${code.toLowerCase()}`;
    let runs = 0;

    const result = await database.write("adder", accessTo(tenant), limits(), async (transaction) => {
      runs += 1;
      await transaction.query(created(tenant));
      if (runs < 3) throw meeting(code);
      return "done";
    });

    expect([result, runs]).toEqual(["done", 3]);
    expect(await exists(tenant)).toBe(true);
  });

  test.each(["40P01", "55P03"])("that meets another one (%s) every time is -32010 in the end", async (code) => {
    const writing = database.write("adder", accessTo("w8"), limits(), async () => {
      throw meeting(code);
    });

    await expect(writing).rejects.toMatchObject({ code: ErrorCode.BackendUnavailable, data: { retryable: true } });
  });
});

test("batches that write and meet in a deadlock are all applied", async () => {
  const whose = sql`tenant_id = ${"crossed"} and session_hash`;
  await operator.write(async (transaction) => {
    for (const place of [1, 2])
      await transaction.query(
        run(
          sql`insert into pgrcp_state.sessions (tenant_id, session_hash, issuer, subject, client, capabilities, expires_at) values ('crossed', ${new Uint8Array([place])}::bytea, '', '', '', '', '2030-01-01Z')`,
        ),
      );
  });
  const later = (place: number) =>
    run(
      sql`update pgrcp_state.sessions set expires_at = expires_at + interval '1 day' where ${whose} = ${new Uint8Array([place])}::bytea`,
    );
  const batch = (first: number, second: number) =>
    database.read("state", accessTo("crossed"), [later(first), sleep(0.2), later(second)], limits());

  await Promise.all([batch(1, 2), batch(2, 1)]);

  const days = rows<{ days: number }>(
    sql`select extract(day from expires_at at time zone 'UTC')::int as days from pgrcp_state.sessions where tenant_id = 'crossed'`,
  );
  expect(await operator.read(days)).toEqual([{ days: 3 }, { days: 3 }]);
});

describe("a connection that is given back", () => {
  let source: LeaseSource;
  let reader: LeaseSource;
  let closeSources: () => Promise<unknown>;
  beforeAll(async () => {
    if (kind === "postgres") {
      const pools = [onePool("adder"), onePool("reader")] as const;
      [source, reader] = pools;
      closeSources = () => Promise.all(pools.map((pool) => pool.close()));
    } else {
      const engine = await EmbeddedEngine.open({ dump: await embeddedTemplate() }, { waitMs: 5_000 });
      source = new EmbeddedSource(engine, "adder");
      reader = new EmbeddedSource(engine, "reader");
      closeSources = () => engine.close();
    }
  });
  afterAll(() => closeSources());

  /** What the next one to have it finds. */
  const left = async (from = source) => {
    const lease = await from.acquire(new AbortController().signal, undefined);
    const status = lease.client.getTransactionStatus();
    const [[found] = []] = await runBatch(lease.client, [
      {
        text: `select coalesce(current_setting('pgrcp.tenant_id', true), '') as tenant,
  coalesce(current_setting('pgrcp.credentials', true), '') as credentials, current_user = session_user as own,
  current_setting('statement_timeout') as timeout, pg_backend_pid() as pid`,
        values: [],
      },
    ]);
    lease.release();
    return { status, pid: found?.pid, ...found };
  };
  const nothing = { status: "I", tenant: "", credentials: "", own: true, timeout: "0", pid: expect.any(Number) };
  const write = (work: (transaction: TenantTransaction) => Promise<unknown>, timeoutMs?: number) =>
    writeInTransaction(source, accessTo("a"), work, limits(timeoutMs));

  test("after a read keeps neither role nor tenant nor credentials nor timeout, nor after one that failed or was aborted", async () => {
    await readInBatch(reader, accessTo("a"), [whoami], limits());
    expect(await left(reader)).toEqual(nothing);
    await readInBatch(reader, accessTo("a"), [run(sql`select 1 / ${0}::int`)], limits()).catch(() => {});
    expect(await left(reader)).toEqual(nothing);
    await readInBatch(reader, accessTo("a"), [sleep(0.3)], limits(50)).catch(() => {});
    expect(await left(reader)).toEqual(nothing);
  });

  test("after a write, or one that failed by itself, is the same one and as clean", async () => {
    await write((transaction) => transaction.query(whoami));
    const first = await left();
    expect(first).toEqual(nothing);

    const statement = write((transaction) => transaction.query(run(sql`select 1 / ${0}::int`)));
    await expect(statement).rejects.toMatchObject({ code: "22012" });
    expect(await left()).toEqual(first);

    const refused = write((transaction) => transaction.query(run(sql`select from pgrcp_state.sessions`)));
    await expect(refused).rejects.toMatchObject({ code: ErrorCode.Unauthorized });
    expect(await left()).toEqual(first);

    const thrown = write(async (transaction) => {
      await transaction.query(whoami);
      throw new Error("on second thought");
    });
    await expect(thrown).rejects.toThrow("on second thought");
    expect(await left()).toEqual(first);
  });

  // The embedded database does not stop a statement by itself, and has one connection.
  if (kind === "postgres") {
    test("is not the one on which a statement ran out of time", async () => {
      const first = await left();

      const late = write(async (transaction) => {
        await transaction.query(run(sql`set local statement_timeout = '50ms'`));
        await transaction.query(sleep(10));
      });

      await expect(late).rejects.toMatchObject({ code: ErrorCode.Timeout });
      const next = await left();
      expect(next).toEqual(nothing);
      expect(next.pid).not.toBe(first.pid);
    });

    test("is not the one that its work swallowed a time-out on", async () => {
      const first = await left();

      const late = write(async (transaction) => {
        await transaction.query(run(sql`set local statement_timeout = '50ms'`));
        await transaction.query(sleep(10)).catch(() => {});
        throw new Error("something else");
      });

      await expect(late).rejects.toThrow("something else");
      expect((await left()).pid).not.toBe(first.pid);
    });
  }
});

test("3,000 interleaved requests of nine tenants over two connections, one in eleven failing: none sees another's", async () => {
  const tenants = Array.from({ length: 9 }, (_, index) => `many${index}`);
  for (const id of tenants) await seed(operator, id);
  let failures = 0;
  let wrong = 0;
  let right = 0;

  await Promise.all(
    Array.from({ length: 3_000 }, async (_, index) => {
      const id = tenants[index % tenants.length] ?? "";
      const mine = rows<{ tenant_id: string }>(sql`select tenant_id from pgrcp.documents`);
      const bad = index % 11 === 0 ? [run(index % 2 === 0 ? sql`selec` : sql`select 1 / ${0}::int`)] : [];
      try {
        const [found] = await database.read("reader", accessTo(id), [mine, ...bad], limits(60_000));
        if (found.length === 1 && found[0]?.tenant_id === id) right += 1;
        else wrong += 1;
      } catch {
        failures += 1;
      }
    }),
  );

  // 3000 / 11 = 272.7…: indexes 0, 11, …, 2992
  expect({ right, wrong, failures }).toEqual({ right: 2_727, wrong: 0, failures: 273 });
}, 60_000);

test("values come as the same JavaScript values from every database", async () => {
  const statement = rows(
    sql`select 1::int8 as int8, 9007199254740993::int8 as large, (-9007199254740991)::int8 as least, 2.5::numeric as "numeric", 0.1::float8 as float8, true as bool,
  '\\x00ff'::bytea as bytea, '{"a":[1,null]}'::json as json, '{"b":2}'::jsonb as jsonb, '2026-01-02T03:04:05.678Z'::timestamptz as at,
  array['a', null, 'b"\\,{}']::text[] as texts, array[1, 2]::int8[] as int8s, array[1.5]::float8[] as floats, array[true, false] as bools,
  '[1,2.5]'::halfvec as vector, null::text as nothing, '{}'::text[] as empty`,
  );

  const [[row]] = await database.read("reader", accessTo("a"), [statement], limits());

  expect(row).toEqual({
    int8: 1,
    large: 9007199254740993n,
    least: -9007199254740991,
    numeric: 2.5,
    float8: 0.1,
    bool: true,
    bytea: new Uint8Array([0, 255]),
    json: { a: [1, null] },
    jsonb: { b: 2 },
    at: new Date("2026-01-02T03:04:05.678Z"),
    texts: ["a", null, 'b"\\,{}'],
    int8s: [1, 2],
    floats: [1.5],
    bools: [true, false],
    vector: "[1,2.5]",
    nothing: null,
    empty: [],
  });
});

test("parameters arrive as they were", async () => {
  const odd = 'quote " backslash \\ brace {} comma , null NULL ünïcødé 🙂';
  const statement = rows(
    sql`select ${odd}::text as "text", ${[odd, "", null]}::text[] as texts, ${[1.5, -2]}::float8[] as floats, ${[true, false]}::boolean[] as bools,
  ${9007199254740993n}::int8 as large, ${new Uint8Array([0, 92, 255])}::bytea as bytes, ${null}::text as nothing, ${[]}::int[] as empty`,
  );

  const [[row]] = await database.read("reader", accessTo("a"), [statement], limits());

  expect(row).toEqual({
    text: odd,
    texts: [odd, "", null],
    floats: [1.5, -2],
    bools: [true, false],
    large: 9007199254740993n,
    bytes: new Uint8Array([0, 92, 255]),
    nothing: null,
    empty: [],
  });
});

test("a stream gives all rows in pieces, and one that is left early leaves the connection usable", async () => {
  const numbers = compile(sql`select n from generate_series(1, ${5}::int) n`, (row) => row.n as number);
  const pieces: (readonly number[])[] = [];

  for await (const piece of operator.stream(numbers, 2)) pieces.push(piece);
  for await (const piece of operator.stream(numbers, 2)) {
    expect(piece).toEqual([1, 2]);
    // Another statement between two pieces: the embedded database has only one connection.
    expect(await operator.read(numbers)).toEqual([1, 2, 3, 4, 5]);
    break;
  }

  expect(pieces).toEqual([[1, 2], [3, 4], [5]]);
  expect(await operator.read(numbers)).toEqual([1, 2, 3, 4, 5]);
});

test("the operator works across tenants", async () => {
  await seed(operator, "op1");
  await operator.write((transaction) => transaction.query(run(insertDocument("op1", "second", 1))));

  const found = await operator.read(
    rows<{ tenant_id: string }>(
      sql`select distinct tenant_id from pgrcp.documents where tenant_id in ('op1', 'many0') order by 1`,
    ),
  );

  expect(found.map((row) => row.tenant_id)).toEqual(["many0", "op1"]);
});

// Only Postgres has backends to kill.
const onPostgres = () => {
  test("a statement behind one that waited for a lock sees what was committed meanwhile", async () => {
    await seed(operator, "w9");
    const locked = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const whose = sql`tenant_id = ${"w9"} and corpus = 'default'`;
    const first = operator.write(async (transaction) => {
      await transaction.query(run(sql`select from pgrcp.corpora where ${whose} for update`));
      locked.resolve();
      await goOn.promise;
      await transaction.query(run(sql`insert into pgrcp.revoked_sources (tenant_id, source) values (${"w9"}, 'late')`));
    });
    await locked.promise;

    const second = database.write("adder", accessTo("w9"), limits(60_000), (transaction) =>
      transaction.batch([
        run(sql`select from pgrcp.corpora where ${whose} for update`),
        rows<{ source: string }>(
          sql`select source from pgrcp.revoked_sources where tenant_id = ${"w9"} and source = 'late'`,
        ),
      ]),
    );
    const waits = rows<{ n: number }>(sql`select count(*) as n from pg_locks where not granted`);
    while ((await operator.read(waits))[0]?.n === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    goOn.resolve();
    await first;

    expect((await second)[1]).toEqual([{ source: "late" }]);
  });

  test("statements are named on a direct connection, and never through a pooler", async () => {
    const pool = onePool("reader");
    await (await pool.acquire(new AbortController().signal, undefined)).release();
    expect(pool.nameOf("select 1") !== undefined).toBe(process.env.PGRCP_TEST_POOLER_URL === undefined);
    await pool.close();
  });

  const backends = rows<{ pid: number }>(
    sql`select pid from pg_stat_activity where usename = 'pgrcp_reader' and datname = current_database()`,
  );
  const kill = (pid: number) => admin.query(run(sql`select pg_terminate_backend(${pid})`));

  test("a backend that is killed under a statement is -32010, and later statements get another", async () => {
    const reading = timed(read(run(sql`select pg_sleep(5) /* victim */`)));
    const victims = rows<{ pid: number }>(
      sql`select pid from pg_stat_activity where query like '%/* victim */%' and pid <> pg_backend_pid() and state = 'active'`,
    );
    await expect.poll(async () => (await admin.query(victims)).length).toBe(1);
    for (const { pid } of await admin.query(victims)) await kill(pid);

    expect((await reading).error).toMatchObject({ code: ErrorCode.BackendUnavailable, data: { retryable: true } });
    await expectUsable();
  });

  const direct = process.env.PGRCP_TEST_POOLER_URL === undefined;
  // Before a pooler the idle connections are to it, and only it learns of a backend that is gone or has other settings now.
  const testDirect = direct ? test : () => {};

  testDirect("backends that are killed while idle are noticed and replaced", async () => {
    const lost = () =>
      observations.filter((event) => event.kind === "database" && event.event === "connection-lost").length;
    await expectUsable();
    const before = lost();
    const pids = await admin.query(backends);
    for (const { pid } of pids) await kill(pid);

    await expect.poll(() => lost() - before).toBeGreaterThanOrEqual(pids.length);
    await expectUsable();
  });

  testDirect("a server that takes no writes is -32010 and to be tried again, over another connection", async () => {
    const readOnly = (value: "on" | "off") =>
      admin.transaction((transaction) =>
        transaction.script(
          `do $$ begin execute format('alter database %I set default_transaction_read_only = ${value}', current_database()); end $$`,
        ),
      );
    const create = (id: string) => (transaction: TenantTransaction) =>
      transaction.query(run(sql`insert into pgrcp.tenants (tenant_id) values (${id})`));
    await readOnly("on");
    const pool = onePool("adder");
    onTestFinished(() => pool.close());

    const writing = writeInTransaction(pool, accessTo("failover"), create("failover"), limits());

    await expect(writing).rejects.toMatchObject({
      code: ErrorCode.BackendUnavailable,
      data: { retryable: true, detail: "the database takes no writes at present" },
    });
    await readOnly("off");
    await writeInTransaction(pool, accessTo("failover"), create("failover"), limits());
  });

  test("an aborted statement is stopped on the server", async () => {
    const controller = new AbortController();
    const reading = timed(read(run(sql`select pg_sleep(30) /* stopped */`), 60_000, controller.signal));
    const running = rows(
      sql`select 1 from pg_stat_activity where query like '%/* stopped */%' and pid <> pg_backend_pid() and state = 'active'`,
    );
    await expect.poll(async () => (await admin.query(running)).length).toBe(1);

    controller.abort(cancelled());

    expect((await reading).error).toBeInstanceOf(RpcError);
    await expect.poll(async () => (await admin.query(running)).length).toBe(0);
  });
};
if (kind === "postgres") describe("on Postgres", onPostgres);
