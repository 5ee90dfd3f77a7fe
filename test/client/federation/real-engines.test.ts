import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type FederationOptions, federate } from "../../../src/client/federation/federation.ts";
import { TinyServer } from "../../conformance/tiny-server.ts";
import { type Pgrcp, startPgrcp } from "../pgrcp-server.ts";
import { type RcpServer, startRcpServer } from "../rcp-server.ts";

/** Two corpora of pgrcp and a server that is not pgrcp, whose hits have ids and scores of their own and no chunk. */

let pgrcp: Pgrcp;
let foreign: RcpServer;
let isHanging = false;
let token: string;

beforeAll(async () => {
  pgrcp = await startPgrcp();
  await pgrcp.addCorpus("acme", "handbook", [
    { id: "returns", text: "A refund needs the receipt." },
    { id: "holidays", text: "Everybody has thirty days off." },
  ]);
  token = await pgrcp.server.token({ tenant: "acme" });

  const tiny = new TinyServer();
  const session = { initialized: false, done: false };
  foreign = await startRcpServer(({ body }, response) => {
    if (isHanging && body.method === "retrieve") return;
    response.setHeader("content-type", "application/json");
    response.end(tiny.handle(JSON.stringify(body), session).at(-1));
  });
  const documents = [
    { id: "refunds", text: "refund refund refund policies compared at some length, with a refund for everybody" },
    { id: "law", text: "the law of refund" },
  ];
  const ready = { initialized: true, done: false };
  tiny.handle(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "index/add", params: { documents } }), ready);
});
afterAll(() => Promise.all([pgrcp.close(), foreign.close()]));
beforeEach(() => {
  isHanging = false;
});

const MINUTE = 60_000;
const federation = (web: object, options: FederationOptions = {}) =>
  federate(
    {
      engines: [
        { id: "docs", url: pgrcp.url, token: "read" },
        { id: "handbook", url: pgrcp.url, corpus: "handbook", token: "read" },
        { id: "web", url: foreign.url, ...web },
      ],
    },
    { tokens: { read: token }, ...options },
  );
const origins = (hits: readonly { id: string; meta: { engine: string } }[]) =>
  hits.map(({ id, meta }) => `${meta.engine}/${id}`);

test("are asked as one: a document of two of them comes first, with the richest body and its place in each", async () => {
  const { hits, usage, _meta } = await federation({}).retrieve({ query: "refund", k: 4 }, { deadlineMs: MINUTE });

  expect(hits[0]).toMatchObject({
    ...{ id: "refunds", text: expect.stringMatching(/^refund refund/), meta: { engine: "web", title: "Refunds" } },
  });
  expect(hits[0]?.meta.engines.map(({ engine }) => engine)).toEqual(["docs", "web"]);
  // The last two are second in their lists, as docs/pay is: a tie, which goes to the smaller ids.
  expect(origins(hits)).toEqual(["web/refunds", "handbook/returns", "handbook/holidays", "web/law"]);
  expect(usage).toMatchObject({ strategy: { fusion: "rrf", engines: ["docs", "handbook", "web"] }, notes: [] });
  expect(_meta.degraded).toEqual([]);
});

test("answer without the one that hangs, which is named, within the deadline", async () => {
  isHanging = true;
  const asked = federation({ deadlineMs: 500 }).retrieve({ query: "refund", k: 4 }, { deadlineMs: MINUTE });

  const { hits, usage, _meta } = await asked;

  expect(_meta.degraded).toEqual([{ engine: "web", code: -32014 }]);
  expect(usage.notes).toEqual(["web: failed with -32014"]);
  expect(usage.latencyMs).toBeLessThan(MINUTE);
  expect(new Set(origins(hits))).toEqual(
    new Set(["docs/refunds", "docs/pay", "handbook/returns", "handbook/holidays"]),
  );
});

test("fail as a whole when the one that hangs is required", async () => {
  isHanging = true;
  const asked = federation({ deadlineMs: 500, required: true }).retrieve({ query: "refund" }, { deadlineMs: MINUTE });
  await expect(asked).rejects.toMatchObject({ code: -32014, engine: "web" });
});

test("say that nobody answered when the tokens are bad and the foreign one hangs", async () => {
  isHanging = true;
  const asked = federation({ deadlineMs: 500 }, { tokens: { read: "bad" } }).retrieve({ query: "refund" });
  await expect(asked).rejects.toMatchObject({
    code: -32010,
    failed: [
      { engine: "docs", code: -32012 },
      { engine: "handbook", code: -32012 },
      { engine: "web", code: -32014 },
    ],
  });
});

test("keep documents apart that have an id in common, where the engine is part of the key", async () => {
  const options: FederationOptions = { documentKey: (hit, engine) => `${engine}/${hit.id}` };
  const { hits } = await federation({}, options).retrieve({ query: "refund", k: 10 }, { deadlineMs: MINUTE });
  expect(origins(hits)).toEqual(expect.arrayContaining(["docs/refunds", "web/refunds"]));
});
