import { type CorpusName, DEFAULT_CORPUS, parseCorpusName } from "../catalog/corpus.ts";

/** What the path of a request says (RCP §5.2). */
export interface RequestPath {
  readonly corpus: CorpusName;
  /** What stands after the base, undecoded; undefined at the base itself, where batches go. */
  readonly method: string | undefined;
}

const BASE = /^(?:\/corpora\/([^/]*))?\/rcp(?:\/(.*))?$/s;

/** `/rcp` is the base of the default corpus, `/corpora/<name>/rcp` of any other. @returns undefined off every base */
export function parseRequestPath(path: string): RequestPath | undefined {
  const match = BASE.exec(path);
  if (match === null) return undefined;
  const [, name, method] = match;
  const corpus = name === undefined ? DEFAULT_CORPUS : parseCorpusName(name);
  return corpus === undefined ? undefined : { corpus, method };
}
