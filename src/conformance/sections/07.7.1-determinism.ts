import { isDeepStrictEqual } from "node:util";
import { isObject, type Params } from "../../protocol/params.ts";
import { ensure, need, show } from "../outcome.ts";
import { check, rule, section, untried } from "../rule.ts";
import type { ServerUnderTest } from "../server-under-test.ts";
import { hitsOf } from "../test-corpus.ts";

const BACKEND_UNAVAILABLE = -32010;
/** §12's table names it for a pinned version that is gone; §7.7.1 names -32010. */
const CONFLICT = -32016;

async function retrieve(server: ServerUnderTest, params: Params): Promise<Params> {
  return (await server.shared()).result("retrieve", params);
}

const idsAndScores = ({ hits }: Params): unknown => hitsOf(hits).map(({ id, score }) => [id, score]);

async function snapshots(server: ServerUnderTest): Promise<void> {
  const { snapshots: advertised } = await server.capability("retrieve");
  need(advertised === true, "retrieve.snapshots is not advertised");
}

export const determinism = section(
  "7.7.1",
  "Determinism and snapshots",
  [
    rule(
      "seed-honoured",
      "MUST",
      "give the same hits for the same params, seed and indexVersion, where it honours seed",
    ),
    rule("seed-ignored", "MUST", "ignore a seed that it cannot honour, and never fail for it"),
    untried(
      "seed-noted",
      "SHOULD",
      "note in usage.notes that it is not deterministic",
      "whether a server has a stochastic step is not seen from outside",
    ),
    rule("snapshot", "MUST", "serve the pinned indexVersion or fail with -32010, never another"),
    rule("snapshot-echoed", "MUST", "echo the indexVersion that it served, where it has snapshots"),
  ],
  [
    check("seed-ignored", "a seed is never an error", async (server) => {
      await server.capability("retrieve");
      for (const seed of [0, 1, -7, 2 ** 53 - 1]) await retrieve(server, { query: "x", k: 3, seed });
    }),
    check("seed-honoured", "the same request with the same seed gives the same hits and scores", async (server) => {
      const { deterministic, modes } = await server.capability("retrieve");
      need(deterministic === true, "retrieve.deterministic is not advertised");
      for (const mode of Array.isArray(modes) ? modes : [undefined]) {
        const params = { query: "the harbour and the sea", k: 10, seed: 7, ...(mode !== undefined && { mode }) };
        const answers = [
          await retrieve(server, params),
          await retrieve(server, params),
          await retrieve(server, params),
        ];
        for (const answer of answers)
          ensure(
            isDeepStrictEqual(idsAndScores(answer), idsAndScores(answers[0] ?? {})),
            `mode ${show(mode)} gave different hits for one seed`,
          );
      }
    }),
    check(
      "snapshot-echoed snapshot",
      "indexVersion is echoed, and a pinned one is the one that is served",
      async (server) => {
        await snapshots(server);
        const { indexVersion } = await retrieve(server, { query: "x", k: 1 });
        ensure(typeof indexVersion === "string", "snapshots are advertised, and no indexVersion came");
        const { indexVersion: pinned } = await retrieve(server, { query: "x", k: 1, indexVersion });
        ensure(pinned === indexVersion, `${show(indexVersion)} was pinned and ${show(pinned)} was served`);
      },
    ),
    check(
      "snapshot",
      "a pinned version shows what it showed, after documents came, changed and went",
      async (server) => {
        await snapshots(server);
        const { corpus } = server;
        await corpus.adder();
        const word = corpus.newWord();
        const [first, second, third] = [corpus.newId("pin"), corpus.newId("pin"), corpus.newId("pin")];
        await corpus.add([
          { id: first, text: `${word} one` },
          { id: second, text: `${word} two two` },
        ]);
        await corpus.untilFound(word, 2);
        const params = await corpus.queryFor(word);
        const before = await retrieve(server, params);
        const { indexVersion } = before;
        ensure(typeof indexVersion === "string", "snapshots are advertised, and no indexVersion came");
        await corpus.add([
          { id: third, text: `${word} three` },
          { id: first, text: `${word} changed` },
        ]);
        await corpus.remove([second]);
        await corpus.untilFound(word, 2);
        const pinned = await retrieve(server, { ...params, indexVersion });
        ensure(
          isDeepStrictEqual(idsAndScores(pinned), idsAndScores(before)),
          "the pinned version has other hits or scores than it had",
        );
        ensure(
          isDeepStrictEqual(
            hitsOf(pinned.hits).map(({ text }) => text),
            hitsOf(before.hits).map(({ text }) => text),
          ),
          "the pinned version has other texts than it had",
        );
        const { indexVersion: newest } = await retrieve(server, params);
        ensure(newest !== indexVersion, "documents changed and indexVersion did not");
      },
    ),
    check("snapshot", "an indexVersion that never was is refused with -32010", async (server) => {
      await snapshots(server);
      const client = await server.shared();
      await client.refusal(
        "retrieve",
        { query: "x", k: 1, indexVersion: "rcp-conformance-no-such-version" },
        BACKEND_UNAVAILABLE,
        CONFLICT,
      );
      await client.refusal("retrieve", { query: "x", k: 1, indexVersion: "" }, BACKEND_UNAVAILABLE, CONFLICT, -32602);
    }),
    check("snapshot", "without snapshots, a pinned version is not silently another", async (server) => {
      const { snapshots: advertised } = await server.capability("retrieve");
      need(advertised !== true, "snapshots are advertised");
      const asked = "rcp-conformance-no-such-version";
      const { result } = await (await server.shared()).call("retrieve", { query: "x", k: 1, indexVersion: asked });
      need(isObject(result), "it is refused");
      ensure(
        result.indexVersion === undefined,
        `${asked} was pinned, and ${show(result.indexVersion)} was served as if nothing had been asked`,
      );
    }),
  ],
);
