import { isObject } from "../../protocol/params.ts";
import { INITIALIZE } from "../client.ts";
import { ensure, need, show } from "../outcome.ts";
import { check, clientRule, rule, section, untried } from "../rule.ts";
import { hitsOf } from "../test-corpus.ts";
import { GATED, validParams } from "./07-methods.ts";

const OPTIONS = { retrieve: "modes", rerank: "methods", transform: "methods", graph: "ops" } as const;

export const capabilities = section(
  "6",
  "Capabilities",
  [
    rule("presence", "MUST", "offer what it advertises: presence means supported"),
    rule("objects", "MUST", "give every capability an object as its value"),
    clientRule("absent", "MUST NOT", "use what is not advertised"),
    rule("unknown-keys", "MUST", "ignore capability keys, and fields in them, that it does not know"),
    clientRule("fusion-by-rank", "MUST", "never fuse by raw score (§6.1)"),
    clientRule("no-scale", "MUST NOT", "assume a scale that is not advertised (§6.1)"),
    untried(
      "score-floor-known",
      "SHOULD",
      "advertise scoreFloor when the floor is known (§6.1)",
      "what a scoring function cannot go below is not seen from outside",
    ),
    rule("score-floor", "MUST", "leave scoreFloor out when there is no lower bound (§6.1)"),
    clientRule("no-floor-from-scale", "MUST NOT", "infer a floor from scoreScale (§6.1)"),
    clientRule("ignore-extensions", "MUST", "ignore keys that it does not recognise (§6.1)"),
    rule("x-names", "MUST", "ignore x- names that it does not know (§6.2)"),
    clientRule("x-gated", "MUST NOT", "call x-vendor methods that are not advertised (§6.2)"),
    clientRule("propose", "SHOULD", "propose useful names for the core (§6.2); a rule for authors"),
  ],
  [
    check("objects", "every capability is an object; citations may be true", async (server) => {
      const entries = Object.entries(await server.capabilities());
      const wrong = entries.filter(([key, value]) => !isObject(value) && !(key === "citations" && value === true));
      ensure(wrong.length === 0, `${show(Object.fromEntries(wrong))} should be objects`);
    }),
    check("presence", "what is advertised with a choice names at least one", async (server) => {
      const advertised = await server.capabilities();
      for (const [key, list] of Object.entries(OPTIONS)) {
        const value = advertised[key];
        if (!isObject(value) || !Object.hasOwn(value, list)) continue;
        ensure(Array.isArray(value[list]) && value[list].length > 0, `${key}.${list} should name what is supported`);
      }
    }),
    check("presence", "no method of an advertised capability is answered with -32003 or -32004", async (server) => {
      const advertised = await server.capabilities();
      const client = await server.shared();
      for (const [method, key] of GATED) {
        const value = advertised[key];
        if (!Object.hasOwn(advertised, key) || method.startsWith("index/") || method.startsWith("memory/")) continue;
        const { error } = await client.call(method, validParams(method, isObject(value) ? value : {}));
        const code = isObject(error) ? error.code : undefined;
        ensure(
          code !== -32003 && code !== -32004,
          `${method} is advertised as ${key} and was refused with ${show(code)}`,
        );
      }
    }),
    check("unknown-keys x-names", "a client with capabilities that nobody knows is welcome", async (server) => {
      const strange = { "x-conformance": { level: 9 }, unheardOf: {}, streaming: { unheardOf: 1 } };
      const client = server.open();
      const { error } = await client.initialize({
        ...INITIALIZE,
        capabilities: strange,
        "x-conformance": true,
        unheardOf: [],
      });
      need(!(isObject(error) && error.code === -32600), "this server has initialized already, for all its callers");
      ensure(error === undefined, `initialize was refused: ${show(error)}`);
    }),
    check("score-floor", "no score lies below the advertised scoreFloor", async (server) => {
      const { scoreFloor, modes } = await server.capability("retrieve");
      need(typeof scoreFloor === "number", "no scoreFloor is advertised");
      const client = await server.shared();
      for (const mode of Array.isArray(modes) ? modes : [undefined]) {
        const { hits } = await client.result("retrieve", {
          query: "zq nothing like it",
          k: 20,
          ...(mode !== undefined && { mode }),
        });
        for (const { score } of hitsOf(hits))
          ensure(Number(score) >= scoreFloor, `the score ${show(score)} is below the floor ${scoreFloor}`);
      }
    }),
  ],
);
