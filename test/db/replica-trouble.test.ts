import net from "node:net";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { examine } from "../../src/db/self-test.ts";
import { type Sql, sql } from "../../src/sql/sql.ts";
import { accessTo } from "../support/access.ts";
import { callerOf } from "../support/method-caller.ts";
import { AT, HAS_CLUSTERS, openReplicated, type Replicated, withPort } from "../support/postgres/replicated.ts";
import { limits, rows, run } from "./rows.ts";

/** A standby that lags, fails, or is none: no caller is without an answer. */

const MINUTE = 60_000;

describe.runIf(HAS_CLUSTERS)("a replica", { timeout: 3 * MINUTE }, () => {
  let setup: Replicated;
  beforeAll(async () => {
    setup = await openReplicated();
  }, 2 * MINUTE);
  afterAll(() => setup?.close(), 2 * MINUTE);

  test("is read however long the primary has been idle", async () => {
    const maxReplicaLagMs = 500;
    const database = setup.server({ maxReplicaLagMs });
    const { corpus } = await setup.seeded(database);
    const idle = rows<{ port: number; ageMs: number }>(
      sql`select inet_server_port() as port, extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()) * 1000 as "ageMs"`,
    );

    await vi.waitFor(async () => {
      const [[found]] = await database.readCorpus({ corpus }, accessTo(corpus.tenantId), [idle], limits());
      expect(found?.port).toBe(setup.standby.port);
      expect(found?.ageMs).toBeGreaterThan(2 * maxReplicaLagMs);
    }, MINUTE);
  });

  test("that stands still has every commit of more than maxReplicaLagMs ago in its answers, or gives none", async () => {
    const maxReplicaLagMs = 1_000;
    const [writing, reading] = [setup.server(), setup.server({ maxReplicaLagMs })];
    const { caller, corpus, tenantId } = await setup.seeded(writing);
    await setup.untilRead(reading, corpus);
    await setup.pause();
    await caller.add([{ id: "second", text: "amber" }]);
    const mustBeThereAt = performance.now() + maxReplicaLagMs;
    const other = callerOf(reading, tenantId);

    for (let isDue = false; !isDue; ) {
      isDue = performance.now() > mustBeThereAt;
      const found = await other.ids({});
      if (isDue) expect(found.toSorted()).toEqual(["first", "second"]);
    }

    expect(await setup.readAt(reading, corpus)).toBe(setup.primary.port);
    expect(reading.observed).toContainEqual(
      expect.objectContaining({ kind: "replica", state: "unused", reason: "late" }),
    );
    await setup.resume();
    await setup.untilRead(reading, corpus);
  });

  test("whose vacuum stops a read has it done by the primary", async () => {
    const database = setup.server();
    const { corpus } = await setup.seeded(database);
    const patience = (value: Sql) =>
      setup.there
        .query(run(sql`alter system set max_standby_streaming_delay = ${value}`))
        .then(() => setup.there.query(run(sql`select pg_reload_conf()`)));
    await patience(sql`0`);
    onTestFinished(async () => {
      await patience(sql`default`);
    });
    await setup.untilRead(database, corpus);
    const { reading } = await setup.slowRead(database, corpus, sql`pgrcp.documents`);

    // Dead rows that the snapshot of that read still sees.
    await setup.opened.admin.query(
      run(sql`update pgrcp.documents set title = 'new' where tenant_id = ${corpus.tenantId}`),
    );
    await setup.opened.admin.query(run(sql`vacuum pgrcp.documents`));

    expect(await reading).toEqual([[{ port: setup.primary.port }]]);
    const sentOn = { kind: "read-sent-on", reason: "statement", sqlstate: "40001" };
    expect(database.observed).toContainEqual(expect.objectContaining(sentOn));
    const unused = expect.objectContaining({ kind: "replica", state: "unused" });
    expect(database.observed).not.toContainEqual(unused);
    await setup.untilRead(database, corpus);
  });

  test("that does not answer any more holds a read up for half of its time at most", async () => {
    let isFrozen = false;
    const sockets = new Set<net.Socket>();
    const proxy = net.createServer((socket) => {
      const behind = net.connect(setup.standby.port, "127.0.0.1");
      for (const [from, to] of [[socket, behind] as const, [behind, socket] as const]) {
        sockets.add(from);
        from.on("error", () => {}).on("data", (bytes) => isFrozen || to.write(bytes));
      }
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      proxy.close();
    });
    const { port } = proxy.address() as net.AddressInfo;
    const database = setup.server({ replicas: [withPort(setup.onStandby(), port)] });
    const { corpus } = await setup.seeded(database);
    await setup.untilRead(database, corpus);
    isFrozen = true;

    const answer = await database.readCorpus({ corpus }, accessTo(corpus.tenantId), [AT], limits(8_000));

    expect(answer).toEqual([[{ port: setup.primary.port }]]);
    expect(database.observed).toContainEqual(expect.objectContaining({ state: "unused", reason: "away" }));
    expect(await setup.readAt(database, corpus)).toBe(setup.primary.port);
  });

  test("that crashes costs no caller an answer, and is read again when it is back", async () => {
    const database = setup.server({ maxReplicaLagMs: 5_000 });
    const { caller, corpus } = await setup.seeded(database);
    await setup.untilRead(database, corpus);
    const { reading } = await setup.slowRead(database, corpus, sql`(values (1)) one`);

    setup.standby.kill();

    expect(await reading).toEqual([[{ port: setup.primary.port }]]);
    for (let call = 0; call < 20; call += 1) expect(await caller.ids({})).toEqual(["first"]);
    expect(database.observed).toContainEqual(
      expect.objectContaining({ kind: "replica", state: "unused", reason: "away" }),
    );
    await setup.standby.resume();
    await setup.untilRead(database, corpus);
    expect(await caller.ids({})).toEqual(["first"]);
  });

  describe("at start", () => {
    const found = async (replicas: string[]) =>
      (await examine(setup.server({ replicas }), new Map())).filter(({ name }) => name.startsWith("replica "));

    test("is well", async () => {
      const name = expect.stringMatching(/^replica 127.0.0.1:\d+\/pgrcp_test_/);
      expect(await found([setup.onStandby()])).toEqual([{ name, findings: [] }]);
    });

    test("that is another database stops the start", async () => {
      const other = withPort(setup.primary.url, setup.standby.port);
      expect(await found([other])).toMatchObject([
        { findings: [{ severity: "error", line: expect.stringContaining("is another database than database.url") }] },
      ]);
    });

    test("that is out of reach, or was promoted, is a warning", async () => {
      const { url = "" } = setup.opened.config.database;
      expect(await found([withPort(url, 1), url])).toMatchObject([
        { findings: [{ severity: "warning", line: expect.stringContaining("no database answers at 127.0.0.1:1/") }] },
        { findings: [{ severity: "warning", line: expect.stringContaining("is no standby at present") }] },
      ]);
    });
  });

  // The last: there is no way back.
  test("that was promoted is left alone", async () => {
    const database = setup.server();
    const { corpus } = await setup.seeded(database);
    await setup.untilRead(database, corpus);

    await setup.there.query(run(sql`select pg_promote()`));

    expect(await setup.readAt(database, corpus)).toBe(setup.primary.port);
    const unused = expect.objectContaining({ kind: "replica", state: "unused", reason: "other" });
    await vi.waitFor(() => expect(database.observed).toContainEqual(unused), MINUTE);
  });
});
