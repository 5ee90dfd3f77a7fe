import { z } from "zod";
import { positive } from "./value-types.ts";

/** Field names are SQL identifiers behind `f_`, so they are short and plain. */
const FIELD_NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,59}$/;
const FIELD_NAME_RULE = "a field name is 1 to 60 letters, digits, _ . - and does not start with a digit, . or -";
const fieldType = z.enum([
  "keyword",
  "text",
  "int",
  "float",
  "bool",
  "date",
  "keyword[]",
  "text[]",
  "int[]",
  "float[]",
  "bool[]",
  "date[]",
]);

/** A table has at most 1,600 columns, and a wide row costs every exact scan. */
const MAX_FIELDS = 256;

/** What callers may filter by (RCP §8), and how large a filter may be. */
export const filter = z
  .strictObject({
    fields: z
      .record(z.string().regex(FIELD_NAME, FIELD_NAME_RULE), fieldType)
      .refine(
        (fields) => Object.keys(fields).length <= MAX_FIELDS,
        `at most ${MAX_FIELDS} fields, because each is a column`,
      )
      .default({}),
    maxDepth: positive.max(64).default(32),
    maxNodes: positive.default(512),
    maxListLength: positive.default(1_000),
    maxValueBytes: positive.default(4_096),
  })
  .prefault({});
