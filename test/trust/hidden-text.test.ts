import { expect, test } from "vitest";
import { screenText } from "../../src/trust/screen-text.ts";
import { KNOWN_ATTACKS, UNSEEN_ATTACKS } from "../support/attacks.ts";
import { OTHER_TECHNIQUES, TECHNIQUES } from "../support/hide-text.ts";

const ATTACKS = [...KNOWN_ATTACKS, ...UNSEEN_ATTACKS];
const amid = (text: string) => `The shop is open from nine to five.\n${text}\nOn Sundays it is closed.`;
const isCaught = (text: string) => screenText(amid(text)).injectionSuspected;
const open = ATTACKS.filter(isCaught);
const missed = ATTACKS.filter((text) => !isCaught(text));

const percent = (part: number, whole: number) => Math.round((100 * part) / whole);

/** Of the attacks that are caught in the open, and of those that are not, how many per cent are caught when they are hidden. */
function measure(techniques: Readonly<Record<string, (text: string) => string>>) {
  const rows = Object.entries(techniques).map(([technique, hide]) => {
    const caught = (attacks: readonly string[]) => attacks.filter((text) => isCaught(hide(text))).length;
    return {
      technique,
      caught: caught(open),
      of: open.length,
      "% caught": percent(caught(open), open.length),
      "% of others": percent(caught(missed), missed.length),
    };
  });
  console.table(rows);
  const total = rows.reduce((sum, { caught }) => sum + caught, 0);
  const share = total / (open.length * rows.length);
  console.info(`${total} of ${open.length * rows.length} hidden attacks are caught: ${(100 * share).toFixed(1)} %`);
  return { rows, share };
}

test("attacks in the open are caught as often as the README says", () => {
  expect([KNOWN_ATTACKS.filter(isCaught).length, UNSEEN_ATTACKS.filter(isCaught).length]).toEqual([14, 5]);
});

test("what is caught in the open is caught hidden, at least 9 times of 10, and by each technique at least 8 of 10", () => {
  const { rows, share } = measure(TECHNIQUES);

  expect(share).toBeGreaterThanOrEqual(0.9);
  expect(rows.filter((row) => row["% caught"] < 80)).toEqual([]);
});

test("of other techniques the README tells which hide an attack", () => {
  const { rows } = measure(OTHER_TECHNIQUES);

  expect(rows.filter((row) => row["% caught"] < 50).map(({ technique }) => technique)).toEqual([
    "letters upside down",
    "vowels left out",
    "Morse",
    "Braille",
    "decimal bytes",
  ]);
});
