import { type CorpusName, DEFAULT_CORPUS, parseCorpusName } from "../../catalog/corpus.ts";
import { invalidParams } from "../../protocol/errors.ts";
import { type Params, readString } from "../../protocol/params.ts";

/**
 * Refuses a call that says more than its tool asks for. A model that tries to name a tenant or a credential is told so, and nothing
 * it said is used.
 *
 * @throws RpcError -32602
 */
export function refuseOtherArguments(given: Params, names: readonly string[]): void {
  if (Object.keys(given).every((name) => names.includes(name))) return;
  const all = names.length === 0 ? "no argument" : `${names.join(", ")} and nothing else`;
  throw invalidParams({ field: "arguments", detail: `this tool takes ${all}` });
}

/**
 * The corpus that a call is about.
 *
 * @param fixed the one that the request's path names; undefined on the base path, where an argument may name one
 * @throws RpcError -32602 for what is no corpus' name
 */
export function corpusOf(given: Params, fixed: CorpusName | undefined): CorpusName {
  const named = fixed === undefined ? readString(given, "corpus") : fixed;
  const corpus = named === undefined ? DEFAULT_CORPUS : parseCorpusName(named);
  if (corpus !== undefined) return corpus;
  throw invalidParams({ field: "corpus", detail: "must be the name of a corpus: lower-case letters, digits, - and _" });
}
