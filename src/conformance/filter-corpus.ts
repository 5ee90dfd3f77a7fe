import { isObject, type Params } from "../protocol/params.ts";
import { need } from "./outcome.ts";
import type { ServerUnderTest } from "./server-under-test.ts";

/** RCP §8: a field's type, without `geo`, which has no literal form. */
export type FieldType = "keyword" | "text" | "int" | "float" | "bool" | "date";

/** Documents whose `meta` has known values, for one advertised field. The last document has no value. */
export interface FilterCorpus {
  readonly field: string;
  readonly type: FieldType;
  /** In ascending order, as the field's type compares. */
  readonly values: readonly unknown[];
  /** Ids by value: `ids[i]` holds `values[i]`, and the last one holds none. */
  readonly ids: readonly string[];
  /** A word that all of them hold and nothing else does. */
  readonly word: string;
}

const VALUES = {
  keyword: ["Zq", "zq", "zqa"],
  text: ["zq harbour wall", "zq lighthouse", "zq river"],
  int: [-5, 0, 2_023],
  float: [-0.5, 0.25, 4.5],
  bool: [false, true],
  date: ["1999-12-31T23:59:59Z", "2023-05-01T00:00:00Z", "2024-02-29T12:00:00Z"],
} as const satisfies Record<FieldType, readonly unknown[]>;

const isFieldType = (type: unknown): type is FieldType => typeof type === "string" && Object.hasOwn(VALUES, type);

const made = new WeakMap<ServerUnderTest, Promise<readonly FilterCorpus[]>>();

/** One corpus for each advertised type, made once. @throws Skipped when filters cannot be tried with documents of the suite's own */
export async function filterCorpora(server: ServerUnderTest): Promise<readonly FilterCorpus[]> {
  const { fields } = await server.capability("filter");
  need(isObject(fields), "filter fields are advertised without types");
  await server.corpus.adder();
  const known = made.get(server) ?? makeAll(server, fields);
  made.set(server, known);
  const corpora = await known;
  need(corpora.length > 0, "no advertised field takes a scalar from the suite's documents");
  return corpora;
}

/** A type's first field that takes a scalar: RCP has no array types, so a list field is advertised as its element's type. */
async function makeAll(server: ServerUnderTest, fields: Params): Promise<readonly FilterCorpus[]> {
  const corpora = new Map<FieldType, FilterCorpus>();
  for (const [field, type] of Object.entries(fields)) {
    if (!isFieldType(type) || corpora.has(type)) continue;
    const corpus = await make(server, field, type);
    if (corpus !== undefined) corpora.set(type, corpus);
  }
  return [...corpora.values()];
}

async function make(server: ServerUnderTest, field: string, type: FieldType): Promise<FilterCorpus | undefined> {
  const { corpus } = server;
  const adder = await corpus.adder();
  const values = VALUES[type];
  const word = corpus.newWord();
  const ids = [...values, undefined].map(() => corpus.newId(type));
  const documents = ids.map((id, index) => ({
    id,
    text: `${word} number ${index}`,
    meta: index < values.length ? { [field]: values[index] } : {},
  }));
  const { error } = await adder.call("index/add", { documents });
  if (error !== undefined) return undefined;
  await corpus.add(documents);
  await corpus.untilFound(word, ids.length);
  return { field, type, values, ids, word };
}
