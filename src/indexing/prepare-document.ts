import { setImmediate as nextTurn } from "node:timers/promises";
import type { Corpus, TenantId } from "../catalog/corpus.ts";
import { countTerms, tokenize } from "../catalog/tokenize.ts";
import type { EmbeddingModel } from "../models/embedding.ts";
import type { ColumnValue } from "../plan/check-meta.ts";
import { utf8Bytes } from "../protocol/text.ts";
import type { TrustLevel } from "../protocol/wire.ts";
import type { DocumentRow } from "../sql/documents.ts";
import { effectiveTrust } from "../trust/trust-level.ts";
import { chunkText, type TextChunk } from "./chunk-text.ts";
import type { WholeDocument } from "./fetch-bodies.ts";
import { fingerprintOf } from "./fingerprint.ts";
import { CONTEXT_TOKENS } from "./situate-chunks.ts";

export interface PreparedChunk {
  readonly start: number;
  readonly end: number;
  readonly fingerprint: string | null;
  /** Title, context and text together, as the model reads them. */
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

/** A document that was cut into chunks, whose words were not counted yet. */
export interface CutDocument {
  /** In the params. */
  readonly path: string;
  /** As it is read with every chunk. */
  readonly title: string;
  readonly text: string;
  readonly pieces: readonly TextChunk[];
  readonly row: Omit<DocumentRow, "contexts">;
  readonly columns: ReadonlyMap<string, ColumnValue>;
}

export interface CutContext {
  readonly embedding: EmbeddingModel;
  readonly by: { readonly tenantId: TenantId; readonly trustCeiling: TrustLevel };
  readonly chunk: boolean;
  /** Leaves room for a context in each chunk. */
  readonly contextual: boolean;
  readonly chunkTokens: number;
  readonly overlapTokens: number;
  readonly notes: string[];
}

/** A title is read with every chunk, so a long one is cut to leave room for the text. */
const MAX_TITLE_CHARACTERS = 300;
const MIN_TEXT_TOKENS = 32;

/** Cuts a screened document into chunks; one that is quarantined has none. */
export async function cutDocument(
  document: WholeDocument & { readonly docId: string },
  path: string,
  injectionSuspected: boolean,
  corpus: Corpus,
  context: CutContext,
): Promise<CutDocument> {
  const { text } = document;
  const { title, uri, language } = document.citation;
  const quarantined = injectionSuspected && corpus.screening === "quarantine";
  if (quarantined)
    context.notes.push(`${path} was quarantined: its text looks like instructions to a model or hides some`);

  const shortTitle = titleForChunks(title);
  const pieces = quarantined ? [] : await cutText(text, shortTitle, context);
  return {
    path,
    title: shortTitle,
    text,
    pieces,
    row: {
      docId: document.docId,
      body: text,
      title: title ?? null,
      uri: uri ?? null,
      language: language ?? null,
      trust: effectiveTrust(context.by.trustCeiling, document.claimedTrust),
      injectionSuspected,
      quarantined,
      meta: document.meta.json,
      chunkCount: pieces.length,
      textBytes: utf8Bytes(text),
    },
    columns: document.meta.columns,
  };
}

export const titleForChunks = (title: string | undefined): string =>
  title?.slice(0, MAX_TITLE_CHARACTERS).toWellFormed() ?? "";

/** @param title of `titleForChunks` */
export async function cutText(
  text: string,
  title: string,
  context: Omit<CutContext, "by" | "notes"> & { readonly by: Pick<CutContext["by"], "tenantId"> },
): Promise<readonly TextChunk[]> {
  const { embedding, by } = context;
  const countTokens = (texts: readonly string[]) => embedding.countTokens(texts, by.tenantId);
  const [titleTokens = 0] = title === "" ? [0] : await countTokens([title]);
  const limit = Math.min(context.chunkTokens, embedding.maxTokens);
  const room = limit - titleTokens - (context.contextual ? CONTEXT_TOKENS : 0);
  const maxTokens = Math.max(Math.min(MIN_TEXT_TOKENS, limit), room);
  return await chunkText(text, {
    maxTokens: context.chunk ? maxTokens : Number.POSITIVE_INFINITY,
    overlapTokens: Math.min(context.overlapTokens, Math.floor(maxTokens / 2)),
    countTokens,
  });
}

/**
 * Tokenises a document's chunks, each with what is read with it.
 *
 * @param contexts one for each chunk, "" = none; undefined when none were asked for
 */
export async function prepareDocument(
  { title, pieces, row, columns }: CutDocument,
  contexts: readonly string[] | undefined,
  { language }: Corpus,
): Promise<PreparedDocument> {
  const chunks = await prepareChunks({ title, trust: row.trust, language }, pieces, contexts);
  return { row: { ...row, contexts: contexts ?? null }, columns, chunks };
}

/** What holds for all chunks of a document. */
export interface ChunksOf {
  /** As it is read with every chunk. */
  readonly title: string;
  readonly trust: TrustLevel;
  /** The corpus's. */
  readonly language: string;
}

export async function prepareChunks(
  { title, trust, language }: ChunksOf,
  pieces: readonly TextChunk[],
  contexts: readonly string[] | undefined,
): Promise<readonly PreparedChunk[]> {
  const titleTerms = tokenize(title, language);
  const chunks: PreparedChunk[] = [];
  for (const [index, { start, end, text }] of pieces.entries()) {
    const context = contexts?.[index] ?? "";
    const terms = [...titleTerms, ...tokenize(context, language), ...tokenize(text, language)];
    const modelText = [...[title, context].filter((part) => part !== ""), text].join("\n");
    const fingerprint = fingerprintOf(text, trust);
    chunks.push({ start, end, fingerprint, modelText, termCounts: countTerms(terms), length: terms.length });
    await nextTurn(); // a long document must not hold up other requests
  }
  return chunks;
}
