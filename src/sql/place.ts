import { literal, plannedOnce, type Sql, type Statement, sql } from "./sql.ts";

/** The placement of the many small corpora. */
export const SHARED = "shared";

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

/** All of a corpus's chunks are in the partition that most corpora are in. */
export const isShared = ({ placement, movingFrom }: Place): boolean => placement === SHARED && movingFrom === undefined;

/**
 * ` = …`, to stand behind `placement`: what names no partition is planned for all of them. The one is named in the text, so that
 * a plan that is kept for any values is of that one alone.
 */
export function isIn({ placement, movingFrom }: Place): Sql {
  return movingFrom === undefined ? sql` = ${literal(placement)}` : sql` = any(${[placement, movingFrom]}::text[])`;
}

/**
 * A statement whose plan is as good for any other values, while the corpus is in one partition. A filter's is so in the shared one, where
 * a look at all of a corpus's chunks is never long; in its own, what passes may be few of a million or half.
 */
export const plannedIn = <Row>(place: Place, statement: Statement<Row>, hasFilter = false): Statement<Row> =>
  place.movingFrom === undefined && (isShared(place) || !hasFilter) ? plannedOnce(statement) : statement;
