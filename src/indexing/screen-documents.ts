import { setImmediate as nextTurn } from "node:timers/promises";
import type { Corpus, TenantId } from "../catalog/corpus.ts";
import type { TextClassifier } from "../models/text-classifier.ts";
import type { Observe } from "../observability/observation.ts";
import { ErrorCode, invalidParams, RpcError } from "../protocol/errors.ts";
import { screenText } from "../trust/screen-text.ts";
import type { WholeDocument } from "./fetch-bodies.ts";

export interface ScreenedDocument {
  readonly document: Pick<WholeDocument, "text" | "citation" | "meta">;
  /** In the params, for refusals and notes. */
  readonly index: number;
}

export interface ScreenContext {
  /** Undefined: the screen's own rules judge alone. */
  readonly classifier: TextClassifier | undefined;
  readonly signal: AbortSignal;
  readonly notes: string[];
  readonly observe: Observe;
}

/**
 * Which documents look like instructions to a model or hide some: by the screen's own rules first, then, of those that pass, by
 * the classifier. Title and text are read together; the rules read what else meta says, too, because a hit shows it.
 *
 * @throws RpcError -32602 naming the first document when the corpus's policy refuses what is suspected; -32010 when the classifier
 *   gives no judgement, unless its setting says that the texts then count as suspected; the signal's reason when it aborts
 */
export async function screenDocuments(
  documents: readonly ScreenedDocument[],
  corpus: Corpus,
  context: ScreenContext,
): Promise<readonly boolean[]> {
  const refuses = corpus.screening === "refuse";
  const texts = documents.map(textOf);
  const suspected: boolean[] = [];
  for (const [place, text] of texts.entries()) {
    context.signal.throwIfAborted();
    suspected.push([text, metaTextOf(documents[place])].some((one) => screenText(one).injectionSuspected));
    if (refuses) refuseFirst(documents, suspected);
    if (place > 0) await nextTurn(); // long documents must not hold up other requests together
  }
  const rest = texts.flatMap((text, place) =>
    suspected[place] ? [] : [{ place, path: pathOf(documents[place]), text }],
  );
  for (const place of await classify(rest, refuses, context, corpus.tenantId)) suspected[place] = true;
  if (refuses) refuseFirst(documents, suspected);
  return suspected;
}

function textOf({ document: { text, citation } }: ScreenedDocument): string {
  return citation.title === undefined ? text : `${citation.title}\n${text}`;
}

/** Every name and text in a document's meta, each a paragraph of its own. */
function metaTextOf(one: ScreenedDocument | undefined): string {
  const texts: string[] = [];
  const pending: unknown[] = [one?.document.meta.meta];
  for (let at = 0; at < pending.length; at++) {
    const value = pending[at];
    if (typeof value === "string") texts.push(value);
    else if (typeof value === "object" && value !== null)
      pending.push(...(Array.isArray(value) ? [] : Object.keys(value)), ...Object.values(value));
  }
  return texts.join("\n\n");
}

const pathOf = (one: ScreenedDocument | undefined): string => `documents[${one?.index}]`;

function refuseFirst(documents: readonly ScreenedDocument[], suspected: readonly boolean[]): void {
  const first = documents[suspected.indexOf(true)];
  if (first === undefined) return;
  throw invalidParams({
    field: `${pathOf(first)}.text`,
    detail: "the corpus refuses text that looks like instructions to a model or hides some",
  });
}

interface Unjudged {
  readonly place: number;
  readonly path: string;
  readonly text: string;
}

/**
 * @param refuses whether a suspected text would be refused: that the classifier is out of reach is nothing a caller could correct
 * @returns the places of those that count as suspected
 */
async function classify(
  texts: readonly Unjudged[],
  refuses: boolean,
  { classifier, signal, notes, observe }: ScreenContext,
  tenantId: TenantId,
): Promise<readonly number[]> {
  if (classifier === undefined || texts.length === 0) return [];
  try {
    const suspected = await classifier.suspects(
      texts.map(({ text }) => text),
      signal,
      tenantId,
    );
    return texts.filter((_, nth) => suspected[nth]).map(({ place }) => place);
  } catch (error) {
    if (classifier.onFailure === "fail" || refuses || !isUnavailable(error)) throw error;
    observe({ kind: "backend-failed", where: "index/add", code: error.code, error });
    for (const { path } of texts) notes.push(`${path} counts as suspected: the classifier gave no judgement`);
    return texts.map(({ place }) => place);
  }
}

const isUnavailable = (error: unknown): error is RpcError =>
  error instanceof RpcError && error.code === ErrorCode.BackendUnavailable;
