import { type CorpusName, DEFAULT_CORPUS } from "../catalog/corpus.ts";
import { listCorpora } from "../sql/corpora.ts";
import type { Handler } from "./handler.ts";
import { namedCorpora } from "./readable-corpora.ts";
import { serverInfo } from "./server-info.ts";

/**
 * RCP §7.13: each corpus of the tenant that the caller may read is an engine, by name. Where clients reach it is known only where
 * `server.publicUrl` says so, whatever address the request came to.
 */
export const catalogList: Handler = async (_params, call, { config, database }) => {
  const { maxEnginesPerCatalog } = config.limits;
  const { tenantId } = call.principal;
  const [names] = await database.read(
    "reader",
    call.principal,
    [listCorpora(tenantId, namedCorpora(call.principal), maxEnginesPerCatalog + 1)],
    { signal: call.signal, timeoutMs: call.remainingMs() },
  );
  // One engine among them federates nothing, or a client that walks catalogues would walk in circles.
  const { catalog: _, ...capabilities } = call.capabilities;
  const engines = names.slice(0, maxEnginesPerCatalog).map((name) => ({
    id: name,
    server: serverInfo(),
    capabilities,
    ...endpointOf(name, config.server.publicUrl),
  }));
  if (names.length <= maxEnginesPerCatalog) return { engines };
  return { engines, _meta: { notes: [`the first ${maxEnginesPerCatalog} by name (limits.maxEnginesPerCatalog)`] } };
};

function endpointOf(name: CorpusName, publicUrl: string | undefined): object {
  if (publicUrl === undefined) return {};
  const base = publicUrl.replace(/\/$/, "");
  return { endpoint: { transport: "http", url: `${base}${name === DEFAULT_CORPUS ? "" : `/corpora/${name}`}/rcp` } };
}
