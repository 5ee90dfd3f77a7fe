import { chmod, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { configSchema } from "../../src/config/config.ts";
import { ENGINE_MAJOR } from "../../src/db/data-directory.ts";
import { type Embedded, embeddedOver, openEmbedded } from "../../src/db/embedded-database.ts";
import { EmbeddedEngine } from "../../src/db/embedded-engine.ts";
import { migrate } from "../../src/db/migrator.ts";
import { selfTest } from "../../src/db/self-test.ts";
import type { Observation } from "../../src/observability/observation.ts";
import { ErrorCode } from "../../src/protocol/errors.ts";
import { compile, sql } from "../../src/sql/sql.ts";
import { accessTo } from "../support/access.ts";
import { embeddedTemplate, openEmbeddedCopy } from "../support/embedded-template.ts";
import { limits, rows, run } from "./rows.ts";

const one = compile(sql`select 1 as one`, (row) => row.one);
const slow = (seconds: number) => run(sql`select pg_sleep(${seconds}::float8)`);

async function timed(work: Promise<unknown>): Promise<{ readonly error: unknown; readonly ms: number }> {
  const start = performance.now();
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return { error, ms: performance.now() - start };
}

describe("while a statement runs", () => {
  let embedded: Embedded;
  beforeAll(async () => {
    embedded = await openEmbeddedCopy(configSchema.parse({ database: { poolWaitMs: 400 } }));
  });
  afterAll(() => embedded.database.close());
  // An abandoned statement has the connection until it ends; the operator waits for that.
  afterEach(() => embedded.operator.read(one));
  const read = (statement: ReturnType<typeof run>, timeoutMs?: number) =>
    embedded.database.read("reader", accessTo("a"), [statement], limits(timeoutMs));

  /** What comes first: how `work` fails, or the end of the statement that runs, for which the operator waits. */
  const firstOf = (work: Promise<unknown>) =>
    Promise.race([work, embedded.operator.read(one)]).then(
      () => "the statement has ended",
      (error: unknown) => error,
    );

  test("its own deadline is answered before it ends, and the event loop never stops", async () => {
    let ticks = 0;
    const ticking = setInterval(() => {
      ticks += 1;
    }, 10);

    const error = await firstOf(read(slow(1), 100));

    clearInterval(ticking);
    expect(error).toMatchObject({ code: ErrorCode.Timeout });
    expect(ticks).toBeGreaterThan(0);
  });

  test("another's deadline holds as well, and the other's statement never runs", async () => {
    const first = read(slow(1), 20_000);

    const second = embedded.database.write("adder", accessTo("a"), limits(100), async (transaction) => {
      await transaction.query(run(sql`select 1`));
      throw new Error("must not get a turn");
    });

    expect(await firstOf(second)).toMatchObject({ code: ErrorCode.Timeout });
    await first;
    expect(await embedded.operator.read(one)).toEqual([1]);
  });

  test("whoever waits longer than poolWaitMs is told that the database is busy", async () => {
    const first = read(slow(2), 20_000);

    const start = performance.now();
    const error = await firstOf(read(slow(0), 20_000));

    expect(error).toMatchObject({
      code: ErrorCode.BackendUnavailable,
      data: { retryable: true, retryAfterMs: 400, detail: "the embedded database is busy" },
    });
    expect(performance.now() - start).toBeGreaterThanOrEqual(395);
    await first;
  });

  test("an abandoned write is rolled back before anyone else has a turn", async () => {
    const writing = embedded.database.write("adder", accessTo("late"), limits(100), async (transaction) => {
      await transaction.query(run(sql`insert into pgrcp.tenants (tenant_id) values ('late')`));
      await transaction.query(slow(0.3));
    });

    await expect(writing).rejects.toMatchObject({ code: ErrorCode.Timeout });

    const found = await embedded.operator.read(rows(sql`select 1 from pgrcp.tenants where tenant_id = 'late'`));
    expect(found).toEqual([]);
  });

  test("the operator waits its turn without end", async () => {
    const first = read(slow(0.8), 20_000);

    expect(await embedded.operator.read(one)).toEqual([1]);
    await first;
  });
});

describe("a data directory", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "pgrcp-embedded-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));
  const configOf = (directory: string) => configSchema.parse({ database: { embeddedDir: directory } });

  test("keeps its data, passes the self-test, and is locked while open", async () => {
    const config = configOf(join(folder, "kept"));
    const first = await openEmbedded(config);
    await migrate(first.admin, { fields: new Map(), columnValueOf: () => null });
    await first.operator.write((transaction) =>
      transaction.query(run(sql`insert into pgrcp.tenants (tenant_id) values ('kept')`)),
    );
    await expect(openEmbedded(config)).rejects.toMatchObject({
      name: "StartupError",
      exitCode: 4,
      line: expect.stringMatching(/^the data directory .*kept is in use by process \d+ on /),
    });
    await first.database.close();

    const second = await openEmbedded(config);

    await expect(selfTest(second.database, new Map(), () => {})).resolves.toBeUndefined();
    expect(await second.operator.read(rows(sql`select tenant_id from pgrcp.tenants`))).toEqual([{ tenant_id: "kept" }]);
    expect(await readFile(join(folder, "kept", "engine"), "utf8")).toBe(`PostgreSQL ${ENGINE_MAJOR}\n`);
    const version = rows<{ major: number }>(sql`select current_setting('server_version_num')::int / 10000 as major`);
    expect(await second.operator.read(version)).toEqual([{ major: ENGINE_MAJOR }]);
    await second.database.close();
  });

  test("is closed to other users, also when it was open before", async () => {
    const directory = join(folder, "open");
    await mkdir(join(directory, "data"), { recursive: true, mode: 0o755 });
    await chmod(directory, 0o755);
    const { database } = await openEmbedded(configOf(directory));
    const modes = await Promise.all(
      [directory, join(directory, "data")].map(async (one) => (await stat(one)).mode & 0o777),
    );
    await database.close();
    expect(modes).toEqual([0o700, 0o700]);
  });

  test("of another engine version is refused, and left alone", async () => {
    const directory = join(folder, "kept");
    await writeFile(join(directory, "engine"), "PostgreSQL 17\n");

    await expect(openEmbedded(configOf(directory))).rejects.toMatchObject({
      line: `the data directory ${directory} was written by PostgreSQL 17, and this program has PostgreSQL ${ENGINE_MAJOR}`,
    });
    await rm(join(directory, "engine"));
    await writeFile(join(directory, "data", "PG_VERSION"), "16\n");
    await expect(openEmbedded(configOf(directory))).rejects.toThrow("was written by PostgreSQL 16");
  });

  test("that is not one says so, and is not left locked", async () => {
    const directory = join(folder, "broken");
    await mkdir(join(directory, "data"), { recursive: true });
    await writeFile(join(directory, "data", "PG_VERSION"), `${ENGINE_MAJOR}\n`);

    for (const _ of [1, 2]) {
      await expect(openEmbedded(configOf(directory))).rejects.toThrow(
        `the embedded database in ${directory} cannot be opened`,
      );
    }
  });

  test("that cannot be made says so", async () => {
    const file = join(folder, "file");
    await writeFile(file, "");

    await expect(openEmbedded(configOf(join(file, "below")))).rejects.toMatchObject({
      line: `the data directory ${join(file, "below")} cannot be made`,
    });
  });
});

/** A database in a folder of its own, which gives an abandoned statement 200 ms. */
async function openInFolder() {
  const folder = await mkdtemp(join(tmpdir(), "pgrcp-embedded-"));
  const observed: Observation[] = [];
  const data = { dataDir: join(folder, "data"), dump: await embeddedTemplate() };
  const observe = (observation: Observation) => void observed.push(observation);
  const engine = await EmbeddedEngine.open(data, { waitMs: 20_000, runawayMs: 200, observe });
  const embedded = embeddedOver(engine, async () => {});
  onTestFinished(async () => {
    await embedded.database.close();
    await rm(folder, { recursive: true });
  });
  return { folder, embedded, observed };
}

/** Every thread that is started while the test runs, and how many of them have said that they are ready. */
function startedThreads() {
  const threads: Worker[] = [];
  let ready = 0;
  const hear = (thread: Worker): void => {
    threads.push(thread);
    thread.once("message", () => {
      ready += 1;
    });
  };
  process.on("worker", hear);
  onTestFinished(() => void process.off("worker", hear));
  return { threads, ready: () => ready };
}

describe("a statement that runs on after it was abandoned", () => {
  const abandoned = (embedded: Embedded) =>
    embedded.database.read("reader", accessTo("a"), [slow(30)], limits(100)).catch((error: unknown) => error);

  test("ends with its thread, and the data directory is opened anew", async () => {
    const { embedded } = await openInFolder();
    await embedded.operator.write((transaction) =>
      transaction.query(run(sql`insert into pgrcp.tenants (tenant_id) values ('kept')`)),
    );

    expect(await abandoned(embedded)).toMatchObject({ code: ErrorCode.Timeout });

    expect(await embedded.operator.read(rows(sql`select tenant_id from pgrcp.tenants`))).toEqual([
      { tenant_id: "kept" },
    ]);
  });

  test("whose data directory cannot be opened anew is -32010 and reported, until it can", async () => {
    const { folder, embedded, observed } = await openInFolder();
    const control = join(folder, "data", "global", "pg_control");
    const read = () => embedded.operator.read(one);
    await embedded.operator.write((transaction) =>
      transaction.query(run(sql`insert into pgrcp.tenants (tenant_id) values ('kept')`)),
    );
    await rename(control, `${control}.away`);

    await abandoned(embedded);

    for (const _ of [1, 2]) {
      await expect(read()).rejects.toMatchObject({
        code: ErrorCode.BackendUnavailable,
        data: { retryable: true, detail: "the embedded database could not be opened again" },
      });
    }
    expect(observed).toEqual([
      { kind: "database", event: "embedded-thread-ended" },
      ...Array.from({ length: 2 }, () => ({
        kind: "backend-failed",
        where: "the embedded database",
        code: ErrorCode.BackendUnavailable,
        error: expect.any(Error),
      })),
    ]);
    await rename(`${control}.away`, control);
    expect(await embedded.operator.read(rows(sql`select tenant_id from pgrcp.tenants`))).toEqual([
      { tenant_id: "kept" },
    ]);
  });

  test("does not keep a caller that leaves while the data directory is opened anew", async () => {
    const { threads, ready } = startedThreads();
    const { embedded } = await openInFolder();
    const leaving = new AbortController();
    process.once("worker", () => leaving.abort("gone"));
    await abandoned(embedded);

    const reading = embedded.database.read(
      "reader",
      accessTo("a"),
      [run(sql`select 1`)],
      limits(20_000, leaving.signal),
    );

    await expect(reading).rejects.toBe("gone");
    expect([threads.length, ready()]).toEqual([2, 1]);
    expect(await embedded.operator.read(one)).toEqual([1]);
    expect(ready()).toBe(2);
  });

  test("in memory takes the data with it, and the database says that it has ended", async () => {
    const engine = await EmbeddedEngine.open({ dump: await embeddedTemplate() }, { waitMs: 20_000, runawayMs: 200 });
    const embedded = embeddedOver(engine, async () => {});

    expect(await abandoned(embedded)).toMatchObject({ code: ErrorCode.Timeout });

    await expect(embedded.operator.read(one)).rejects.toMatchObject({
      code: ErrorCode.BackendUnavailable,
      data: { retryable: false },
    });
    await embedded.database.close();
  });
});

describe("the thread", () => {
  test("that fails under a statement is -32010, and the next statement has another", async () => {
    const { threads } = startedThreads();
    const { embedded } = await openInFolder();
    const reading = timed(embedded.database.read("reader", accessTo("a"), [slow(30)], limits()));

    await threads[0]?.terminate();

    expect((await reading).error).toMatchObject({ code: ErrorCode.BackendUnavailable, data: { retryable: true } });
    expect(await embedded.operator.read(one)).toEqual([1]);
    expect(threads).toHaveLength(2);
  });

  test("that cannot be connected to is ended", async () => {
    const { threads } = startedThreads();
    vi.spyOn(pg.Client.prototype, "connect").mockRejectedValueOnce(new Error("no"));
    onTestFinished(() => void vi.restoreAllMocks());

    await expect(EmbeddedEngine.open({ dump: await embeddedTemplate() }, { waitMs: 1_000 })).rejects.toThrow("no");

    // A thread that is gone has no number.
    expect(threads.map(({ threadId }) => threadId)).toEqual([-1]);
  });

  test("is connected to as it is, whatever the environment asks of other databases", async () => {
    vi.stubEnv("PGSSLMODE", "require");
    onTestFinished(() => void vi.unstubAllEnvs());

    const engine = await EmbeddedEngine.open({ dump: await embeddedTemplate() }, { waitMs: 1_000 });

    await engine.close();
  });
});

test("a database whose engine cannot be closed gives its directory back all the same", async () => {
  const broken = { close: () => Promise.reject(new Error("the disk is full")) } as unknown as EmbeddedEngine;
  let released = 0;
  const { database } = embeddedOver(broken, async () => {
    released += 1;
  });

  await expect(database.close()).rejects.toThrow("the disk is full");

  expect(released).toBe(1);
});
