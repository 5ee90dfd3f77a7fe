import { type EmbeddingSpace, parseCorpusName, type ScreeningPolicy, type TenantId } from "../catalog/corpus.ts";
import { isLanguage, LANGUAGES, type Language } from "../catalog/languages.ts";
import type { Config } from "../config/config.ts";
import { nearestName } from "../config/nearest-name.ts";
import type { OperatorDatabase } from "../db/database.ts";
import { recordCommand } from "../sql/audit.ts";
import { createCorpus as insertCorpus } from "../sql/corpora.ts";
import * as statements from "../sql/operator.ts";
import { Refusal } from "./refusal.ts";
import { findTenant } from "./tenants.ts";

export type { CorpusRow } from "../sql/operator.ts";

/** Making and listing corpora and setting their language, for the command line. */

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
  const language = parseLanguage(settings.language ?? config.indexing.defaultLanguage);
  const name = parseCorpusName(settings.corpus);
  if (name === undefined) {
    throw new Refusal(
      "no path can carry this corpus name",
      "use 1 to 63 of a-z, 0-9, _ and -, beginning with a letter or digit",
    );
  }
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

/** @throws Refusal for a name that is no language, with the nearest one */
function parseLanguage(name: string): Language {
  if (isLanguage(name)) return name;
  const near = nearestName(name, LANGUAGES);
  const guess = near === undefined ? "" : `did you mean ${near}? otherwise `;
  throw new Refusal("there is no such language", `${guess}choose one of ${LANGUAGES.join(", ")}`);
}

/**
 * Gives a corpus another language before its first write: postings, and those of versions that can still be asked for, are in the
 * language that they were written in.
 *
 * @throws Refusal for an unknown tenant, corpus or language, and for a corpus that was written to
 */
export async function setLanguage(
  database: OperatorDatabase,
  settings: { readonly tenant: string; readonly corpus: string; readonly language: string },
): Promise<statements.CorpusRow> {
  const { corpus } = settings;
  const language = parseLanguage(settings.language);
  const tenantId = await findTenant(database, settings.tenant);
  const changed = await database.write(async (transaction) => {
    const rows = await transaction.query(statements.updateLanguage(tenantId, corpus, language));
    if (rows.length > 0)
      await transaction.query(recordCommand({ tenantId, action: "set-language", corpus, detail: language }));
    return rows.length > 0;
  });
  const row = await findCorpus(database, tenantId, corpus);
  if (changed) return row;
  throw new Refusal(
    `the corpus was already written to, with language ${row.language}`,
    `make another one with pgrcp corpora create --language ${language}, and import into it what pgrcp documents export gives of this one`,
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
