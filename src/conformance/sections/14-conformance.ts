import { isObject, type Params } from "../../protocol/params.ts";
import { ensure, need, show } from "../outcome.ts";
import { check, clientRule, rule, section, untried } from "../rule.ts";
import type { ServerUnderTest } from "../server-under-test.ts";

const LEVELS = ["L0", "L1", "L2"];
const RETRIEVAL = ["embed", "rerank", "retrieve", "graph"];
const MODES = ["dense", "sparse", "hybrid"];

const levelOf = ({ _meta }: Params): unknown => (isObject(_meta) ? _meta.conformance : undefined);

async function declared(server: ServerUnderTest): Promise<number> {
  return LEVELS.indexOf(String(levelOf(await server.identity())));
}

/** Whether the server has what RCP §14.3 lets an L2 server choose from. */
const hasSelection = (capabilities: Params): boolean => {
  const retrieve = isObject(capabilities.retrieve) ? capabilities.retrieve : {};
  const keys = ["rerank", "multiVector", "sparseEmbed", "transform", "graph", "streaming", "pagination", "log"];
  return (
    keys.some((key) => Object.hasOwn(capabilities, key)) ||
    retrieve.deterministic === true ||
    retrieve.snapshots === true
  );
};

export const conformance = section(
  "14",
  "Conformance levels",
  [
    rule("level", "MUST", "say its level in _meta.conformance of initialize and info"),
    rule("14.1/before-initialize", "MUST", "answer initialize, info and ping at any time"),
    rule("14.1/one-capability", "MUST", "advertise embed, rerank, retrieve or graph"),
    untried("14.1/not-initialized", "MUST", "refuse what comes before initialize with -32001", "tried as §13"),
    untried("14.1/gates", "MUST", "refuse with -32003, -32004 and -32005", "tried as §7, §7.7 and §12"),
    rule("14.1/survives", "MUST", "answer malformed input with -32602 instead of failing"),
    untried("14.1/notifications", "MUST", "ignore unknown notifications and cancels", "tried as §4.4 and §7.14"),
    untried("14.1/tolerates", "MUST", "tolerate unknown fields, keys and _meta", "tried as §4.4, §4.6 and §6"),
    rule("14.2/l1", "SHOULD", "have the three modes, filter and citations, if it is L1"),
    rule("14.2/min-score", "SHOULD", "honour k and minScore, if it is L1"),
    rule("14.3/l2", "SHOULD", "have a selection of the further capabilities, if it is L2"),
    clientRule("14.4/client", "MUST", "initialize first, use what is advertised, match by id"),
    untried("14.5/ci", "SHOULD", "run a conformance suite in CI", "a rule for whoever makes the server"),
  ],
  [
    check("level", "initialize and info say the same level", async (server) => {
      const client = await server.shared();
      const levels = [await server.identity(), await client.result("info")].map(levelOf);
      ensure(LEVELS.includes(String(levels[0])), `_meta.conformance must be L0, L1 or L2, not ${show(levels[0])}`);
      ensure(levels[0] === levels[1], `initialize says ${show(levels[0])}, info says ${show(levels[1])}`);
    }),
    check("14.1/one-capability", "a retrieval capability is advertised", async (server) => {
      const capabilities = await server.capabilities();
      ensure(
        RETRIEVAL.some((key) => Object.hasOwn(capabilities, key)),
        "none of embed, rerank, retrieve and graph is advertised",
      );
    }),
    check("14.1/survives", "malformed requests of every kind leave a server that answers", async (server) => {
      const client = await server.session();
      const strange: readonly unknown[] = [
        null,
        [],
        "x",
        0,
        { k: {} },
        { query: { query: { query: [] } } },
        { documents: { length: 3 } },
        { ids: "__proto__" },
        { signals: 1 },
        { inputs: { 0: "x" } },
      ];
      for (const method of ["retrieve", "embed", "rerank", "graph", "query/transform", "feedback"])
        for (const params of strange) {
          const { error } = await client.call(method, params);
          ensure(
            !(isObject(error) && error.code === -32603),
            `${method} with ${show(params)} failed inside the server`,
          );
        }
      const { nonce } = await client.result("ping", { nonce: "alive" });
      ensure(nonce === "alive", "ping after malformed requests was answered otherwise");
    }),
    check("14.2/l1", "a server that says L1 or more has the three modes, filter and citations", async (server) => {
      need((await declared(server)) >= 1, "the server does not say so");
      const capabilities = await server.capabilities();
      const modes =
        isObject(capabilities.retrieve) && Array.isArray(capabilities.retrieve.modes)
          ? capabilities.retrieve.modes
          : [];
      const missing = [
        ...MODES.filter((mode) => !modes.includes(mode)),
        ...["filter", "citations"].filter((key) => !Object.hasOwn(capabilities, key)),
      ];
      ensure(missing.length === 0, `it says L1 without ${missing.join(", ")}`);
    }),
    check("14.3/l2", "a server that says L2 has one of its capabilities", async (server) => {
      need((await declared(server)) >= 2, "the server does not say so");
      ensure(hasSelection(await server.capabilities()), "it says L2 and has nothing beyond L1");
    }),
  ],
);
