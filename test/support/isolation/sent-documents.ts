import { SeededRandom } from "../seeded-random.ts";

/** Filter fields of the isolation tests. */
export const FIELDS = { year: "int", tags: "keyword[]", owner: "keyword", place: "keyword", v: "int" } as const;

/** The tenants' own words. Plain, so that a term is a word and no tokenizer is needed to tell what should be found. */
export const WORDS = `amber basalt cedar delta ember fjord garnet harbor island jasper kelp lagoon meadow nectar opal
prairie quartz river summit tundra umber valley willow zephyr anchor beacon canyon dune estuary forest glacier heath`.split(
  /\s+/,
);

/** In the title of every document, so one query finds every chunk. */
export const EVERYWHERE = "ledger";

export interface SentDocument {
  readonly id: string;
  readonly text: string;
  readonly meta: Readonly<Record<string, unknown>>;
}

export interface Owner {
  /** A word that only this tenant's documents may hold. */
  readonly marker: string;
  /** Which of the tenant's corpora. */
  readonly place: "default" | "vault";
}

/** How many texts an id can have, one after the other. */
export const VARIANTS = 6;

/**
 * A document as a tenant sends it. All tenants send the same ids with the same texts; by its id, a document also holds its
 * tenant's marker in text and meta, in meta only, or nowhere.
 */
export function documentOf(owner: Owner, id: string, variant: number): SentDocument {
  const key = JSON.stringify([owner.marker, owner.place, id, variant]);
  const known = made.get(key) ?? makeDocument(owner, id, variant);
  made.set(key, known);
  return known;
}

const made = new Map<string, SentDocument>();

function makeDocument({ marker, place }: Owner, id: string, variant: number): SentDocument {
  const random = new SeededRandom(hash(`${id}/${variant}`));
  const sentences = Array.from({ length: hash(id) % 4 === 0 ? random.integer(8, 14) : random.integer(1, 2) }, () =>
    Array.from({ length: random.integer(4, 9) }, () => random.pick(WORDS)),
  );
  const kind = markOf(id);
  if (kind === "text") sentences[random.integer(0, sentences.length - 1)]?.push(marker);
  const text = sentences.map((words) => `${words.join(" ")}.`).join(" ");
  const meta = {
    title: `${EVERYWHERE} ${random.pick(WORDS)}`,
    v: variant,
    year: 2000 + random.integer(0, 9),
    tags: [random.pick(["red", "green"]), ...(variant % 2 === 0 ? ["even"] : [])],
    place,
    ...(kind === "nowhere" ? {} : { owner: marker }),
  };
  return { id, text, meta };
}

const MARKS = ["text", "meta", "nowhere"] as const;

const markOf = (id: string): (typeof MARKS)[number] => MARKS[(hash(id) >>> 8) % 3] ?? "text";

/** FNV-1a with a last mix. */
function hash(text: string): number {
  let h = 0x811c9dc5;
  for (const character of text) h = Math.imul(h ^ (character.codePointAt(0) ?? 0), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  return (h ^ (h >>> 13)) >>> 0;
}

/** The terms of a text under the language `none`, where words are plain. */
export const termsOf = (text: string): string[] => text.toLowerCase().match(/[a-z0-9]+/g) ?? [];
