import { isDeepStrictEqual } from "node:util";
import { isObject, type Params } from "../../protocol/params.ts";
import { ensure, need, show } from "../outcome.ts";
import { check, rule, section } from "../rule.ts";
import type { ServerUnderTest } from "../server-under-test.ts";

const INVALID_PARAMS = -32602;
const OPTION_UNSUPPORTED = -32005;
/** One black pixel. */
const PIXEL = "R0lGODlhAQABAIAAAAAAAAAAACH5BAAAAAAALAAAAAABAAEAAAICTAEAOw==";

const modalitiesOf = ({ modalities }: Params): readonly unknown[] =>
  Array.isArray(modalities) ? modalities : ["text"];

async function textOnly(server: ServerUnderTest, capability: string): Promise<void> {
  const modalities = modalitiesOf(await server.capability(capability));
  need(!modalities.includes("image") && !modalities.includes("multimodal"), `${capability} takes images`);
}

export const content = section(
  "4.8",
  "Content and modality",
  [
    rule("mime-type", "MUST", "take a block that is no text only with its mimeType"),
    rule("blocks", "MUST", "take blocks where it takes strings, once it advertises a modality besides text"),
    rule("modality", "MUST", "refuse a block outside the advertised modalities with -32005"),
    rule("uri", "MUST", "refuse a uri that it will not fetch with -32602"),
  ],
  [
    check(
      "blocks",
      "a text block as the query is the same query, or is refused by a server of text alone",
      async (server) => {
        const modalities = modalitiesOf(await server.capability("retrieve"));
        const client = await server.shared();
        const text = "a question about harbours";
        const { hits } = await client.result("retrieve", { query: text, k: 3 });
        for (const query of [{ type: "text", text }, [{ type: "text", text }]]) {
          const { result, error } = await client.call("retrieve", { query, k: 3 });
          const isRefused = isObject(error) && (error.code === INVALID_PARAMS || error.code === OPTION_UNSUPPORTED);
          ensure(
            isObject(result)
              ? isDeepStrictEqual(result.hits, hits)
              : isRefused && modalities.every((one) => one === "text"),
            `the query as ${show(query)} was answered with other hits or ${show(error)}`,
          );
        }
      },
    ),
    check(
      "modality",
      "an image as the query is refused with -32005 where images are not advertised",
      async (server) => {
        await textOnly(server, "retrieve");
        const client = await server.shared();
        await client.refusal(
          "retrieve",
          { query: { type: "image", mimeType: "image/gif", data: PIXEL }, k: 1 },
          OPTION_UNSUPPORTED,
        );
      },
    ),
    check(
      "modality",
      "an image among the inputs of embed is refused with -32005 where images are not advertised",
      async (server) => {
        await textOnly(server, "embed");
        const client = await server.shared();
        await client.refusal(
          "embed",
          { inputs: [{ type: "image", mimeType: "image/gif", data: PIXEL }] },
          OPTION_UNSUPPORTED,
        );
      },
    ),
    check("mime-type", "an image without a mimeType is refused", async (server) => {
      await server.capability("retrieve");
      const client = await server.shared();
      await client.refusal(
        "retrieve",
        { query: { type: "image", data: PIXEL }, k: 1 },
        INVALID_PARAMS,
        OPTION_UNSUPPORTED,
      );
    }),
    check("uri", "a block with both data and uri, and a text block without text, are refused", async (server) => {
      await server.capability("retrieve");
      const client = await server.shared();
      const both = { type: "image", mimeType: "image/gif", data: PIXEL, uri: "https://example.org/a.gif" };
      for (const query of [both, { type: "text" }, { type: "unheard-of", text: "x" }, {}, 5, [5]])
        await client.refusal("retrieve", { query, k: 1 }, INVALID_PARAMS, OPTION_UNSUPPORTED);
    }),
    check("uri", "a uri that cannot be fetched is refused, not passed over", async (server) => {
      await server.capability("retrieve");
      const client = await server.shared();
      for (const uri of ["file:///etc/hostname", "unheard-of:nothing", "https://rcp-conformance.invalid/a.gif"])
        await client.refusal(
          "retrieve",
          { query: { type: "image", mimeType: "image/gif", uri }, k: 1 },
          INVALID_PARAMS,
          OPTION_UNSUPPORTED,
        );
    }),
  ],
);
