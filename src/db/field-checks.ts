import type { FilterFields } from "../catalog/corpus.ts";
import { formattedTypeOf } from "../sql/column-types.ts";
import type { ColumnFacts } from "./catalog-facts.ts";
import { error, type Finding } from "./finding.ts";

/** The configured filter fields against the columns that are there. */
export function checkFields(fields: FilterFields, columns: readonly ColumnFacts[]): readonly Finding[] {
  const byName = new Map(columns.map((column) => [column.column, column]));
  return [...fields.values()].flatMap((field) => {
    const found = byName.get(field.column);
    if (found === undefined) return [error(`filter field ${field.name} has no column yet`, "run `pgrcp migrate`")];
    if (found.type !== formattedTypeOf(field)) {
      const line = `filter field ${field.name} is ${formattedTypeOf(field)} in the configuration and ${found.type} in the database`;
      return [error(line, `set filter.fields.${field.name} back, and give the new type a field name of its own`)];
    }
    if (!found.filling) return [];
    return [error(`filter field ${field.name} is not filled yet`, "run `pgrcp migrate` to its end")];
  });
}
