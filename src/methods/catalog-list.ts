import { type CorpusName, DEFAULT_CORPUS } from "../catalog/corpus.ts";
import type { Handler } from "./handler.ts";
import { listReadable } from "./readable-corpora.ts";
import { serverInfo } from "./server-info.ts";

/**
 * RCP §7.13: each corpus of the tenant that the caller may read is an engine, by name. Where clients reach it is known only where
 * `server.publicUrl` says so, whatever address the request came to.
 */
export const catalogList: Handler = async (_params, call, services) => {
  const { limits, server } = services.config;
  const { maxEnginesPerCatalog } = limits;
  const corpora = await listReadable(call, services, maxEnginesPerCatalog + 1);
  // One engine among them federates nothing, or a client that walks catalogues would walk in circles.
  const { catalog: _, ...capabilities } = call.capabilities;
  const engines = corpora.slice(0, maxEnginesPerCatalog).map(({ name, language }) => ({
    id: name,
    server: serverInfo(),
    capabilities,
    ...endpointOf(name, server.publicUrl),
    // How words are stemmed there: RCP/1 has no member for it, and §6.2 this prefix.
    "x-pgrcp-language": language,
  }));
  if (corpora.length <= maxEnginesPerCatalog) return { engines };
  return { engines, _meta: { notes: [`the first ${maxEnginesPerCatalog} by name (limits.maxEnginesPerCatalog)`] } };
};

function endpointOf(name: CorpusName, publicUrl: string | undefined): object {
  if (publicUrl === undefined) return {};
  const base = publicUrl.replace(/\/$/, "");
  return { endpoint: { transport: "http", url: `${base}${name === DEFAULT_CORPUS ? "" : `/corpora/${name}`}/rcp` } };
}
