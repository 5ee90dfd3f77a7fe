import { type CorpusName, parseCorpusName } from "../../catalog/corpus.ts";

/** Documents as MCP resources. The tenant is no part of an address: it is the token's, whoever reads. */

const DOCUMENT = /^pgrcp:\/\/([^/]+)\/documents\/([^/?#]+)$/;

/** An id that ends like a chunk's number is shown with its own `#0`, as in a hit. */
const LOOKS_LIKE_CHUNK = /#\d+$/;

export const documentUri = (corpus: CorpusName, docId: string): string =>
  `pgrcp://${corpus}/documents/${encodeURIComponent(LOOKS_LIKE_CHUNK.test(docId) ? `${docId}#0` : docId)}`;

/** RFC 6570. @param corpus the one that all documents are of; undefined when the address says which */
export const documentTemplate = (corpus: CorpusName | undefined): string =>
  `pgrcp://${corpus ?? "{corpus}"}/documents/{id}`;

/** @returns the corpus and the id of a hit, undefined for what is the address of no document */
export function parseDocumentUri(uri: string): { readonly corpus: CorpusName; readonly id: string } | undefined {
  const [, name = "", encoded = ""] = DOCUMENT.exec(uri) ?? [];
  const corpus = parseCorpusName(name);
  const id = decode(encoded);
  return corpus === undefined || id === undefined ? undefined : { corpus, id };
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
