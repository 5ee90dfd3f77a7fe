import { encodedParts } from "./encoded-text.ts";
import { hasExfiltrationLink } from "./exfiltration-links.ts";
import { instructionScore, turnedScore } from "./find-instructions.ts";
import { hiddenParts, shownText } from "./hidden-markup.ts";
import { lettersApart, wordsTogether } from "./respelled-text.ts";
import { revealText } from "./reveal-text.ts";
import { hasRoleMarkers } from "./role-markers.ts";

export type Finding =
  | "hidden-characters"
  | "hidden-markup"
  | "encoded-text"
  | "model-instructions"
  | "role-markers"
  | "exfiltration-link";

export interface Screening {
  readonly injectionSuspected: boolean;
  /** In the order of `Finding`, each once. */
  readonly findings: readonly Finding[];
}

/** Orders in the open are suspected from this score on, those that somebody took the trouble to hide from the lower one. */
const SUSPECTED = 1;
const SUSPECTED_WHEN_HIDDEN = 0.5;

/**
 * Looks in a text for what is written for a model rather than for a reader. It reads phrases, not meaning: a plain request
 * without a word about instructions or replies passes, and an essay on prompt injection that quotes one does not. The absence of
 * findings promises nothing.
 *
 * Takes time linear in the text's length: repeats in patterns are bounded.
 */
export function screenText(text: string): Screening {
  const revealed = revealText(text);
  const { text: plain } = revealed;
  const found: Record<Finding, boolean> = {
    "hidden-characters": revealed.hidesText,
    "hidden-markup": hiddenParts(plain).some(isHiddenOrder),
    "encoded-text": encodedParts(plain).some(isHiddenOrder),
    "model-instructions": isOrder(plain),
    "role-markers": hasRoleMarkers(plain),
    "exfiltration-link": hasExfiltrationLink(plain),
  };
  const findings = (Object.keys(found) as Finding[]).filter((finding) => found[finding]);
  return { injectionSuspected: findings.length > 0, findings };
}

function isOrder(text: string): boolean {
  if (turnedScore(text) >= SUSPECTED) return true;
  const shown = shownText(text);
  if (shown !== undefined && instructionScore(shown) >= SUSPECTED) return true;
  return (
    lettersApart(text).some(isHiddenOrder) || wordsTogether(text).some((words) => instructionScore(words) >= SUSPECTED)
  );
}

function isHiddenOrder(part: string): boolean {
  const { text } = revealText(part);
  return instructionScore(text) >= SUSPECTED_WHEN_HIDDEN || hasRoleMarkers(text);
}
