import { filterFields } from "../../src/plan/filter-fields.ts";

/** One field of each type, single and list. */
export const EVERY_FIELD = filterFields({
  lang: "keyword",
  title: "text",
  year: "int",
  rating: "float",
  active: "bool",
  published: "date",
  tags: "keyword[]",
  notes: "text[]",
  years: "int[]",
  ratings: "float[]",
  flags: "bool[]",
  dates: "date[]",
});

/** The defaults of the configuration. */
export const FILTER_LIMITS = { maxDepth: 32, maxNodes: 512, maxListLength: 1_000, maxValueBytes: 4_096 };
