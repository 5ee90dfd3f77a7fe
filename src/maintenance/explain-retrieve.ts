import type { CorpusName } from "../catalog/corpus.ts";
import type { Config } from "../config/config.ts";
import { checkSpace } from "../db/check-space.ts";
import type { OperatorDatabase, TenantTransaction } from "../db/database.ts";
import type { DensePath } from "../plan/choose-path.ts";
import type { ResolvedFilter } from "../plan/filter.ts";
import { filterFields } from "../plan/filter-fields.ts";
import { DEFAULT_K, pageCandidates } from "../plan/plan-retrieval.ts";
import { FILTER_OPERATORS, resolveFilter } from "../plan/resolve-filter.ts";
import { RpcError } from "../protocol/errors.ts";
import { choosePath } from "../retrieval/dense-path.ts";
import { findCorpus } from "../sql/corpora.ts";
import { chunksByGraph, nearestChunks, planAsReader, searchGraph } from "../sql/recall.ts";
import { explained, type Statement } from "../sql/sql.ts";
import type { WithModel } from "./configured-model.ts";
import type { CorpusAddress } from "./documents.ts";
import { Refusal } from "./refusal.ts";
import { findTenant } from "./tenants.ts";

/** How a dense retrieve is answered, for the command line. */
export interface Explanation {
  readonly path: DensePath;
  readonly statements: readonly { readonly sql: string; readonly plan: readonly string[] }[];
}

export interface ExplainedQuestion extends CorpusAddress {
  readonly query: string;
  /** As a caller sends it. */
  readonly filter?: unknown;
}

/**
 * Chooses the path that a retrieve of the newest version would take first (one by a graph that does not lead there goes on exactly), and runs its statements once with Postgres's account of them: with
 * the plans that the reader's login gets, under the operator's policies. What is found is shown to nobody.
 *
 * @throws Refusal for an unknown tenant or corpus, and a filter that a caller could not send
 */
export async function explainRetrieve(
  database: OperatorDatabase,
  config: Config,
  question: ExplainedQuestion,
  withModel: WithModel,
): Promise<Explanation> {
  const tenantId = await findTenant(database, question.tenant);
  const [corpus] = await database.read(findCorpus(tenantId, question.corpus as CorpusName));
  if (corpus === undefined)
    throw new Refusal("the tenant has no such corpus", "pgrcp corpora list shows those there are");
  const filter = filterOf(question.filter, config);
  const vector = await withModel(async (embedding) => {
    checkSpace(corpus, embedding.space);
    const [first] = await embedding.embed([question.query], "query", new AbortController().signal, tenantId);
    if (first === undefined) throw new Error("the model gave no vector for the query");
    return first;
  });
  return await database.write(async (transaction) => {
    await transaction.query(planAsReader);
    const limit = Math.min(pageCandidates(DEFAULT_K), config.retrieval.defaultCandidateK);
    const asked = { indexVersion: undefined, seed: undefined, filter, k: DEFAULT_K, candidateK: limit };
    const path = await choosePath(asked, corpus, config.retrieval, (statement) => transaction.query(statement));
    const maxCharacters = config.limits.maxHitCharacters;
    const hits = { count: DEFAULT_K, show: { unit: "chunk", maxCharacters, vector: false } } as const;
    if (path.search === "exact") {
      const statement = nearestChunks(corpus, { pin: undefined }, vector, { filter }, limit, hits);
      return { path, statements: [await account(transaction, statement)] };
    }
    await transaction.query(searchGraph(path));
    return { path, statements: [await account(transaction, chunksByGraph(corpus, vector, filter, limit, hits))] };
  });
}

function filterOf(filter: unknown, { filter: limits }: Config): ResolvedFilter | undefined {
  try {
    return resolveFilter(filter, filterFields(limits.fields), FILTER_OPERATORS, limits);
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    throw new Refusal(
      `${String(error.data.field ?? "filter")}: ${error.data.detail ?? error.message}`,
      "write it as a caller's `filter` param, on filter.fields of the configuration",
    );
  }
}

/** A vector is some thousand characters, in which nobody reads anything. */
const VECTOR = /\[[-+0-9.,e]{40,}\]/g;

async function account(transaction: TenantTransaction, statement: Statement) {
  const plan = await transaction.query(explained(statement));
  return { sql: statement.text, plan: plan.map((line) => line.replaceAll(VECTOR, "[…]")) };
}
