import { isObject, type Params } from "../../protocol/params.ts";
import { ensure, need, show } from "../outcome.ts";
import { check, clientRule, rule, section } from "../rule.ts";
import { hitsOf } from "../test-corpus.ts";

const UNITS = ["chunk", "passage", "document", "node", "triplet", "path", "subgraph", "community", "tree-node", "page"];
const OPTION_UNSUPPORTED = -32005;
const INVALID_PARAMS = -32602;

const unitsOf = ({ units }: Params): readonly unknown[] => (Array.isArray(units) ? units : ["chunk", "passage"]);

export const granularity = section(
  "7.7.2",
  "Granularity, token budget, confidence, sessions",
  [
    rule("unit", "MUST", "refuse a unit that is not advertised with -32005, as strict says"),
    rule("unit-echo", "MUST", "say the unit of each hit, where units are advertised"),
    rule("tokens", "SHOULD", "report in usage.tokens what it packed into tokenBudget"),
    rule("confidence", "MUST", "keep confidence in 0 to 1, and send it where it is advertised"),
    clientRule("no-confidence", "MUST NOT", "take score for normalised without the confidence flag"),
    clientRule("own-threshold", "SHOULD", "derive a threshold from the scores that came"),
    rule("session-id", "MUST", "answer correctly whatever sessionId says (§7.7.3)"),
    clientRule("session-hint", "MUST", "work when sessionId is ignored (§7.7.3)"),
  ],
  [
    check("unit", "a unit that is not advertised is refused with -32005", async (server) => {
      const advertised = unitsOf(await server.capability("retrieve"));
      const client = await server.shared();
      for (const unit of [...UNITS.filter((one) => !advertised.includes(one)).slice(0, 3), "unheard-of"])
        await client.refusal(
          "retrieve",
          { query: "x", k: 1, unit },
          OPTION_UNSUPPORTED,
          ...(unit === "unheard-of" ? [INVALID_PARAMS] : []),
        );
    }),
    check("unit-echo", "each advertised unit gives hits of that unit", async (server) => {
      const { units } = await server.capability("retrieve");
      need(Array.isArray(units), "no units are advertised");
      const { word } = await server.corpus.basic();
      for (const unit of units) {
        const hits = await server.corpus.find(await server.corpus.queryFor(word, { unit }));
        ensure(hits.length > 0, `unit ${show(unit)} finds nothing of ${word}`);
        ensure(
          hits.every((hit) => hit.unit === unit),
          `unit ${show(unit)} gave hits of unit ${show(hits.map((hit) => hit.unit))}`,
        );
      }
    }),
    check("unit-echo", "unit document gives each document once", async (server) => {
      const { units } = await server.capability("retrieve");
      need(Array.isArray(units) && units.includes("document"), "unit document is not advertised");
      const { word } = await server.corpus.basic();
      const hits = await server.corpus.find(await server.corpus.queryFor(word, { unit: "document" }));
      const documents = hits.map((hit) => server.corpus.documentOf(hit));
      ensure(new Set(documents).size === documents.length, "a document came twice");
    }),
    check("tokens", "a small tokenBudget gives fewer hits, and usage.tokens stays within it", async (server) => {
      const { tokenBudget } = await server.capability("retrieve");
      need(tokenBudget === true, "retrieve.tokenBudget is not advertised");
      const { word } = await server.corpus.basic();
      const client = await server.shared();
      const params = await server.corpus.queryFor(word);
      const all = await client.result("retrieve", { ...params, tokenBudget: 1_000_000 });
      const total = isObject(all.usage) ? Number(all.usage.tokens) : Number.NaN;
      ensure(Number.isFinite(total), "usage.tokens should report what was packed");
      const budget = Math.max(1, Math.floor(total / 2));
      const some = await client.result("retrieve", { ...params, tokenBudget: budget });
      const packed = isObject(some.usage) ? Number(some.usage.tokens) : Number.NaN;
      ensure(
        hitsOf(some.hits).length < hitsOf(all.hits).length,
        `half the tokens gave as many hits: ${hitsOf(some.hits).length}`,
      );
      ensure(
        packed <= budget || hitsOf(some.hits).length === 1,
        `a budget of ${budget} tokens was packed with ${packed}`,
      );
      for (const wrong of [0, -1, 1.5, "9"])
        await client.refusal("retrieve", { ...params, tokenBudget: wrong }, INVALID_PARAMS);
    }),
    check("confidence", "hits have a confidence where it is advertised, and none where it is not", async (server) => {
      const { confidence } = await server.capability("retrieve");
      const { word } = await server.corpus.basic();
      const hits = await server.corpus.find(await server.corpus.queryFor(word));
      const isRight = hits.every((hit) => (typeof hit.confidence === "number") === (confidence === true));
      ensure(
        isRight,
        `retrieve.confidence is ${show(confidence)}, and hits have confidence ${show(hits.map((hit) => hit.confidence))}`,
      );
    }),
    check(
      "session-id",
      "a sessionId that nobody knows is no error, and its first answer is the one without it",
      async (server) => {
        await server.capability("retrieve");
        const client = await server.shared();
        const params = { query: "the harbour", k: 5 };
        const { hits } = await client.result("retrieve", params);
        const { hits: inSession } = await client.result("retrieve", {
          ...params,
          sessionId: server.corpus.newId("session"),
        });
        const ids = (list: unknown) => show(hitsOf(list).map(({ id }) => id));
        ensure(ids(hits) === ids(inSession), "a new sessionId changed the hits");
      },
    ),
    check("session-id", "with session.dedup, a trajectory does not see a hit twice", async (server) => {
      const { dedup } = await server.capability("session");
      need(dedup === true, "session.dedup is not advertised");
      const { word } = await server.corpus.basic();
      const params = await server.corpus.queryFor(word, { k: 2, sessionId: server.corpus.newId("session") });
      const [first, second] = [await server.corpus.findIds(params), await server.corpus.findIds(params)];
      const again = second.filter((id) => first.includes(id));
      ensure(again.length === 0, `${again.length} of ${second.length} hits came a second time`);
    }),
  ],
);
