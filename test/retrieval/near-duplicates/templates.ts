import type { SeededRandom } from "../../support/seeded-random.ts";
import { below } from "./floods.ts";

const list = (words: string) => words.split("|");

const NAMES = list("Ada Hill|Bob Lake|Cyd Moor|Dee Ford|Eve Stone|Fay Wood|Gus Field|Hal Brook|Ida Park|Jan Marsh");
const GOODS = list(
  "printer paper|office chairs|a standing desk|toner|network cables|monitors|headsets|window cleaning|legal advice",
);
const PARTS = list(
  "login page|billing export|search index|mobile app|report builder|calendar sync|file upload|user import",
);
const FAULTS = list(
  "shows a blank page|is very slow|loses the last entry|returns an error|sends everything twice|ignores the filter",
);
const CAUSES = list("a filter is set|two users save at once|the network is slow|the file is empty");
const COLOURS = list("red|navy blue|forest green|black|white|sand|burgundy|grey");
const CLOTHS = list("cotton|merino wool|linen|silk|recycled polyester");
const RESOURCES = list("users|orders|invoices|projects|teams|comments|files|webhooks|tokens|reports|tags|events");
const VERBS = [
  ["GET", "reads"],
  ["POST", "creates"],
  ["PATCH", "changes"],
  ["DELETE", "removes"],
] as const;
const DRUGS = list(
  "ibuprofen|paracetamol|aspirin|naproxen|amoxicillin|metformin|omeprazole|losartan|sertraline|warfarin",
);
const PATIENTS = list(
  "an adult|a child under twelve|a pregnant woman|a patient with kidney disease|someone over seventy",
);
const DOSES = list("half a gram|one gram|two grams|three grams|four grams");

type Template = (random: SeededRandom) => string;

/** Honest records of about 20 words that differ in few of them and mean different things. */
export const TEMPLATES: Readonly<Record<string, Template>> = {
  invoices: (r) =>
    `Invoice ${1000 + below(r, 9000)} to ${r.pick(NAMES)}, ${1 + below(r, 28)} ${r.pick(list("March|April|May|June"))}: ${below(r, 9000)} euros for ${r.pick(GOODS)}, payable within thirty days.`,
  tickets: (r) =>
    `Ticket ${below(r, 99_999)}: the ${r.pick(PARTS)} ${r.pick(FAULTS)} since version ${below(r, 9)}.${below(r, 20)}, reported by ${r.pick(NAMES)} with priority ${r.pick(list("low|normal|high|urgent"))}.`,
  variants: (r) =>
    `The classic shirt from our summer line in size ${r.pick(list("XS|S|M|L|XL|XXL"))}, colour ${r.pick(COLOURS)}, made of ${r.pick(CLOTHS)} with a ${r.pick(list("round|V|polo|crew"))} neck, machine washable.`,
  changes: (r) =>
    `Version ${below(r, 9)}.${below(r, 20)}.${below(r, 9)}: fixes the ${r.pick(PARTS)}, which ${r.pick(FAULTS)} when ${r.pick(CAUSES)}. All users should update.`,
  "API pages": (r) => {
    const [verb, does] = r.pick(VERBS);
    const resource = r.pick(RESOURCES);
    return `${verb} /v2/${resource}/{id} ${does} one of the ${resource} of the account. It needs a token with the scope ${resource}:${verb === "GET" ? "read" : "write"} and answers 404 where there is none.`;
  },
  answers: (r) =>
    `What is the highest daily dose of ${r.pick(DRUGS)} for ${r.pick(PATIENTS)}? The highest daily dose is ${r.pick(DOSES)}; ask a doctor before you take more.`,
};
