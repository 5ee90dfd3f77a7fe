import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { DEFAULT_CORPUS } from "../../src/catalog/corpus.ts";
import type { EmbeddingModel } from "../../src/models/embedding.ts";
import { ErrorCode } from "../../src/protocol/errors.ts";
import { sql } from "../../src/sql/sql.ts";
import { accessTo } from "../support/access.ts";
import { callerOf, freshTenant } from "../support/method-caller.ts";
import { place } from "../support/placing.ts";
import { AT, HAS_CLUSTERS, openReplicated, type Replicated } from "../support/postgres/replicated.ts";
import { testEmbeddingModel } from "../support/test-embedding.ts";
import { limits, rows, run } from "./rows.ts";

/** What is read from a standby, and what is not. */

const MINUTE = 60_000;
/** A number's point is any, and always the same. */
const BY_NUMBER: EmbeddingModel = {
  ...testEmbeddingModel({ dimension: 8, identity: "test-by-number" }),
  embed: async (texts) =>
    texts.map((text) => {
      const point = Array.from({ length: 8 }, (_, axis) => Math.sin(Number(text) * (axis + 1) * 12.9898 + axis));
      return Float32Array.from(point, (x) => x / Math.hypot(...point));
    }),
};

describe.runIf(HAS_CLUSTERS)("a replica", { timeout: 3 * MINUTE }, () => {
  let setup: Replicated;
  beforeAll(async () => {
    setup = await openReplicated();
  }, 2 * MINUTE);
  afterAll(() => setup?.close(), 2 * MINUTE);

  test("answers reads of a corpus, and the primary all others", async () => {
    const database = setup.server();
    const { corpus, tenantId } = await setup.seeded(database);
    await setup.untilRead(database, corpus);

    expect(await database.read("reader", accessTo(tenantId), [AT], limits())).toEqual([[{ port: setup.primary.port }]]);
    expect(await database.read("state", accessTo(tenantId), [AT], limits())).toEqual([[{ port: setup.primary.port }]]);
    expect(database.observed).toContainEqual(expect.objectContaining({ kind: "replica", state: "used" }));
  });

  test("that lacks a write is passed over by the process that made it, and read by others unless they name its version", async () => {
    const [writing, reading] = [setup.server(), setup.server()];
    const { tenantId, caller, corpus } = await setup.seeded(writing);
    const other = callerOf(reading, tenantId);
    await Promise.all([setup.untilRead(writing, corpus), setup.untilRead(reading, corpus)]);
    await setup.pause();

    const { _meta } = await caller.add([{ id: "second", text: "amber amber" }]);

    expect((await caller.ids({})).sort()).toEqual(["first", "second"]);
    expect(await other.ids({})).toEqual(["first"]);
    expect((await other.ids({ indexVersion: _meta.indexVersion })).sort()).toEqual(["first", "second"]);
    // It has met the version by now, and goes back behind it no more.
    expect((await other.ids({})).sort()).toEqual(["first", "second"]);
    expect(await caller.delete(["first"])).toBe(1);
    expect(await caller.ids({})).toEqual(["second"]);
    await setup.resume();
    await setup.untilRead(writing, corpus);
    expect(await caller.ids({})).toEqual(["second"]);
  });

  test("that lacks the version of a cursor does not answer its page", async () => {
    const [writing, reading] = [setup.server(), setup.server()];
    const { tenantId, caller, corpus } = await setup.seeded(writing);
    await setup.untilRead(reading, corpus);
    await setup.pause();
    await caller.add(["a", "b", "c"].map((id) => ({ id, text: `${id} amber` })));
    const first = await caller.retrieve({ k: 2 });

    const second = await callerOf(reading, tenantId).retrieve({ k: 2, cursor: first.nextCursor });

    const ids = [...first.hits, ...second.hits].map(({ id }) => id);
    expect(ids.toSorted()).toEqual(["a", "b", "c", "first"]);
    expect(second.indexVersion).toBe(first.indexVersion);
  });

  test("answers a pinned read once it has the version, and a version that is nowhere has the one answer", async () => {
    const [writing, reading] = [setup.server(), setup.server()];
    const { tenantId, corpus, token } = await setup.seeded(writing);
    await setup.untilRead(reading, corpus);

    expect(await setup.readAt(reading, corpus, token)).toBe(setup.standby.port);
    expect(await setup.readAt(reading, corpus, "no-such-version")).toBe(setup.primary.port);
    await expect(callerOf(reading, tenantId).ids({ indexVersion: "no-such-version" })).rejects.toMatchObject({
      code: ErrorCode.BackendUnavailable,
      data: { retryable: false },
    });
  });

  test("that has a corpus elsewhere than its chunks are now is passed over, and its hits are not lost", async () => {
    const [writing, reading] = [setup.server(), setup.server()];
    const { tenantId, corpus } = await setup.seeded(writing);
    await setup.untilRead(reading, corpus);
    await setup.pause();
    const isAt = (placement: string, from: string | null) =>
      setup.opened.admin.query(
        run(
          sql`update pgrcp.corpora set placement = ${placement}, moving_from = ${from} where tenant_id = ${tenantId}`,
        ),
      );
    await isAt("p_1", "shared");
    onTestFinished(async () => {
      await isAt("shared", null);
    });

    expect(await setup.readAt(reading, { ...corpus, placement: "p_1", movingFrom: "shared" })).toBe(setup.primary.port);
    expect(await callerOf(reading, tenantId).ids({})).toEqual(["first"]);
  });

  test("walks the graph of a large corpus, and finds what the primary finds", async () => {
    const [writing, reading] = [setup.server(), setup.server()];
    const config = { retrieval: { ownPartitionFrom: 300, maxNearDuplicates: 0, graph: { exactUpTo: 100 } } };
    const tenantId = freshTenant();
    const ids = Array.from({ length: 400 }, (_, index) => String(index));
    for (let from = 0; from < ids.length; from += 100) {
      const documents = ids.slice(from, from + 100).map((id) => ({ id, text: id }));
      await callerOf(writing, tenantId, { config, embedding: BY_NUMBER }).add(documents);
    }
    await place(setup.opened, { settings: { ownPartitionFrom: 300 } });
    const caller = callerOf(reading, tenantId, { config, embedding: BY_NUMBER });
    const corpus = await caller.services.corpora.find("reader", accessTo(tenantId), DEFAULT_CORPUS, limits());
    if (corpus === undefined) throw new Error("the corpus is not there");
    await setup.untilRead(reading, corpus);
    const before = reading.observed.length;

    const question = { mode: "dense", k: 10, query: "123" };
    const answer = await caller.retrieve(question);

    expect(answer.usage.strategy.dense).toMatchObject({ search: "graph" });
    expect(answer.hits[0]?.id).toBe("123");
    const there = await callerOf(setup.opened.database, tenantId, { config, embedding: BY_NUMBER }).retrieve(question);
    expect(answer.hits).toEqual(there.hits);
    expect(reading.observed.slice(before)).toEqual([]);
  });

  test("shows a caller nothing of another tenant, whatever is asked, and nothing at all without the credential", async () => {
    const database = setup.server();
    const [mine, theirs] = [await setup.seeded(database), await setup.seeded(database)];
    await Promise.all([setup.untilRead(database, mine.corpus), setup.untilRead(database, theirs.corpus)]);
    const everything = rows<{ tenant: string; port: number }>(
      sql`select tenant_id as tenant, inet_server_port() as port from pgrcp.documents`,
    );
    const own = [[{ tenant: mine.tenantId, port: setup.standby.port }]];

    expect(await database.readCorpus({ corpus: mine.corpus }, accessTo(mine.tenantId), [everything], limits())).toEqual(
      own,
    );
    // Another tenant's corpus is not there to be found.
    const crossed = database.readCorpus({ corpus: theirs.corpus }, accessTo(mine.tenantId), [everything], limits());
    expect(await crossed).toEqual([[{ tenant: mine.tenantId, port: setup.primary.port }]]);
    const none = { tenantId: mine.tenantId, credentials: new Set([]) };
    await expect(database.readCorpus({ corpus: mine.corpus }, none, [everything], limits())).rejects.toMatchObject({
      code: ErrorCode.Unauthorized,
    });
  });

  test("takes no write, and has the settings and the rights of the reader's login", async () => {
    const database = setup.server();
    const { corpus } = await setup.seeded(database);
    await setup.untilRead(database, corpus);
    const setting = rows<{ value: string; port: number }>(
      sql`select current_setting(name) as value, inet_server_port() as port from unnest(${[
        "default_transaction_read_only",
        "transaction_isolation",
        "enable_seqscan",
        "plan_cache_mode",
        "statement_timeout",
      ]}::text[]) name`,
    );

    const [found] = await database.readCorpus({ corpus }, accessTo(corpus.tenantId), [setting], limits());

    const { port } = setup.standby;
    expect(found.slice(0, 4)).toEqual(
      ["on", "repeatable read", "off", "force_custom_plan"].map((value) => ({ value, port })),
    );
    // Half of what the caller has, so that the primary has as much.
    expect(found[4]).toEqual({ value: "5s", port });
    const write = run(sql`delete from pgrcp.documents where tenant_id = ${corpus.tenantId}`);
    await expect(database.readCorpus({ corpus }, accessTo(corpus.tenantId), [write], limits())).rejects.toThrow();
  });
});
