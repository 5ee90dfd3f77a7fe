import type pg from "pg";
import type { Corpus, CorpusName, TenantId } from "../src/catalog/corpus.ts";
import type { DatabaseRow } from "../src/db/row-parsers.ts";
import type { ResolvedFilter } from "../src/plan/filter.ts";
import { DEFAULT_K, pageCandidates } from "../src/plan/plan-retrieval.ts";
import { chunksByGraph, corpusState, nearestChunks, searchGraph } from "../src/sql/recall.ts";
import { readAs } from "./read-as.ts";

/** The statements of a dense retrieve, for the driver to send. */

const CANDIDATES = pageCandidates(DEFAULT_K);
const HITS = { count: DEFAULT_K, show: { unit: "chunk", maxCharacters: 1_000_000, vector: false } } as const;
/** `retrieval.graph.efSearch`. */
const EF_SEARCH = 100;
const CORPUS = "default" as CorpusName;
const NOW = { pin: undefined };

/** A tenant's corpus as the statements need it. @param owner under no policy */
export async function corpusOf(owner: pg.Client, tenantId: TenantId, dimension: number): Promise<Corpus> {
  const { rows } = await owner.query<{ placement: string; chunks: string | null }>(
    "select placement, graph_chunks as chunks from pgrcp.corpora where tenant_id = $1 and corpus = $2",
    [tenantId, CORPUS],
  );
  const [found] = rows;
  if (found === undefined) throw new Error("the tenant has no corpus");
  const graphChunks = found.chunks === null ? undefined : Number(found.chunks);
  return {
    tenantId,
    name: CORPUS,
    placement: found.placement,
    graphChunks,
    space: { identity: "", dimension },
  } as Corpus;
}

/** @returns what sends them, in the one batch that a retrieve takes, and gives the hits' rows; it throws where they are fewer than ten */
export function denseSql(
  corpus: Corpus,
  vector: Float32Array,
  { byGraph, filter }: { readonly byGraph: boolean; readonly filter?: ResolvedFilter },
): (client: pg.ClientBase) => Promise<readonly DatabaseRow[]> {
  const recall = byGraph
    ? [
        searchGraph({ efSearch: EF_SEARCH, isIterative: filter !== undefined }),
        chunksByGraph(corpus, vector, filter, CANDIDATES, HITS),
      ]
    : [nearestChunks(corpus, NOW, vector, { filter }, CANDIDATES, HITS)];
  return async (client) => {
    const found = await readAs(client, corpus.tenantId, [corpusState(corpus, NOW), ...recall]);
    const hits = (found.at(-1) ?? []).filter((row) => row.body !== null);
    if (hits.length !== HITS.count) throw new Error(`the statements found ${hits.length} hits`);
    return hits;
  };
}
