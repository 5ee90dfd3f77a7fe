import { type EmbeddingSpace, parseCorpusName, type ScreeningPolicy, type TenantId } from "../catalog/corpus.ts";
import { isLanguage, LANGUAGES } from "../catalog/languages.ts";
import type { Config } from "../config/config.ts";
import type { OperatorDatabase } from "../db/database.ts";
import { recordCommand } from "../sql/audit.ts";
import { createCorpus as insertCorpus } from "../sql/corpora.ts";
import * as statements from "../sql/operator.ts";
import { Refusal } from "./refusal.ts";
import { findTenant } from "./tenants.ts";

export type { CorpusRow } from "../sql/operator.ts";

/** Making and listing corpora, for the command line. */

export type SpaceLoader = () => Promise<EmbeddingSpace>;

export interface CorpusSettings {
  readonly tenant: string;
  readonly corpus: string;
  /** `indexing.defaultLanguage` when absent. */
  readonly language?: string | undefined;
  /** `indexing.defaultScreening` when absent. */
  readonly screening?: ScreeningPolicy | undefined;
}

/**
 * Makes a corpus in the embedding space of the configured model.
 *
 * @throws Refusal for a name that no path can carry, an unknown tenant or language, and a corpus that is there already: its
 *   settings could be others than those asked for
 */
export async function createCorpus(
  database: OperatorDatabase,
  config: Config,
  settings: CorpusSettings,
  loadSpace: SpaceLoader,
): Promise<statements.CorpusRow> {
  const language = settings.language ?? config.indexing.defaultLanguage;
  const name = parseCorpusName(settings.corpus);
  if (name === undefined) {
    throw new Refusal(
      "no path can carry this corpus name",
      "use 1 to 63 of a-z, 0-9, _ and -, beginning with a letter or digit",
    );
  }
  if (!isLanguage(language)) throw new Refusal("there is no such language", `choose one of ${LANGUAGES.join(", ")}`);
  const tenantId = await findTenant(database, settings.tenant);
  const space = await loadSpace();
  const screening = settings.screening ?? config.indexing.defaultScreening;
  const created = await database.write(async (transaction) => {
    const made = await transaction.query(
      insertCorpus({ tenantId, name, language, space, screening, placement: "shared" }),
    );
    if (made.length > 0) await transaction.query(recordCommand({ tenantId, action: "create-corpus", corpus: name }));
    return made;
  });
  const row = await findCorpus(database, tenantId, settings.corpus);
  if (created.length > 0) return row;
  throw new Refusal(
    `the corpus is there already, with language ${row.language} and screening ${row.screening}`,
    "import into it as it is, or choose another name",
  );
}

/** Every corpus with its settings and counts, by tenant and name. */
export async function listCorpora(
  database: OperatorDatabase,
  tenant: string | undefined,
): Promise<readonly statements.CorpusRow[]> {
  if (tenant !== undefined) await findTenant(database, tenant);
  return await database.read(statements.selectCorpora(tenant));
}

/** @throws Refusal when the tenant has no such corpus */
export async function findCorpus(
  database: OperatorDatabase,
  tenantId: TenantId,
  corpus: string,
): Promise<statements.CorpusRow> {
  const [row] = await database.read(statements.selectCorpora(tenantId, corpus));
  if (row === undefined) {
    throw new Refusal(
      "the tenant has no such corpus",
      "pgrcp corpora list shows those there are; pgrcp corpora create makes one",
    );
  }
  return row;
}
