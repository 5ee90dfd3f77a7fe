import type { TenantId } from "../catalog/corpus.ts";
import { compile, noRows, type Statement, sql } from "./sql.ts";

/**
 * Who did what, for the operator: `corpus_versions` has every write, `pgrcp_state.audit` has refusals and what operators did besides.
 * Neither holds a query, a text, a document's id or anything else that a caller sent but its own name.
 */

/** Who an operator's command is recorded as: no token stands behind it. */
export const OPERATOR = { issuer: "pgrcp", subject: "operator" } as const;

/** What an operator did that is no version of a corpus. */
export interface OperatorAction {
  readonly tenantId: TenantId;
  readonly action:
    | "create-tenant"
    | "set-quotas"
    | "create-corpus"
    | "set-language"
    | "revoke"
    | "restore"
    | "withdraw";
  readonly corpus?: string;
  readonly version?: number;
  readonly count?: number;
  readonly detail?: string;
}

/** Puts on record what an operator did, beside the change in its transaction. */
export function recordCommand({ tenantId, action, corpus, version, count, detail }: OperatorAction): Statement {
  return compile(
    sql`insert into pgrcp_state.audit (tenant_id, action, issuer, subject, corpus, version, count, detail)
values (${tenantId}, ${action}, ${OPERATOR.issuer}, ${OPERATOR.subject}, ${corpus ?? null}, ${version ?? null}::bigint, ${count ?? 1}, ${detail ?? null})`,
    noRows,
  );
}

export interface AuditRow {
  readonly at: string;
  readonly action: string;
  readonly issuer: string;
  readonly subject: string;
  readonly client: string | null;
  readonly tokenId: string | null;
  readonly method: string | null;
  readonly corpus: string | null;
  /** What the corpus was at afterwards; of `withdraw`, the oldest version that was left. */
  readonly version: number | null;
  /** Documents of a write, calls that were refused, versions that were withdrawn. */
  readonly count: number;
  readonly detail: string | null;
}

/** Everything that is recorded of a tenant since then, oldest first. @param since RFC 3339 */
export function selectAudit(tenantId: string, since: string): Statement<AuditRow> {
  return compile(
    sql`select recorded_at as at, action, issuer, subject, client, token_id, method, corpus, version, count, detail
from pgrcp_state.audit where tenant_id = ${tenantId} and recorded_at >= ${since}::timestamptz
union all
select committed_at, action, issuer, subject, null, token_id, null, corpus, version, documents, null
from pgrcp.corpus_versions where tenant_id = ${tenantId} and committed_at >= ${since}::timestamptz
order by at, version`,
    (row) => ({
      at: (row.at as Date).toISOString(),
      action: row.action as string,
      issuer: row.issuer as string,
      subject: row.subject as string,
      client: row.client as string | null,
      tokenId: row.token_id as string | null,
      method: row.method as string | null,
      corpus: row.corpus as string | null,
      version: row.version as number | null,
      count: row.count as number,
      detail: row.detail as string | null,
    }),
  );
}

/** Records of every tenant that were made at least so many days ago. */
export function deleteOldRecords(keptDays: number): Statement {
  return compile(
    sql`delete from pgrcp_state.audit where recorded_at <= now() - make_interval(days => ${keptDays}::int)`,
    noRows,
  );
}

/** Versions that nobody can ask for any more and that are too old to be remembered. A corpus keeps its newest one. */
export function deleteOldVersions(keptDays: number): Statement {
  return compile(
    sql`delete from pgrcp.corpus_versions where token is null and committed_at <= now() - make_interval(days => ${keptDays}::int)`,
    noRows,
  );
}
