import { type CorpusName, DEFAULT_CORPUS, parseCorpusName } from "../catalog/corpus.ts";

/** What the path of a request says (RCP §5.2). */
export interface RequestPath {
  readonly corpus: CorpusName;
  /** What stands after the base, undecoded; empty at the base itself. */
  readonly method: string;
  /** True at the base path, where batches go. */
  readonly isBase: boolean;
}

const BASE = /^(?:\/corpora\/([^/]*))?\/rcp(?:\/(.*))?$/s;

/** `/rcp` is the base of the default corpus, `/corpora/<name>/rcp` of any other. @returns undefined off every base */
export function parseRequestPath(path: string): RequestPath | undefined {
  const match = BASE.exec(path);
  if (match === null) return undefined;
  const [, name, method] = match;
  const corpus = name === undefined ? DEFAULT_CORPUS : parseCorpusName(name);
  return corpus === undefined ? undefined : { corpus, method: method ?? "", isBase: method === undefined };
}
