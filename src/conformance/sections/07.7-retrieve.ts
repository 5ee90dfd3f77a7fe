import { isObject, type Params } from "../../protocol/params.ts";
import { ensure, need, show } from "../outcome.ts";
import { check, rule, section, untried } from "../rule.ts";
import type { ServerUnderTest } from "../server-under-test.ts";
import { hitsOf } from "../test-corpus.ts";

const INVALID_PARAMS = -32602;
const OPTION_UNSUPPORTED = -32005;
/** As many as are added to go beyond maxK. */
const MAX_DOCUMENTS = 500;
const MODES = ["dense", "sparse", "hybrid"];
const FUSION = ["rrf", "weighted", "convex"];

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Some words that find something wherever there is anything. */
async function words(server: ServerUnderTest): Promise<string> {
  return (await server.corpus.basic().catch(() => undefined))?.word ?? "the";
}

async function retrieve(server: ServerUnderTest, params: Params): Promise<readonly Params[]> {
  const client = await server.shared();
  return hitsOf((await client.result("retrieve", params)).hits);
}

/** Values of an option that no server needs to have, less those that this one advertises. */
async function refuseOption(server: ServerUnderTest, option: string, others: readonly Params[]): Promise<void> {
  need(others.length > 0, `every ${option} is advertised`);
  const client = await server.shared();
  for (const params of others) {
    const { data } = await client.refusal("retrieve", { query: "x", k: 1, ...params }, OPTION_UNSUPPORTED);
    ensure(data.option === undefined || typeof data.option === "string", "error.data.option must be a string");
  }
}

export const retrieveSection = section(
  "7.7",
  "retrieve",
  [
    rule("options", "MUST", "take or refuse options only as advertised"),
    rule("within", "MUST", "honour options only within its capabilities"),
    rule("usage", "SHOULD", "say in usage what it did"),
    rule("unsupported", "MUST", "refuse an unsupported mode or method with -32005"),
    rule("strict-default", "MUST", "be strict when strict is absent"),
    rule("funnel", "MUST", "hold candidateK ≥ rerank.topN ≥ k"),
    rule("clamp", "MUST", "clamp sizes to maxK and maxCandidates"),
    rule("usage-counts", "SHOULD", "report candidates and reranked in usage"),
    rule("at-most-k", "MUST NOT", "return more than k hits"),
    rule("malformed", "MUST", "refuse malformed params with -32602 (§14.1)"),
    untried("hit-shape", "MUST", "give hits their shape", "tried with every hit of every other check"),
  ],
  [
    check("at-most-k", "there are never more than k hits", async (server) => {
      await server.capability("retrieve");
      const query = await words(server);
      for (const k of [1, 2, 3]) {
        const hits = await retrieve(server, { query, k });
        ensure(hits.length <= k, `k ${k} gave ${hits.length} hits`);
      }
    }),
    check("at-most-k", "a larger k begins with the hits of a smaller one", async (server) => {
      const { word } = await server.corpus.basic();
      const params = await server.corpus.queryFor(word);
      const [few, many] = [await retrieve(server, { ...params, k: 2 }), await retrieve(server, { ...params, k: 5 })];
      ensure(few.length === 2, `6 documents have the word, and k 2 gave ${few.length} hits`);
      ensure(
        show(many.slice(0, 2).map(({ id }) => id)) === show(few.map(({ id }) => id)),
        "the first hits change with k",
      );
    }),
    check("clamp 12/clamp", "k and candidateK above every limit are clamped, not refused", async (server) => {
      const { maxK } = await server.capability("retrieve");
      const query = await words(server);
      const above = typeof maxK === "number" ? maxK + 1 : 100_000;
      for (const params of [
        { k: above },
        { k: above, candidateK: above },
        { k: 2 ** 31 },
        { k: 1, candidateK: 2 ** 31 },
      ]) {
        const hits = await retrieve(server, { query, ...params });
        ensure(
          typeof maxK !== "number" || hits.length <= maxK,
          `${show(params)} gave ${hits.length} hits, above maxK ${show(maxK)}`,
        );
      }
    }),
    check("clamp 15.5/enforce", "where more than maxK documents match, maxK hits come", async (server) => {
      const { maxK } = await server.capability("retrieve");
      need(typeof maxK === "number" && maxK <= MAX_DOCUMENTS, "maxK is not reached with a few documents");
      const { corpus } = server;
      await corpus.adder();
      const word = corpus.newWord();
      const documents = Array.from({ length: maxK + 5 }, (_, index) => ({
        id: corpus.newId("many"),
        text: `${word} ${index}`,
      }));
      for (let from = 0; from < documents.length; from += 50) await corpus.add(documents.slice(from, from + 50));
      await corpus.untilFound(word, Math.min(maxK, 20));
      const hits = await corpus.find(await corpus.queryFor(word, { k: maxK + 5 }));
      ensure(
        hits.length === maxK,
        `${documents.length} documents match, maxK is ${maxK}, and ${hits.length} hits came`,
      );
    }),
    check("malformed 12/clamp", "k of 0, below it, or no integer is refused with -32602", async (server) => {
      await server.capability("retrieve");
      const client = await server.shared();
      for (const k of [0, -1, -(2 ** 31), 1.5, "3", [3], {}])
        await client.refusal("retrieve", { query: "x", k }, INVALID_PARAMS);
    }),
    check(
      "malformed",
      "a query that is missing, null, a number or a list of numbers is refused with -32602",
      async (server) => {
        await server.capability("retrieve");
        const client = await server.shared();
        for (const params of [{}, { query: null }, { query: 5 }, { query: [5] }, { query: true }])
          await client.refusal("retrieve", { ...params, k: 1 }, INVALID_PARAMS);
      },
    ),
    check("malformed", "options of the wrong type are refused", async (server) => {
      await server.capability("retrieve");
      const client = await server.shared();
      const wrong = [
        { mode: 5 },
        { minScore: "0" },
        { fusion: "rrf" },
        { filter: "lang" },
        { candidateK: 0 },
        { candidateK: "10" },
        { seed: "x" },
        { indexVersion: 5 },
      ];
      for (const params of wrong)
        await client.refusal("retrieve", { query: "x", k: 1, ...params }, INVALID_PARAMS, OPTION_UNSUPPORTED);
    }),
    check("funnel 3.3/funnel", "candidateK below k is refused with -32602", async (server) => {
      await server.capability("retrieve");
      const client = await server.shared();
      await client.refusal("retrieve", { query: "x", k: 5, candidateK: 4 }, INVALID_PARAMS);
      await client.result("retrieve", { query: "x", k: 5, candidateK: 5 });
    }),
    check("funnel 3.3/funnel", "rerank.topN below k or above candidateK is refused", async (server) => {
      const { rerankBuiltin } = await server.capability("retrieve");
      const client = await server.shared();
      const codes = rerankBuiltin === true ? [INVALID_PARAMS] : [INVALID_PARAMS, OPTION_UNSUPPORTED];
      await client.refusal("retrieve", { query: "x", k: 5, rerank: { topN: 4 } }, ...codes);
      await client.refusal("retrieve", { query: "x", k: 2, candidateK: 5, rerank: { topN: 6 } }, ...codes);
    }),
    check("within options", "every advertised mode and fusion answers", async (server) => {
      const { modes, fusion } = await server.capability("retrieve");
      const query = await words(server);
      for (const mode of listOf(modes)) await retrieve(server, { query, k: 3, mode });
      if (!listOf(modes).includes("hybrid")) return;
      for (const method of listOf(fusion)) await retrieve(server, { query, k: 3, mode: "hybrid", fusion: { method } });
    }),
    check("unsupported options", "a mode that is not advertised is refused with -32005", async (server) => {
      const { modes } = await server.capability("retrieve");
      const others = MODES.filter((mode) => !listOf(modes).includes(mode));
      const known = Array.isArray(modes) ? others : [];
      await refuseOption(
        server,
        "mode",
        [...known, "unheard-of", "constructor"].map((mode) => ({ mode })),
      );
    }),
    check("unsupported options", "a fusion method that is not advertised is refused with -32005", async (server) => {
      const { modes, fusion } = await server.capability("retrieve");
      need(listOf(modes).includes("hybrid"), "no hybrid mode is advertised");
      const known = Array.isArray(fusion) ? FUSION.filter((method) => !fusion.includes(method)) : [];
      await refuseOption(
        server,
        "fusion",
        [...known, "unheard-of"].map((method) => ({ mode: "hybrid", fusion: { method } })),
      );
    }),
    check("unsupported strict-default", "strict true is what is meant when strict is absent", async (server) => {
      await server.capability("retrieve");
      const client = await server.shared();
      for (const strict of [{}, { strict: true }])
        await client.refusal("retrieve", { query: "x", k: 1, mode: "unheard-of", ...strict }, OPTION_UNSUPPORTED);
    }),
    check("usage", "what strict false left out is noted in usage.notes", async (server) => {
      await server.capability("retrieve");
      const client = await server.shared();
      const { result, error } = await client.call("retrieve", { query: "x", k: 1, mode: "unheard-of", strict: false });
      need(isObject(result), "this server refuses all the same, which it may");
      const usage = isObject(result.usage) ? result.usage : {};
      ensure(
        error === undefined && listOf(usage.notes).length > 0,
        "a mode was passed over without a note in usage.notes",
      );
    }),
    check(
      "usage usage-counts 17/usage",
      "usage reports candidates, at least as many as there are hits",
      async (server) => {
        const { rerankBuiltin } = await server.capability("retrieve");
        const client = await server.shared();
        const { usage, hits } = await client.result("retrieve", { query: await words(server), k: 3 });
        ensure(
          isObject(usage) && typeof usage.candidates === "number",
          `usage should report candidates, not ${show(usage)}`,
        );
        ensure(
          usage.candidates >= hitsOf(hits).length,
          `${hitsOf(hits).length} hits came from ${usage.candidates} candidates`,
        );
        ensure(rerankBuiltin !== true || typeof usage.reranked === "number", "usage should report reranked");
      },
    ),
    check("14.2/min-score", "minScore keeps hits below it out", async (server) => {
      const { word } = await server.corpus.basic();
      const params = await server.corpus.queryFor(word);
      const all = await retrieve(server, params);
      const minScore = Number(all[Math.floor(all.length / 2)]?.score);
      const some = await retrieve(server, { ...params, minScore });
      ensure(
        some.length > 0 && some.every(({ score }) => Number(score) >= minScore),
        `minScore ${minScore} let ${show(some.map(({ score }) => score))} through`,
      );
      const none = await retrieve(server, { ...params, minScore: Number(all[0]?.score) + 1e6 });
      ensure(none.length === 0, `a minScore above the best score gave ${none.length} hits`);
    }),
    check("options", "includeText false leaves texts out; they are there without it", async (server) => {
      const { word } = await server.corpus.basic();
      const params = await server.corpus.queryFor(word);
      ensure(
        (await retrieve(server, params)).every((hit) => typeof hit.text === "string" || Array.isArray(hit.content)),
        "a hit has no body",
      );
      ensure(
        (await retrieve(server, { ...params, includeText: false })).every((hit) => (hit.text ?? "") === ""),
        "includeText false left a text in",
      );
    }),
    check(
      "options",
      "includeVectors gives every hit a vector of one length, or is refused with -32005",
      async (server) => {
        const { word } = await server.corpus.basic();
        const client = await server.shared();
        const { result, error } = await client.call("retrieve", {
          ...(await server.corpus.queryFor(word)),
          includeVectors: true,
        });
        if (!isObject(result))
          return ensure(
            isObject(error) && error.code === OPTION_UNSUPPORTED,
            `includeVectors was refused with ${show(error)}`,
          );
        const lengths = new Set(hitsOf(result.hits).map(({ vector }) => listOf(vector).length));
        ensure(lengths.size === 1 && !lengths.has(0), `vectors have ${show([...lengths])} numbers`);
      },
    ),
    check(
      "options malformed",
      "mmr.lambda outside 0 to 1 is refused; inside it, mmr answers where it is advertised",
      async (server) => {
        const { mmr } = await server.capability("retrieve");
        const client = await server.shared();
        for (const lambda of [-0.1, 1.1, "x"])
          await client.refusal("retrieve", { query: "x", k: 1, mmr: { lambda } }, INVALID_PARAMS, OPTION_UNSUPPORTED);
        if (mmr === true)
          for (const lambda of [0, 0.5, 1])
            await client.result("retrieve", { query: await words(server), k: 3, mmr: { lambda } });
        else await client.refusal("retrieve", { query: "x", k: 1, mmr: { lambda: 0.5 } }, OPTION_UNSUPPORTED);
      },
    ),
    check(
      "unsupported options",
      "rerank false is always taken; rerank in retrieve is refused with -32005 where it is not advertised",
      async (server) => {
        const { rerankBuiltin } = await server.capability("retrieve");
        const client = await server.shared();
        await client.result("retrieve", { query: "x", k: 1, rerank: false });
        if (rerankBuiltin === true)
          await client.refusal("retrieve", { query: "x", k: 1, rerank: { method: "unheard-of" } }, OPTION_UNSUPPORTED);
        else
          await client.refusal(
            "retrieve",
            { query: "x", k: 1, rerank: { method: "cross-encoder" } },
            OPTION_UNSUPPORTED,
          );
      },
    ),
  ],
);
