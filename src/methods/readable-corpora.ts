import type { Principal } from "../auth/principal.ts";
import { type CorpusName, parseCorpusName } from "../catalog/corpus.ts";
import { countCorpora } from "../sql/corpora.ts";
import type { Call, Services } from "./handler.ts";

/** The corpora that a token names, as far as a path can name them; undefined = all of its tenant's. */
export function namedCorpora({ corpora }: Pick<Principal, "corpora">): readonly CorpusName[] | undefined {
  if (corpora === "all") return undefined;
  return [...corpora].flatMap((name) => parseCorpusName(name) ?? []);
}

/** How many corpora of its tenant a caller may read now. */
export async function countReadable(
  { principal, signal, remainingMs }: Pick<Call, "principal" | "signal" | "remainingMs">,
  { database }: Pick<Services, "database">,
): Promise<number> {
  if (!principal.credentials.has("read")) return 0;
  const statement = countCorpora(principal.tenantId, namedCorpora(principal));
  const [[count = 0]] = await database.read("reader", principal, [statement], { signal, timeoutMs: remainingMs() });
  return count;
}
