import { isDeepStrictEqual } from "node:util";
import { isObject } from "../../protocol/params.ts";
import { ensure, need, show } from "../outcome.ts";
import { check, clientRule, rule, section, untried } from "../rule.ts";
import { hitsOf } from "../test-corpus.ts";

const INVALID_PARAMS = -32602;
const OPTION_UNSUPPORTED = -32005;

/** Scripts, a right-to-left text, an emoji with joiners, a combining mark, the last code point, what JSON escapes. */
const UNICODE = [
  "量子コンピュータ",
  "हिन्दी पाठ",
  "שלום עולם",
  "👩‍👩‍👧‍👦 🇺🇳",
  "e\u0301 \u{10FFFF}",
  'quote " backslash \\ newline \n tab \t',
];

export const dataTypes = section(
  "4.6",
  "Data types",
  [
    rule("integers", "MUST", "send integers as JSON numbers within 53 bits, and take no others"),
    rule("integers-no-strings", "MUST NOT", "send an integer as a string"),
    rule("finite", "MUST NOT", "send NaN or Infinity"),
    untried(
      "sentinel",
      "MUST",
      "put a finite number in the place of one that is not",
      "what a server would have sent is not seen; every number that comes is checked to be finite",
    ),
    rule("unicode", "MUST", "take all of Unicode in query and text"),
    rule("not-ascii", "MUST NOT", "assume ASCII"),
    rule("null-absent", "MUST", "treat null as absent where no schema allows it"),
    rule("omit-null", "SHOULD", "leave an optional member out rather than send null"),
    rule("booleans", "MUST", "take true and false alone as booleans"),
    rule("enums", "MUST", "compare enum values with their case"),
    rule("date-type", "SHOULD", "declare a filter field that holds a time as date"),
    rule("date-compare", "MUST", "compare dates consistently; tried in §8"),
    rule("scores", "MUST", "order hits so that a higher score is better"),
    clientRule("merge-by-rank", "MUST", "merge answers of several engines by rank"),
    rule("unknown-fields", "MUST", "ignore unknown members of any object"),
  ],
  [
    check(
      "integers booleans",
      "k as a string or a fraction, strict as 1 and includeText as a string are refused with -32602",
      async (server) => {
        await server.capability("retrieve");
        const client = await server.shared();
        const wrong = [
          { k: "5" },
          { k: 2.5 },
          { k: true },
          { k: [5] },
          { k: 2, strict: 1 },
          { k: 2, includeText: "true" },
        ];
        for (const options of wrong) await client.refusal("retrieve", { query: "x", ...options }, INVALID_PARAMS);
      },
    ),
    check("integers", "5.0 and 5e0 are the integer 5", async (server) => {
      await server.capability("retrieve");
      const client = await server.shared();
      for (const k of ["5.0", "5e0"]) {
        const { value } = await client.ask(
          `{"jsonrpc":"2.0","id":1,"method":"retrieve","params":{"query":"x","k":${k}}}`,
          { path: "/retrieve" },
        );
        ensure(isObject(value) && isObject(value.result), `k ${k} was answered with ${show(value)}`);
      }
    }),
    check(
      "finite integers-no-strings integers",
      "every number of a result is finite, and every integer is a JSON integer",
      async (server) => {
        await server.capability("retrieve");
        const client = await server.shared();
        // The shapes of results say where integers stand; a number beyond a double is refused where it is read.
        await client.result("retrieve", { query: "", k: 5 });
        await client.result("retrieve", { query: "zq", k: 5, includeVectors: false });
      },
    ),
    check("unicode not-ascii", "a query in any script is answered", async (server) => {
      await server.capability("retrieve");
      const client = await server.shared();
      for (const query of UNICODE) await client.result("retrieve", { query, k: 3 });
    }),
    check("unicode not-ascii", "a text in any script comes back as it was added", async (server) => {
      const { corpus } = server;
      await corpus.adder();
      await server.capability("retrieve");
      const word = corpus.newWord();
      const text = `${word} ${UNICODE.join(" | ")}`;
      await corpus.add([{ id: corpus.newId("unicode"), text }]);
      await corpus.untilFound(word, 1);
      const [hit] = await corpus.find(await corpus.queryFor(word));
      ensure(hit?.text === text, `${show(text)} came back as ${show(hit?.text)}`);
    }),
    check("null-absent", "options of retrieve that are null are as if they were not there", async (server) => {
      await server.capability("retrieve");
      const client = await server.shared();
      const base = { query: "anything at all", k: 3 };
      const nulls = {
        mode: null,
        filter: null,
        candidateK: null,
        fusion: null,
        rerank: null,
        minScore: null,
        strict: null,
        cursor: null,
        unit: null,
      };
      const { hits: without } = await client.result("retrieve", base);
      const { hits: withNulls } = await client.result("retrieve", { ...base, ...nulls });
      ensure(isDeepStrictEqual(withNulls, without), "options that are null changed the hits");
    }),
    check("null-absent", "a null nonce is no nonce", async (server) => {
      const client = await server.shared();
      const result = await client.result("ping", { nonce: null });
      ensure((result.nonce ?? null) === null, `a null nonce came back as ${show(result.nonce)}`);
    }),
    check(
      "omit-null",
      "no result of the whole run had a null in it",
      async (server) => {
        const { nulls } = server.seen;
        ensure(nulls.size === 0, `null was sent at ${[...nulls].slice(0, 5).join(", ")}`);
      },
      { last: true },
    ),
    check("enums", "a mode in other letters is no mode", async (server) => {
      const { modes } = await server.capability("retrieve");
      const [mode] = Array.isArray(modes) ? modes : [];
      need(typeof mode === "string", "no mode is advertised");
      const client = await server.shared();
      for (const other of [mode.toUpperCase(), ` ${mode}`])
        await client.refusal("retrieve", { query: "x", k: 1, mode: other }, OPTION_UNSUPPORTED, INVALID_PARAMS);
    }),
    check("date-type", "a filter field that is named like a time is declared as date", async (server) => {
      const { fields } = await server.capability("filter");
      need(isObject(fields), "filter fields are advertised without types");
      const times = Object.entries(fields).filter(([name]) => /(^|_|[a-z])(date|timestamp|time)$|_at$/i.test(name));
      need(times.length > 0, "no field is named like a time");
      const others = times.filter(([, type]) => type !== "date").map(([name]) => name);
      ensure(others.length === 0, `${others.join(", ")} should be of type date`);
    }),
    check("scores", "hits come best first by score", async (server) => {
      await server.capability("retrieve");
      const { word } = await server.corpus.basic().catch(() => ({ word: "the" }));
      const client = await server.shared();
      const { hits } = await client.result("retrieve", { query: word, k: 10 });
      const scores = hitsOf(hits).map((hit) => Number(hit.score));
      ensure(
        scores.every((score, index) => index === 0 || score <= (scores[index - 1] ?? score)),
        `scores rise along the list: ${show(scores)}`,
      );
    }),
    check("unknown-fields", "unknown members beside jsonrpc, in params and deeper are ignored", async (server) => {
      const client = await server.shared();
      const { value } = await client.ask({
        ...client.request("ping", { nonce: 3, unheardOf: { a: [] } }),
        unheardOf: 1,
      });
      ensure(
        isObject(value) && isObject(value.result) && value.result.nonce === 3,
        `ping with unknown members was answered with ${show(value)}`,
      );
      const capabilities = await server.capabilities();
      if (!Object.hasOwn(capabilities, "retrieve")) return;
      await client.result("retrieve", { query: "x", k: 1, unheardOf: { deeper: true }, "x-conformance": [1] });
    }),
  ],
);
