import type { TenantId } from "../catalog/corpus.ts";
import type { FetchedText, Fetcher } from "../fetch/fetch-text.ts";
import { FetchRefusal } from "../fetch/refusal.ts";
import { someAtATime } from "../load/some-at-a-time.ts";
import type { BodyReference } from "../plan/content-text.ts";
import type { PlannedDocument } from "../plan/plan-add.ts";
import { invalidParams } from "../protocol/errors.ts";

export interface FetchContext {
  readonly fetcher: Fetcher;
  /** For whom. */
  readonly tenantId: TenantId;
  /** Told how far a fetch came that is refused. */
  readonly refused: (stage: FetchRefusal["stage"]) => void;
}

/** A document whose text is there. */
export type WholeDocument<Document extends PlannedDocument = PlannedDocument> = Document & { readonly text: string };

interface Sent<Document> {
  readonly document: Document;
  readonly index: number;
}

/**
 * Documents with the texts that their references name, in the same order. Every uri is read before the first is fetched, and the
 * first that fails ends the others.
 *
 * @param context a plan with references needs it
 * @throws RpcError -32602 naming the uri; the signal's reason when it aborts
 */
export async function fetchBodies<Document extends PlannedDocument>(
  sent: readonly Sent<Document>[],
  context: FetchContext | undefined,
  signal: AbortSignal,
): Promise<Sent<WholeDocument<Document>>[]> {
  if (context === undefined) return sent.map((one) => ({ ...one, document: whole(one.document) }));
  const { fetcher, tenantId } = context;
  const references = sent.flatMap(({ document: { text } }) => (typeof text === "string" ? [] : [text]));
  for (const { uri, field } of references) {
    try {
      fetcher.check(uri);
    } catch (error) {
      throw refusal(error, field, context);
    }
  }

  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const fetched = new Map<BodyReference, FetchedText>();
  const fetchOne = async (reference: BodyReference) => {
    if (either.aborted) return;
    try {
      fetched.set(reference, await fetcher.fetch(reference.uri, reference.type, either, tenantId));
    } catch (error) {
      if (!either.aborted) failed.abort(refusal(error, reference.field, context));
    }
  };
  await someAtATime(references, fetcher.concurrencyPerCall, fetchOne);
  either.throwIfAborted();
  return sent.map(({ document, index }) => ({ index, document: whole(document, fetched) }));
}

function whole<Document extends PlannedDocument>(
  document: Document,
  fetched?: ReadonlyMap<BodyReference, FetchedText>,
): WholeDocument<Document> {
  const reference = document.text;
  if (typeof reference === "string") return { ...document, text: reference };
  const found = fetched?.get(reference);
  if (found === undefined) throw new Error("references are not planned where nothing fetches them");
  const { text, title, isTrusted, isCitable } = found;
  return {
    ...document,
    text,
    // Where it came from, whatever meta says of that; a title of the caller's is better than the page's.
    citation: {
      ...(title !== undefined && { title }),
      ...document.citation,
      ...(isCitable && { uri: reference.uri }),
    },
    ...(!isTrusted && { claimedTrust: "untrusted" }),
  };
}

function refusal(error: unknown, field: string, context: FetchContext): unknown {
  if (!(error instanceof FetchRefusal)) return error;
  context.refused(error.stage);
  return invalidParams({ field, detail: error.message });
}
