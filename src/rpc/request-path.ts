import { type CorpusName, DEFAULT_CORPUS, parseCorpusName } from "../catalog/corpus.ts";

/** What the path of a request says (RCP §5.2). */
export interface RequestPath {
  readonly corpus: CorpusName;
  /** What stands after the base, undecoded; undefined at the base itself, where batches go. */
  readonly method: string | undefined;
}

const CORPUS = /^(?:\/corpora\/([^/]*)(?=\/))?(\/.*)$/s;
const BASE = /^\/rcp(?:\/(.*))?$/s;

/**
 * Takes the corpus off a path: `/corpora/<name>` before what is asked of it, nothing for the default one.
 *
 * @returns undefined where no corpus can have such a name
 */
export function parseCorpusPath(path: string): { readonly corpus: CorpusName; readonly rest: string } | undefined {
  const [, name, rest] = CORPUS.exec(path) ?? [];
  const corpus = name === undefined ? DEFAULT_CORPUS : parseCorpusName(name);
  return corpus === undefined || rest === undefined ? undefined : { corpus, rest };
}

/** `/rcp` is the base of the default corpus, `/corpora/<name>/rcp` of any other. @returns undefined off every base */
export function parseRequestPath(path: string): RequestPath | undefined {
  const parsed = parseCorpusPath(path);
  const match = BASE.exec(parsed?.rest ?? "");
  return parsed === undefined || match === null ? undefined : { corpus: parsed.corpus, method: match[1] };
}
