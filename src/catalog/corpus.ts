/**
 * What a tenant's corpus is: its language, its embedding space and the filter fields that can be asked for.
 * Ids are branded so that one kind cannot stand where another is meant; only the parser that checked one makes one.
 */

export type TenantId = string & { readonly __brand: "TenantId" };
export type CorpusName = string & { readonly __brand: "CorpusName" };

export const DEFAULT_CORPUS = "default" as CorpusName;

/** What a path can carry: `/corpora/<name>/rcp`. */
const CORPUS_NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;

/** @returns undefined for a text that no path can carry */
export const parseCorpusName = (text: string): CorpusName | undefined =>
  CORPUS_NAME.test(text) ? (text as CorpusName) : undefined;

/** RCP §8 field types that this server implements. */
export type FieldType = "keyword" | "text" | "int" | "float" | "bool" | "date";

/** A filter field of the configuration. `column` is the typed column on `pgrcp.chunks`, `f_<name>`, always quoted in SQL. */
export interface FilterField {
  readonly name: string;
  readonly type: FieldType;
  readonly array: boolean;
  readonly column: string;
}

/** Fields by name. A Map, so that `constructor` and `__proto__` are names like any other. */
export type FilterFields = ReadonlyMap<string, FilterField>;

export type ScreeningPolicy = "flag" | "quarantine" | "refuse";

/** Identity and dimension of an embedding space; two with the same identity are the same space (RCP §15.7). */
export interface EmbeddingSpace {
  readonly identity: string;
  readonly dimension: number;
}

/** Everything about a corpus that does not change with a write. */
export interface Corpus {
  readonly tenantId: TenantId;
  readonly name: CorpusName;
  /** A language of catalog/languages.ts, such as `english`, or `none`. */
  readonly language: string;
  readonly space: EmbeddingSpace;
  readonly screening: ScreeningPolicy;
  /** The partition that its chunks are in, or move to: `shared`, or one of its own for a large corpus. */
  readonly placement: string;
  /** Where some of them still are, while they move. */
  readonly movingFrom?: string | undefined;
  /** How many there were when the corpus was looked up, if a graph leads to the nearest of them. */
  readonly graphChunks?: number | undefined;
  /** It was never written to, so its language may still change: nobody keeps it. */
  readonly unwritten?: true | undefined;
}
