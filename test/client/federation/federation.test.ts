import { afterEach, describe, expect, test } from "vitest";
import { type EngineFailure, type FederationOptions, federate } from "../../../src/client/federation/federation.ts";
import { heldUntil } from "../../support/held-until.ts";
import {
  type Answer,
  type RcpServer,
  type ReceivedCall,
  sendError,
  sendResult,
  startRcpServer,
} from "../rcp-server.ts";

/** Federations over real HTTP whose engines answer as each test says. */

const servers: RcpServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function serve(answer: Answer): Promise<RcpServer> {
  const server = await startRcpServer(answer);
  servers.push(server);
  return server;
}

const MINUTE = 60_000;
/** Of a call that is left: its own deadline would end it, too, a minute later. */
const BEFORE_ITS_END = { timeout: MINUTE / 2 };
const hit = (id: string) => ({ id, score: 1, text: id });
/** An engine that says what it offers; the rest is its own. */
const engine = (answer: Answer, capabilities: object = { retrieve: {} }): Promise<RcpServer> =>
  serve((call, response, request) =>
    call.body.method === "info"
      ? sendResult(call, response, { protocolVersion: 1, server: { name: "s", version: "1" }, capabilities })
      : answer(call, response, request),
  );
const finding =
  (...ids: string[]): Answer =>
  (call, response) =>
    sendResult(call, response, { hits: ids.map(hit) });
const failing =
  (code: number): Answer =>
  (call, response) =>
    sendError(call, response, code, { detail: "SECRET", retryable: false });
const hanging: Answer = () => undefined;

type Part = readonly [server: Pick<RcpServer, "url">, rest?: object];
const over = (parts: Readonly<Record<string, Part>>, options: FederationOptions = {}) =>
  federate({ engines: Object.entries(parts).map(([id, [{ url }, rest]]) => ({ id, url, ...rest })) }, options);
const asked = ({ calls }: RcpServer) => calls.map(({ body }) => body.method);
const metaOf = (call: ReceivedCall | undefined) => call?.body.params._meta as Record<string, unknown> | undefined;
const caught = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

describe("§16.2 fan-out", () => {
  test("every engine is asked for k with less than the caller's deadline, a hop budget and its own token", async () => {
    const [docs, web] = await Promise.all([engine(finding("a")), engine(finding("b"))]);
    const federation = over(
      { docs: [docs, { token: "read", deadlineMs: 50_000 }], web: [web] },
      { tokens: { read: "docs-token" } },
    );

    const params = { query: "q", _meta: { traceId: "t", progressToken: 1 } };
    const { hits, usage, _meta } = await federation.retrieve(params, { deadlineMs: MINUTE });

    expect(hits.map(({ id, meta }) => [id, meta.engine])).toEqual([
      ["a", "docs"],
      ["b", "web"],
    ]);
    expect(usage).toMatchObject({ candidates: 2, strategy: { fusion: "rrf", engines: ["docs", "web"] }, notes: [] });
    expect(_meta).toEqual({ degraded: [] });
    expect([asked(docs), asked(web)]).toEqual([
      ["info", "retrieve"],
      ["info", "retrieve"],
    ]);
    const [toDocs, toWeb] = [docs.calls[1], web.calls[1]];
    const deadlineMs = expect.any(Number);
    expect(toWeb?.body.params).toEqual({
      ...{ query: "q", k: 10 },
      _meta: { traceId: "t", federation: { depth: 3, path: [] }, deadlineMs },
    });
    expect(Number(metaOf(toWeb)?.deadlineMs)).toBeLessThanOrEqual(MINUTE - 250);
    expect(Number(metaOf(toDocs)?.deadlineMs)).toBeLessThanOrEqual(50_000);
    expect([toDocs?.headers.authorization, toWeb?.headers.authorization]).toEqual(["Bearer docs-token", undefined]);
  });

  test("what an engine offers is asked once, and what it lacks is not asked for", async () => {
    const [good, none, dense] = await Promise.all([
      engine(finding("a"), { retrieve: { modes: ["sparse"] } }),
      engine(finding("b"), { embed: {} }),
      engine(finding("c"), { retrieve: { modes: ["dense"] } }),
    ]);
    const federation = over({ good: [good], none: [none], dense: [dense] });

    await federation.retrieve({ query: "q", mode: "sparse" });
    const { hits, usage, _meta } = await federation.retrieve({ query: "q", mode: "sparse" });

    expect([asked(good), asked(none), asked(dense)]).toEqual([["info", "retrieve", "retrieve"], ["info"], ["info"]]);
    expect(hits.map(({ id }) => id)).toEqual(["a"]);
    expect(usage.notes.map((note) => note.split(":")[0])).toEqual(["none", "dense"]);
    expect(_meta.degraded).toEqual([]);
  });

  test("no more engines are asked at a time than allowed", async () => {
    const open = heldUntil(2);
    const slow: Answer = (call, response) => open.take(() => finding(call.path)(call, response, response.req));
    const five = await Promise.all([1, 2, 3, 4, 5].map(() => engine(slow)));
    const parts = Object.fromEntries(five.map((server, index) => [`e${index}`, [server]] as const));

    await over(parts, { concurrency: 2 }).retrieve({ query: "q" }, { deadlineMs: MINUTE });

    expect(open.most()).toBe(2);
    expect(five.map((server) => server.calls.length)).toEqual([2, 2, 2, 2, 2]);
  });

  test("of an aggregator among the engines it is noted that its own answer is thin", async () => {
    const thin: Answer = (call, response) =>
      sendResult(call, response, { hits: [hit("a")], _meta: { degraded: [{ engine: "x", code: -32014 }] } });
    const { usage } = await over({ agg: [await engine(thin)] }).retrieve({ query: "q" });
    expect(usage.notes).toEqual(["agg: some of its own engines did not answer"]);
  });

  test.each([
    ["k", { k: 0 }, -32602],
    ["cursor", { cursor: "c" }, -32005],
    ["indexVersion", { indexVersion: "v" }, -32005],
    ["tokenBudget", { tokenBudget: 9 }, -32005],
  ])("%s that cannot be federated is refused before anything is sent", async (name, rest, code) => {
    const server = await engine(finding("a"));
    const error = await caught(over({ docs: [server] }).retrieve({ query: "q", ...rest }));
    expect(error).toMatchObject({ code, data: code === -32602 ? { field: name } : { option: name } });
    expect(server.calls).toEqual([]);
  });
});

describe("§16.3 fusion", () => {
  const scored = (floor: number | undefined, ...scores: number[]) =>
    engine(
      (call, response) =>
        sendResult(call, response, { hits: scores.map((score) => ({ ...hit(`f${floor}-${score}`), score })) }),
      { retrieve: { scoreScale: "cosine", ...(floor !== undefined && { scoreFloor: floor }) } },
    );
  const fusedBy = async (...parts: RcpServer[]) => {
    const named = Object.fromEntries(parts.map((server, index) => [`e${index}`, [server]] as const));
    return (await over(named, { fusion: "convex" }).retrieve({ query: "q" })).usage;
  };

  test("is convex where every engine advertises a floor, and never goes by the scale alone", async () => {
    const [cosine, bm25, silent] = await Promise.all([scored(-1, 0.5), scored(0, 12, 3), scored(undefined, 0.7)]);
    expect(await fusedBy(cosine, bm25)).toMatchObject({ strategy: { fusion: "convex" }, notes: [] });
    const mixed = await fusedBy(cosine, silent);
    expect(mixed.strategy.fusion).toBe("rrf");
    expect(mixed.notes).toHaveLength(1);
  });

  test("takes numbers for ids, and hits that have nothing but id and score", async () => {
    const bare: Answer = (call, response) => sendResult(call, response, { hits: [{ id: 7, score: 2 }] });
    const { hits } = await over({ x: [await engine(bare)], y: [await engine(finding("7"))] }).retrieve({ query: "q" });
    expect(hits.map(({ id, meta }) => [id, meta.engine, meta.engines.length])).toEqual([["7", "y", 2]]);
  });
});

describe("§16.2 partial failure", () => {
  test("engines that fail, hang or cannot be reached are named with a code, and nothing they said is passed on", async () => {
    const seen: [EngineFailure, unknown][] = [];
    const federation = over(
      {
        good: [await engine(finding("a"))],
        broken: [await engine(failing(-32603))],
        slow: [await engine(hanging), { deadlineMs: 300 }],
        gone: [{ url: "http://127.0.0.1:1/rcp" }],
        deaf: [await serve(hanging), { deadlineMs: 300 }],
        odd: [await engine((call, response) => sendResult(call, response, { hits: "SECRET" }))],
      },
      { retry: { retries: 0 }, onFailure: (failure, error) => seen.push([failure, error]) },
    );

    const result = await federation.retrieve({ query: "q" }, { deadlineMs: MINUTE });

    expect(result.hits.map(({ id }) => id)).toEqual(["a"]);
    expect(result._meta.degraded).toEqual([
      { engine: "broken", code: -32603 },
      { engine: "slow", code: -32014 },
      { engine: "gone", code: -32010 },
      { engine: "deaf", code: -32014 },
      { engine: "odd", code: -32010 },
    ]);
    expect(result.usage.notes[0]).toBe("broken: failed with -32603");
    expect(JSON.stringify(result)).not.toContain("SECRET");
    expect(result.usage.latencyMs).toBeLessThan(MINUTE);
    expect(seen.map(([{ engine: id }]) => id).sort()).toEqual(["broken", "deaf", "gone", "odd", "slow"]);
    expect(seen.find(([{ engine: id }]) => id === "broken")?.[1]).toMatchObject({ data: { detail: "SECRET" } });
  });

  test("a token that does not come in time costs its engine its place, and nobody else", async () => {
    const [good, slow] = await Promise.all([engine(finding("a")), engine(finding("b"))]);
    const federation = over(
      { good: [good], slow: [slow, { token: "never", deadlineMs: 50 }] },
      { tokens: { never: () => new Promise(() => {}) } },
    );
    const { _meta } = await federation.retrieve({ query: "q" }, { deadlineMs: MINUTE });
    expect(_meta.degraded).toEqual([{ engine: "slow", code: -32014 }]);
    expect(slow.calls).toEqual([]);
  });

  test("no hits are an answer; no engine that answered is -32010, naming all", async () => {
    const [empty, broken, limited] = await Promise.all([
      engine(finding()),
      engine(failing(-32012)),
      engine(failing(-32011)),
    ]);
    const options = { retry: { retries: 0 } };
    expect(await over({ empty: [empty], broken: [broken] }, options).retrieve({ query: "q" })).toMatchObject({
      ...{ hits: [], _meta: { degraded: [{ engine: "broken", code: -32012 }] } },
    });
    const failed = await caught(over({ broken: [broken], limited: [limited] }, options).retrieve({ query: "q" }));
    expect(failed).toMatchObject({
      ...{ name: "FederationError", code: -32010, data: { retryable: true } },
      failed: [
        { engine: "broken", code: -32012 },
        { engine: "limited", code: -32011 },
      ],
    });
    expect(String(failed)).not.toContain("SECRET");
    expect(await caught(over({ broken: [broken] }, options).retrieve({ query: "q" }))).toMatchObject({
      ...{ code: -32010, data: { retryable: false } },
    });
  });

  test("no time to ask anybody is no answer, and nothing is sent", async () => {
    const server = await engine(finding("a"));
    expect(await caught(over({ docs: [server] }).retrieve({ query: "q" }, { deadlineMs: 1 }))).toMatchObject({
      ...{ code: -32010, failed: [{ engine: "docs", code: -32014 }] },
    });
    expect(server.calls).toEqual([]);
  });

  test(
    "a required engine's failure is the whole's, with its code, and ends the calls of all others",
    BEFORE_ITS_END,
    async () => {
      const left = Promise.withResolvers<void>();
      const waiting = Promise.withResolvers<void>();
      const slow = await engine((_, response) => {
        response.on("close", () => left.resolve());
        waiting.resolve();
      });
      const core = await engine(async (...args) => {
        await waiting.promise;
        await failing(-32012)(...args);
      });

      const error = await caught(
        over({ core: [core, { required: true }], slow: [slow] }).retrieve({ query: "q" }, { deadlineMs: MINUTE }),
      );

      expect(error).toMatchObject({
        name: "FederationError",
        code: -32012,
        engine: "core",
        data: { retryable: false },
      });
      expect(String(error)).not.toContain("SECRET");
      await left.promise;
    },
  );

  test.each([
    ["does not come", hanging, { retrieve: {} }, 300, -32014],
    ["has no retrieve", finding("b"), {}, MINUTE, -32003],
    ["has no such mode", finding("b"), { retrieve: { modes: ["dense"] } }, MINUTE, -32005],
  ])(
    "a required engine whose answer %s is missed with a code of its own",
    async (_, answer, capabilities, deadlineMs, code) => {
      const core = await engine(answer, capabilities);
      const parts = { web: [await engine(finding("a"))], core: [core, { required: true, deadlineMs }] } as const;
      const options = { deadlineMs: MINUTE };
      expect(await caught(over(parts).retrieve({ query: "q", mode: "sparse" }, options))).toMatchObject({ code });
    },
  );
});

test("cancelling ends every engine's call at once, and nobody is asked any more", BEFORE_ITS_END, async () => {
  const stop = new AbortController();
  const ended: Promise<void>[] = [];
  const slow: Answer = (_, response) => {
    ended.push(new Promise((resolve) => response.on("close", resolve)));
    if (ended.length === 2) stop.abort(new Error("enough"));
  };
  const [one, two, third] = await Promise.all([engine(slow), engine(slow), engine(slow)]);
  const federation = over({ one: [one], two: [two], third: [third] }, { concurrency: 2 });

  const options = { signal: stop.signal, deadlineMs: MINUTE };
  expect(await caught(federation.retrieve({ query: "q" }, options))).toBe(stop.signal.reason);

  await Promise.all(ended);
  expect(third.calls).toEqual([]);
  expect(await caught(federation.retrieve({ query: "q" }, options))).toBe(stop.signal.reason);
});

describe("§16.2 loops", () => {
  /** An aggregator on HTTP: what it is asked, it asks its own engines. */
  async function aggregator(identity: string, parts: () => Readonly<Record<string, Part>>) {
    return engine(async (call, response) => {
      const { query, _meta } = call.body.params as { query: string; _meta: Record<string, unknown> };
      try {
        const federation = over(parts(), { identity, retry: { retries: 0 } });
        sendResult(call, response, await federation.retrieve({ query, _meta }, { deadlineMs: MINUTE }));
      } catch (error) {
        sendError(call, response, (error as { code: number }).code);
      }
    });
  }
  const retrieves = ({ calls }: RcpServer) => calls.filter(({ body }) => body.method === "retrieve");
  const pathsTo = (server: RcpServer) =>
    retrieves(server).map((call) => (metaOf(call) as { federation: { path: string[] } }).federation.path);

  test.each([
    ["and is skipped, where the other knows it by its identity", "alpha", []],
    ["and does not pass it on, where the other knows it by another name", "a-friend", [[], ["alpha", "beta"]]],
  ])(
    "a federation that lists itself through another hears of a request once %s",
    async (_, alphaInBeta, secondTime) => {
      const leaf = await engine(finding("leaf"));
      const alpha: RcpServer = await aggregator("alpha", () => ({ leaf: [leaf], beta: [beta] }));
      const beta: RcpServer = await aggregator("beta", () => ({ [alphaInBeta]: [alpha] }));

      const { hits, usage } = await over({ gate: [alpha] }).retrieve({ query: "q" }, { deadlineMs: MINUTE });

      expect(hits.map(({ id, meta }) => [id, meta.engine])).toEqual([["leaf", "gate"]]);
      expect(usage.notes).toEqual(["gate: some of its own engines did not answer"]);
      expect(pathsTo(leaf)).toEqual([["alpha"]]);
      expect(pathsTo(beta)).toEqual([["alpha"]]);
      expect(pathsTo(alpha)).toEqual(secondTime.length === 0 ? [[]] : secondTime);
    },
  );

  test("a chain ends where the hops do, however many aggregators there are", async () => {
    const leaf = await engine(finding("leaf"));
    const last = await aggregator("last", () => ({ leaf: [leaf] }));
    const first = await aggregator("first", () => ({ last: [last] }));
    const ask = (hopBudget: number) => caught(over({ first: [first] }, { hopBudget }).retrieve({ query: "q" }));

    expect(await ask(2)).toMatchObject({ code: -32010 });
    expect(leaf.calls).toEqual([]);
    expect(await ask(3)).toBeUndefined();
    expect(pathsTo(leaf)).toEqual([["first", "last"]]);
  });

  test("who passes a request on without an identity is told so", async () => {
    const federation = over({ docs: [await engine(finding("a"))] });
    const params = { query: "q", _meta: { federation: { depth: 2, path: [] } } };
    await expect(federation.retrieve(params)).rejects.toThrow(TypeError);
  });
});
