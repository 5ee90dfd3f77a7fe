import { mayReach, type Principal } from "../auth/principal.ts";
import { type CorpusName, DEFAULT_CORPUS, parseCorpusName } from "../catalog/corpus.ts";
import { countOtherCorpora, listCorpora, type NamedCorpus } from "../sql/corpora.ts";
import type { Call, Services } from "./handler.ts";

/**
 * What a caller may read, counted and listed alike. `default` is there before its first write, an empty corpus like any other, so
 * a tenant's first write changes no number that was shown.
 */

type Caller = Pick<Call, "principal" | "signal" | "remainingMs">;

/** How many corpora a caller may read now. */
export async function countReadable(caller: Caller, { database }: Pick<Services, "database">): Promise<number> {
  const { principal } = caller;
  if (!principal.credentials.has("read")) return 0;
  const statement = countOtherCorpora(principal.tenantId, namedCorpora(principal));
  const [[others = 0]] = await database.read("reader", principal, [statement], limitsOf(caller));
  return others + (mayReach(principal, DEFAULT_CORPUS) ? 1 : 0);
}

/** They by name, at most `limit`. A `default` that is not there yet has the language that its first write will give it. */
export async function listReadable(
  caller: Caller,
  { database, config }: Pick<Services, "database" | "config">,
  limit: number,
): Promise<readonly NamedCorpus[]> {
  const { principal } = caller;
  const statement = listCorpora(principal.tenantId, namedCorpora(principal), limit);
  const [found] = await database.read("reader", principal, [statement], limitsOf(caller));
  if (!mayReach(principal, DEFAULT_CORPUS) || found.some(({ name }) => name === DEFAULT_CORPUS)) return found;
  const first: NamedCorpus = { name: DEFAULT_CORPUS, language: config.indexing.defaultLanguage };
  return [...found, first].sort((a, b) => (a.name < b.name ? -1 : 1)).slice(0, limit);
}

/** The corpora that a token names, as far as a path can name them; undefined = all of its tenant's. */
function namedCorpora({ corpora }: Pick<Principal, "corpora">): readonly CorpusName[] | undefined {
  if (corpora === "all") return undefined;
  return [...corpora].flatMap((name) => parseCorpusName(name) ?? []);
}

const limitsOf = ({ signal, remainingMs }: Caller) => ({ signal, timeoutMs: remainingMs() });
