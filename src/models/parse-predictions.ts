import { z } from "zod";
import { ProviderFailure } from "./provider-failure.ts";

/** Probabilities are computed in single precision, which may end a hair above 1. */
const MAX_PROBABILITY = 1.00001;

const answerSchema = z.array(z.array(z.object({ label: z.string(), score: z.number().min(0).max(MAX_PROBABILITY) })));

export interface SuspectLabels {
  readonly labels: readonly string[];
  /** A text is suspected from this probability of one of the labels on. */
  readonly threshold: number;
}

/**
 * Which texts an answer to `POST …/predict` suspects, in the order in which they were sent.
 *
 * @param answer parsed JSON, otherwise unchecked
 * @throws ProviderFailure when a text has no judgement: without one of the labels it has none, because a misspelt label would
 *   otherwise let everything pass
 */
export function parsePredictions(answer: unknown, count: number, { labels, threshold }: SuspectLabels): boolean[] {
  const parsed = answerSchema.safeParse(answer);
  if (!parsed.success) throw unusable("no lists of labels with probabilities");
  if (parsed.data.length !== count) throw unusable(`${parsed.data.length} lists of labels for ${count} texts`);
  return parsed.data.map((predictions) => {
    const named = predictions.filter(({ label }) => labels.includes(label));
    if (named.length === 0) throw unusable("none of the labels in models.classifier.labels");
    return named.some(({ score }) => score >= threshold);
  });
}

const unusable = (what: string) => new ProviderFailure(`answered ${what}`, { temporary: false });
