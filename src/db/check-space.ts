import type { Corpus, EmbeddingSpace } from "../catalog/corpus.ts";
import { backendUnavailable } from "../protocol/errors.ts";
import { selectOtherSpace } from "../sql/operator.ts";
import type { OperatorDatabase } from "./database.ts";
import { error, type Finding } from "./finding.ts";

/**
 * Refuses a corpus whose vectors were made by another model than the configured one: their distances would mean nothing.
 *
 * Checked when a corpus is used. On Postgres it cannot be at start: no login of the server sees a corpus without its tenant.
 *
 * @throws RpcError -32010, not retryable
 */
export function checkSpace(corpus: Corpus, configured: EmbeddingSpace): void {
  const { identity, dimension } = corpus.space;
  if (identity === configured.identity && dimension === configured.dimension) return;
  throw backendUnavailable({
    retryable: false,
    detail:
      "this corpus was embedded with another model than the server now has; its operator can set models.embedding back, or " +
      "`pgrcp documents export` it and `pgrcp import` it into a new corpus",
  });
}

/**
 * What keeps a server on the embedded database from starting, where the operator is at hand: corpora of another model than the
 * configured one. Every call to them would be refused, so whoever changed the model is told at once, and while the old one can still
 * be put back.
 *
 * @returns one finding that names the first of them, or none
 */
export async function checkStoredSpaces(
  operator: Pick<OperatorDatabase, "read">,
  configured: EmbeddingSpace,
): Promise<readonly Finding[]> {
  const [other] = await operator.read(selectOtherSpace(configured));
  if (other === undefined) return [];
  const { tenant, corpus, space, total } = other;
  const more = total === 1 ? "" : ` (and so were ${total - 1} more)`;
  return [
    error(
      `corpus ${corpus} of tenant ${tenant} was embedded with ${nameOf(space)}${more}, and the configured model is ${nameOf(configured)}`,
      "set models.embedding back; or save each corpus with `pgrcp documents export`, move the data directory away, and import them with the new model",
    ),
  ];
}

const nameOf = ({ identity, dimension }: EmbeddingSpace): string => `${identity} of ${dimension} dimensions`;
