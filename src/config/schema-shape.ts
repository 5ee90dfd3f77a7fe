import type { z } from "zod";

/** What a piece of the schema wants, with defaults and optionality taken off. */
export type Shape =
  | { readonly kind: "section"; readonly keys: ReadonlyMap<string, Schema> }
  | { readonly kind: "list"; readonly element: Schema }
  | { readonly kind: "map" }
  | { readonly kind: "text"; readonly nullable: boolean; readonly secret: Secret | undefined; readonly url: boolean }
  | { readonly kind: "number" }
  | { readonly kind: "boolean" };

/** How a secret is shown: `value` as `<set>`, `url` with its password masked. */
export type Secret = "value" | "url";
export type Schema = z.core.$ZodType;

/**
 * Reads one level of the schema. A union of sections is the section of all their keys, so that a key can be found before it
 * is known which member applies.
 *
 * @throws Error for a kind of schema that the configuration has not used before
 */
export function shapeOf(schema: Schema, nullable = false): Shape {
  const { _zod } = schema as z.core.$ZodTypes;
  const def = _zod.def;
  switch (def.type) {
    case "default":
    case "prefault":
    case "optional":
      return shapeOf(def.innerType, nullable);
    case "nullable":
      return shapeOf(def.innerType, true);
    case "object":
      return { kind: "section", keys: new Map(Object.entries(def.shape)) };
    case "union":
      return shapeOfUnion(def.options.map((option) => shapeOf(option, nullable)));
    case "array":
      return { kind: "list", element: def.element };
    case "record":
      return { kind: "map" };
    case "string":
      return { kind: "text", nullable, secret: secretOf(schema), url: "format" in def && def.format === "url" };
    case "enum":
    case "literal":
      return { kind: "text", nullable, secret: undefined, url: false };
    case "number":
      return { kind: "number" };
    case "boolean":
      return { kind: "boolean" };
    default:
      throw new Error(`the configuration's schema has a ${def.type}, which schema-shape.ts does not know`);
  }
}

/** The schema at a path, or undefined when the path leaves the schema. */
export function schemaAt(root: Schema, path: readonly (string | number)[]): Schema | undefined {
  return path.reduce<Schema | undefined>((schema, part) => {
    if (schema === undefined) return undefined;
    const shape = shapeOf(schema);
    if (shape.kind === "section") return shape.keys.get(String(part));
    return shape.kind === "list" && typeof part === "number" ? shape.element : undefined;
  }, root);
}

function shapeOfUnion(options: readonly Shape[]): Shape {
  const keys = new Map<string, Schema>();
  for (const option of options) {
    if (option.kind !== "section") return { kind: "text", nullable: false, secret: undefined, url: false };
    for (const [key, schema] of option.keys) if (!keys.has(key)) keys.set(key, schema);
  }
  return { kind: "section", keys };
}

function secretOf(schema: Schema): Secret | undefined {
  const secret = (schema as z.ZodType).meta()?.secret;
  return secret === "value" || secret === "url" ? secret : undefined;
}
