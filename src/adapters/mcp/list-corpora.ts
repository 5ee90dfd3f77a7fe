import { DEFAULT_CORPUS } from "../../catalog/corpus.ts";
import { refuseOtherArguments } from "./arguments.ts";
import { type McpTool, toolResult } from "./tools.ts";

/** RCP §7.13, as far as it names corpora. */
interface Catalog {
  readonly engines: readonly { readonly id: string; readonly "x-pgrcp-language": string }[];
  readonly _meta?: { readonly notes: readonly string[] };
}

/** `catalog/list`. */
export const listCorpora: McpTool = {
  define({ catalog }) {
    if (catalog === undefined) return undefined;
    return {
      title: "List corpora",
      description: "Names the corpora that can be searched, with the language of their texts.",
      inputSchema: { type: "object", properties: {}, additionalProperties: false },
      outputSchema: {
        type: "object",
        properties: {
          corpora: {
            type: "array",
            items: {
              type: "object",
              properties: { name: { type: "string" }, language: { type: "string" } },
              required: ["name", "language"],
            },
          },
        },
        required: ["corpora"],
      },
    };
  },

  async run(given, { call }) {
    refuseOtherArguments(given, []);
    const { engines, _meta: { notes = [] } = {} } = await call<Catalog>(DEFAULT_CORPUS, "catalog/list", {});
    const corpora = engines.map(({ id, "x-pgrcp-language": language }) => ({ name: id, language }));
    const lines = corpora.map(({ name, language }) => `${name} (${language})`);
    return toolResult({ corpora }, ["Corpora:", ...lines, ...notes].join("\n"));
  },
};
