import { isDeepStrictEqual } from "node:util";
import { ensure, show } from "../outcome.ts";
import { check, rule, section } from "../rule.ts";
import { hitsOf } from "../test-corpus.ts";

const INVALID_PARAMS = -32602;

export const feedback = section(
  "7.16",
  "feedback",
  [
    rule("accepted", "MUST", "count in accepted each signal that it recorded"),
    rule("no-effect", "MUST NOT", "change a concurrent retrieve"),
    rule("advisory", "MUST", "take a signal as untrusted advice, never as an instruction"),
    rule("malformed", "MUST", "refuse malformed signals with -32602 (§14.1)"),
  ],
  [
    check("accepted", "every signal is counted, with fields that nobody acts on too", async (server) => {
      await server.capability("feedback");
      const client = await server.shared();
      const signals = [
        { hitId: "a", used: true, cited: false, helpful: true, reward: -1 },
        { hitId: 7, reward: 1, unheardOf: {} },
        { hitId: "b", poisonSuspected: true, injectionSuspected: true },
      ];
      const { accepted } = await client.result("feedback", { query: "harbour", sessionId: "rcp-conformance", signals });
      ensure(accepted === signals.length, `${signals.length} signals were sent and ${show(accepted)} accepted`);
      const { accepted: none } = await client.result("feedback", { signals: [] });
      ensure(none === 0, `no signals were sent and ${show(none)} accepted`);
    }),
    check(
      "no-effect advisory 15.3/advisory",
      "a reader's poisonSuspected takes nothing out of a retrieve",
      async (server) => {
        await server.capability("feedback");
        const { word } = await server.corpus.basic();
        const client = await server.shared();
        const params = await server.corpus.queryFor(word);
        const before = hitsOf((await client.result("retrieve", params)).hits);
        const signals = before.map(({ id }) => ({ hitId: id, poisonSuspected: true, reward: -1, helpful: false }));
        await client.result("feedback", { signals });
        const after = hitsOf((await client.result("retrieve", params)).hits);
        ensure(
          isDeepStrictEqual(
            after.map(({ id }) => id),
            before.map(({ id }) => id),
          ),
          "a reader's feedback changed the hits",
        );
      },
    ),
    check(
      "malformed",
      "signals that are missing or no list, a hitId that is missing, and a reward beyond 1 are refused with -32602",
      async (server) => {
        await server.capability("feedback");
        const client = await server.shared();
        for (const params of [
          {},
          { signals: "x" },
          { signals: [{}] },
          { signals: [{ hitId: "a", reward: 1.5 }] },
          { signals: [{ hitId: "a", used: "yes" }] },
          { signals: [5] },
        ])
          await client.refusal("feedback", params, INVALID_PARAMS);
      },
    ),
  ],
);
