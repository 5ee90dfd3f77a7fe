import { ensure, show } from "../outcome.ts";
import { check, rule, section } from "../rule.ts";
import { hitsOf } from "../test-corpus.ts";

const NOT_FOUND = -32015;
const INVALID_PARAMS = -32602;

export const catalog = section(
  "7.13",
  "catalog/list",
  [rule("entries", "MUST", "list its engines with identity and capabilities, each id once")],
  [
    check("entries", "each engine has an id of its own, a server and capabilities", async (server) => {
      await server.capability("catalog");
      const { engines } = await (await server.shared()).result("catalog/list");
      const ids = hitsOf(engines).map(({ id }) => id);
      ensure(new Set(ids).size === ids.length, `an engine is listed twice: ${show(ids)}`);
    }),
  ],
);

export const memory = section(
  "7.17",
  "memory/build and memory/recall",
  [
    rule("build", "MUST", "return the memory's id, and recall clues from it"),
    rule("not-found", "MUST", "refuse an unknown memoryId with -32015 (§12)"),
  ],
  [
    check("build", "a memory that was built can be recalled", async (server) => {
      await server.capability("memory");
      const client = await server.shared();
      const { memoryId } = await client.result("memory/build", {
        documents: [{ text: "The harbour wall was repaired." }],
      });
      await client.result("memory/recall", { query: "harbour", memoryId });
    }),
    check("not-found", "an unknown memoryId is refused with -32015", async (server) => {
      await server.capability("memory");
      const client = await server.shared();
      await client.refusal(
        "memory/recall",
        { query: "harbour", memoryId: "rcp-conformance-no-such-memory" },
        NOT_FOUND,
      );
      await client.refusal("memory/recall", {}, INVALID_PARAMS);
    }),
  ],
);
