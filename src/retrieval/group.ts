import type { Candidate } from "./candidate.ts";

/** Each document once, by the chunk of it that stands first: for a retrieve whose unit is the document. */
export function groupByDocument<One extends Candidate>(candidates: readonly One[]): One[] {
  const first = new Map<string, One>();
  for (const candidate of candidates) if (!first.has(candidate.docId)) first.set(candidate.docId, candidate);
  return [...first.values()];
}
