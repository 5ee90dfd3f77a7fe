import type { TenantId } from "../catalog/corpus.ts";
import { compile, noRows, type Statement, sql } from "./sql.ts";

/** Calls of one principal that were refused with -32012. */
export interface RefusedCalls {
  readonly tenantId: TenantId;
  readonly issuer: string;
  readonly subject: string;
  readonly client: string;
  /** Of the last of them. */
  readonly tokenId: string | undefined;
  /** One of the protocol's, or a word for several. */
  readonly method: string;
  /** Of the last of them. */
  readonly corpus: string | undefined;
  readonly count: number;
  /** What was missing, in the answer's own words. */
  readonly detail: string | undefined;
}

/** For the state role: a column that it does not name is the database's to fill in. */
export function recordRefusals(refused: RefusedCalls): Statement {
  const { tenantId, issuer, subject, client, tokenId, method, corpus, count, detail } = refused;
  return compile(
    sql`insert into pgrcp_state.audit (tenant_id, action, issuer, subject, client, token_id, method, corpus, count, detail)
values (${tenantId}, 'refuse', ${issuer}, ${subject}, ${client}, ${tokenId ?? null}, ${method}, ${corpus ?? null}, ${count}, ${detail ?? null})`,
    noRows,
  );
}
