import { type Sql, sql } from "./sql.ts";

/** Where a corpus's chunks are: in one partition, or in two while they move. In one snapshot each chunk is in exactly one of them. */
export interface Place {
  readonly placement: string;
  readonly movingFrom?: string | undefined;
}

export const isSamePlace = (one: Place, other: Place): boolean =>
  one.placement === other.placement && one.movingFrom === other.movingFrom;

/** The row of `pgrcp.corpora c` says the same. */
export const isSamePlaceAs = ({ placement, movingFrom }: Place): Sql =>
  sql`c.placement = ${placement} and c.moving_from is not distinct from ${movingFrom ?? null}`;

/** ` = …`, to stand behind `placement`: what names no partition is planned for all of them. */
export const isIn = ({ placement, movingFrom }: Place): Sql =>
  movingFrom === undefined ? sql` = ${placement}` : sql` = any(${[placement, movingFrom]}::text[])`;
