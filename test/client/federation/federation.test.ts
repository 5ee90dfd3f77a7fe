import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type EngineEntry, Federation, type FederationOptions } from "../../../src/client/federation/index.ts";
import { RcpCallError, renderHits } from "../../../src/client/index.ts";
import { type Pgrcp, startPgrcp } from "../pgrcp-server.ts";
import { type Answer, type RcpServer, sendError, sendResult, startRcpServer } from "../rcp-server.ts";

const servers: RcpServer[] = [];
afterAll(async () => {
  await Promise.all(servers.map((server) => server.close()));
});

/** An engine of another make: numbers for ids, and of a hit no more than RCP asks for. */
async function engine(retrieve: Answer, retrieveCapability: object | null = {}, name = "other"): Promise<RcpServer> {
  const capabilities = retrieveCapability === null ? { graph: {} } : { retrieve: retrieveCapability };
  const server = await startRcpServer((call, response, request) =>
    call.body.method === "info"
      ? sendResult(call, response, { protocolVersion: 1, server: { name, version: "1" }, capabilities })
      : retrieve(call, response, request),
  );
  servers.push(server);
  return server;
}

const gives =
  (...hits: object[]): Answer =>
  (call, response) =>
    sendResult(call, response, { hits });
const hangs: Answer = () => undefined;
const refuses =
  (code: number): Answer =>
  (call, response) =>
    sendError(call, response, code);

const federate = (engines: readonly EngineEntry[], more: Partial<FederationOptions> = {}) =>
  new Federation({ engines, client: { retry: { retries: 0 } }, ...more });
/** As long as an engine that answers may take on a busy machine; the tests in which one hangs wait for it together. */
const HANG_MS = 10_000;
const asked = (server: RcpServer) =>
  server.calls.filter(({ body }) => body.method === "retrieve").map(({ body }) => body);

describe("a federated retrieve", () => {
  test.concurrent("answers from those that answer, inside its deadline, and names the one that hangs", async () => {
    const one = await engine(gives({ id: 7, score: 0.5, text: "seven" }));
    const other = await engine(gives({ id: "8", score: 9 }, { id: "7", score: 3 }));
    const hanging = await engine(hangs);
    const federation = federate([
      { id: "one", url: one.url },
      { id: "other", url: other.url },
      { id: "hanging", url: hanging.url },
    ]);

    const result = await federation.retrieve({ query: "q", k: 2 }, { deadlineMs: HANG_MS });

    expect(result.hits.map(({ id, meta }) => [id, meta.engine, meta.engineRank])).toEqual([
      ["7", "one", 1],
      ["8", "other", 1],
    ]);
    expect(result._meta).toEqual({ degraded: ["hanging"] });
    expect(result.usage).toMatchObject({
      candidates: 3,
      strategy: { fusion: "rrf", engines: ["one", "other"] },
      notes: ["hanging failed: -32014"],
    });
    expect(renderHits(result.hits).text).toContain("| seven");
  });

  test("gives each engine less time than it has, twice the hits up to its most, and a hop budget", async () => {
    const one = await engine(gives(), { maxK: 15 });

    await federate([{ id: "one", url: one.url }]).retrieve(
      { query: "q", _meta: { traceId: "t" } },
      { deadlineMs: 60_000 },
    );

    const [sent] = asked(one);
    expect(sent?.params).toMatchObject({ k: 15, _meta: { traceId: "t", federation: { depth: 3, path: [] } } });
    const meta = sent?.params._meta as { deadlineMs: number } | undefined;
    expect(meta?.deadlineMs).toBeLessThanOrEqual(54_000);
  });

  test.concurrent("is not kept waiting by a token that does not come", async () => {
    const one = await engine(gives({ id: 1, score: 1 }));
    const engines = [one, one].map(({ url }, index) => ({ id: `e${index}`, url }));
    const federation = federate(engines, { tokens: { e1: () => new Promise<string>(() => {}) } });

    expect((await federation.retrieve({ query: "q" }, { deadlineMs: HANG_MS }))._meta).toEqual({ degraded: ["e1"] });
  });

  test("gives a token to its own engine and to no other", async () => {
    const [one, other] = [await engine(gives()), await engine(gives())];
    const engines = [one, other].map(({ url }, index) => ({ id: `e${index}`, url }));
    await federate(engines, { tokens: { e0: "secret" } }).retrieve({ query: "q" });
    expect(one.calls.every(({ headers }) => headers.authorization === "Bearer secret")).toBe(true);
    expect(other.calls.some(({ headers }) => headers.authorization !== undefined)).toBe(false);
  });

  test("passes over what does not retrieve, or lacks an option, without calling it degraded", async () => {
    const graph = await engine(gives(), null);
    const dense = await engine(gives(), { modes: ["dense"] });
    const good = await engine(gives({ id: 1, score: 1 }), { modes: ["dense", "sparse"] });
    const engines = Object.entries({ graph, dense, good }).map(([id, { url }]) => ({ id, url }));

    const result = await federate(engines).retrieve({ query: "q", mode: "sparse" });

    expect(result._meta).toBeUndefined();
    expect(result.usage.notes).toEqual(["graph skipped: retrieve", "dense skipped: retrieve.modes"]);
    expect([graph, dense, good].map((server) => asked(server).length)).toEqual([0, 0, 1]);
  });

  test("fails with a required engine's own code", async () => {
    const good = await engine(gives({ id: 1, score: 1 }));
    const broken = await engine(refuses(-32012));
    const engines = [
      { id: "good", url: good.url },
      { id: "broken", url: broken.url, required: true },
    ];
    await expect(federate(engines).retrieve({ query: "q" })).rejects.toMatchObject({ code: -32012 });
  });

  test.concurrent("fails with -32010 where nobody answered, which is not to have found nothing", async () => {
    const [none, broken, hanging] = [await engine(gives()), await engine(refuses(-32603)), await engine(hangs)];
    const failing = [
      { id: "broken", url: broken.url },
      { id: "hanging", url: hanging.url },
    ];

    const error = await federate(failing)
      .retrieve({ query: "q" }, { deadlineMs: HANG_MS })
      .catch((e: unknown) => e);

    expect(error).toBeInstanceOf(RcpCallError);
    expect(error).toMatchObject({ code: -32010, data: { detail: "broken failed: -32603; hanging failed: -32014" } });
    const engines = Object.entries({ none, broken }).map(([id, { url }]) => ({ id, url }));
    expect((await federate(engines).retrieve({ query: "q" })).hits).toEqual([]);
  });

  test("an engine whose answer is none fails alone", async () => {
    const [good, odd] = [await engine(gives({ id: 1, score: 1 })), await engine(gives({ id: 1 }))];
    const engines = Object.entries({ good, odd }).map(([id, { url }]) => ({ id, url }));
    expect((await federate(engines).retrieve({ query: "q" }))._meta).toEqual({ degraded: ["odd"] });
  });

  test("ends with the caller's signal", async () => {
    const abort = new AbortController();
    const hanging = await engine(() => abort.abort(new Error("enough")));
    const answer = federate([{ id: "a", url: hanging.url }]).retrieve({ query: "q" }, { signal: abort.signal });
    await expect(answer).rejects.toThrow("enough");
  });

  test("takes no more engines than it may ask at once", () => {
    const engines = Array.from({ length: 17 }, (_, n) => ({ id: `${n}`, url: "https://h/rcp" }));
    expect(() => federate(engines)).toThrow(RangeError);
    expect(() => federate(engines, { maxEngines: 17 })).not.toThrow();
    expect(() => federate([])).toThrow(RangeError);
  });
});

describe("an aggregator", () => {
  const forward = async (federation: object, identity: string | undefined = "gateway") => {
    const [docs, agg] = [await engine(gives({ id: 1, score: 1 })), await engine(gives(), {}, "docs-agg")];
    const engines = Object.entries({ docs, agg }).map(([id, { url }]) => ({ id, url }));
    const options = identity === undefined ? {} : { identity };
    const result = await federate(engines, options).retrieve({ query: "q", _meta: { federation } });
    return { result, sent: asked(docs)[0]?.params._meta, toAgg: asked(agg).length };
  };

  test("takes one from the budget and puts itself into the path", async () => {
    const { sent } = await forward({ depth: 2, path: ["client"] });
    expect(sent).toMatchObject({ federation: { depth: 1, path: ["client", "gateway"] } });
  });

  test("does not ask whom the question has been to", async () => {
    const { result, toAgg } = await forward({ depth: 3, path: ["docs-agg"] });
    expect(toAgg).toBe(0);
    expect(result.usage.notes).toEqual(["agg skipped: the question has been there"]);
  });

  test.each([
    ["that came back to it", { depth: 3, path: ["x", "gateway"] }],
    ["without hops left", { depth: 1, path: [] }],
    ["whose budget is none", { depth: "3", path: [] }],
  ])("forwards no question %s", async (_name, federation) => {
    await expect(forward(federation)).rejects.toMatchObject({ code: -32010 });
  });

  test("needs an identity to forward", async () => {
    const one = await engine(gives());
    const answer = federate([{ id: "a", url: one.url }]).retrieve({
      query: "q",
      _meta: { federation: { depth: 3, path: [] } },
    });
    await expect(answer).rejects.toBeInstanceOf(TypeError);
  });
});

describe("pgrcp among engines", () => {
  let pgrcp: Pgrcp;
  beforeAll(async () => {
    pgrcp = await startPgrcp();
  });
  afterAll(() => pgrcp.close());

  test("two of its corpora and one of another make are one answer, with each passage's engine, while a fourth hangs", async () => {
    const foreign = await engine(gives({ id: 1, score: 12, text: "Refunds abroad take a week." }));
    const hanging = await engine(hangs);
    const federation = federate(
      [
        { id: "acme", url: pgrcp.url },
        { id: "rival", url: pgrcp.url },
        { id: "foreign", url: foreign.url },
        { id: "hanging", url: hanging.url },
      ],
      {
        tokens: {
          acme: await pgrcp.server.token({ tenant: "acme" }),
          rival: await pgrcp.server.token({ tenant: "rival" }),
        },
      },
    );

    const result = await federation.retrieve({ query: "refunds" }, { deadlineMs: HANG_MS });

    // acme and rival have a document of the same id: one identity, and the longer text
    expect(result.hits.map(({ id, meta }) => [id, meta.engine]).sort()).toEqual([
      ["1", "foreign"],
      ["pay", "acme"],
      ["refunds", "rival"],
    ]);
    expect(result.hits[0]?.id).toBe("refunds");
    expect(result._meta).toEqual({ degraded: ["hanging"] });
    await federation.close();
  });
});
