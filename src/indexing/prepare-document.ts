import { setImmediate as nextTurn } from "node:timers/promises";
import type { Corpus } from "../catalog/corpus.ts";
import { countTerms, tokenize } from "../catalog/tokenize.ts";
import type { EmbeddingModel } from "../models/embedding.ts";
import { type ColumnValue, citationOf } from "../plan/check-meta.ts";
import type { PlannedDocument } from "../plan/plan-add.ts";
import { invalidParams } from "../protocol/errors.ts";
import type { TrustLevel } from "../protocol/wire.ts";
import type { DocumentRow } from "../sql/documents.ts";
import { screenText } from "../trust/screen-text.ts";
import { effectiveTrust } from "../trust/trust-level.ts";
import { chunkText } from "./chunk-text.ts";
import { fingerprintOf } from "./fingerprint.ts";

export interface PreparedChunk {
  readonly start: number;
  readonly end: number;
  /** Title and text together, as the model reads them. */
  readonly modelText: string;
  readonly termCounts: ReadonlyMap<string, number>;
  /** Terms, repeated ones counted each time. */
  readonly length: number;
}

/** A document that needs only numbers and vectors to be written. */
export interface PreparedDocument {
  readonly row: DocumentRow;
  readonly columns: ReadonlyMap<string, ColumnValue>;
  readonly chunks: readonly PreparedChunk[];
}

export interface PrepareContext {
  readonly embedding: EmbeddingModel;
  readonly by: { readonly trustCeiling: TrustLevel };
  readonly chunk: boolean;
  readonly chunkTokens: number;
  readonly overlapTokens: number;
  readonly notes: string[];
}

/** A title is read with every chunk, so a long one is cut to leave room for the text. */
const MAX_TITLE_CHARACTERS = 300;
const MIN_TEXT_TOKENS = 32;

/**
 * Screens, chunks and tokenises one document.
 *
 * @param path of the document in the params, for the refusal
 * @throws RpcError -32602 when the corpus's policy refuses what the screen suspects
 */
export async function prepareDocument(
  document: PlannedDocument & { readonly docId: string },
  path: string,
  corpus: Corpus,
  context: PrepareContext,
): Promise<PreparedDocument> {
  const { title, uri, language } = citationOf(document.meta.meta);
  const { injectionSuspected } = screenText(title === undefined ? document.text : `${title}\n${document.text}`);
  if (injectionSuspected && corpus.screening === "refuse")
    throw invalidParams({
      field: `${path}.text`,
      detail: "the corpus refuses text that looks like instructions to a model or hides some",
    });
  const quarantined = injectionSuspected && corpus.screening === "quarantine";
  if (quarantined)
    context.notes.push(`${path} was quarantined: its text looks like instructions to a model or hides some`);

  const chunks = quarantined
    ? []
    : await prepareChunks(document.text, title?.slice(0, MAX_TITLE_CHARACTERS).toWellFormed() ?? "", corpus, context);
  return {
    row: {
      docId: document.docId,
      body: document.text,
      title: title ?? null,
      uri: uri ?? null,
      language: language ?? null,
      trust: effectiveTrust(context.by.trustCeiling, document.claimedTrust),
      injectionSuspected,
      quarantined,
      fingerprint: fingerprintOf(document.text),
      meta: document.meta.json,
      chunkCount: chunks.length,
    },
    columns: document.meta.columns,
    chunks,
  };
}

async function prepareChunks(
  text: string,
  title: string,
  corpus: Corpus,
  context: PrepareContext,
): Promise<PreparedChunk[]> {
  const { embedding } = context;
  const titleTerms = tokenize(title, corpus.language);
  const [titleTokens = 0] = title === "" ? [0] : await embedding.countTokens([title]);
  const limit = Math.min(context.chunkTokens, embedding.maxTokens);
  const maxTokens = Math.max(Math.min(MIN_TEXT_TOKENS, limit), limit - titleTokens);
  const pieces = await chunkText(text, {
    maxTokens: context.chunk ? maxTokens : Number.POSITIVE_INFINITY,
    overlapTokens: Math.min(context.overlapTokens, Math.floor(maxTokens / 2)),
    countTokens: (texts) => embedding.countTokens(texts),
  });
  const chunks: PreparedChunk[] = [];
  for (const piece of pieces) {
    const terms = [...titleTerms, ...tokenize(piece.text, corpus.language)];
    const modelText = title === "" ? piece.text : `${title}\n${piece.text}`;
    const termCounts = countTerms(terms);
    chunks.push({ start: piece.start, end: piece.end, modelText, termCounts, length: terms.length });
    await nextTurn(); // a long document must not hold up other requests
  }
  return chunks;
}
