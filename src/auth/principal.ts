import type { TenantId } from "../catalog/corpus.ts";
import type { TrustLevel } from "../protocol/wire.ts";

/** The three credentials of DESIGN section 3. Each is its own audience and scope. */
export type Credential = "read" | "add" | "delete";
export const CREDENTIALS = ["read", "add", "delete"] as const satisfies readonly Credential[];

/** Whether the token is good for a corpus of its tenant, be it there or not. */
export const mayReach = ({ corpora }: Pick<Principal, "corpora">, corpus: string): boolean =>
  corpora === "all" || corpora.has(corpus);

/** Who calls, as far as a verified token tells. */
export interface Principal {
  readonly issuer: string;
  readonly subject: string;
  /** `client_id` or `azp`; empty when the token has neither. */
  readonly client: string;
  readonly tenantId: TenantId;
  /** Credentials in this token's hand: its audience and its scope are both there. */
  readonly credentials: ReadonlySet<Credential>;
  /** Names of the corpora that the token is good for. */
  readonly corpora: ReadonlySet<string> | "all";
  /** `jti`, for the audit trail. */
  readonly tokenId: string | undefined;
  /** Seconds since the epoch. */
  readonly expiresAt: number;
  /** The client certificate that the token is bound to (RFC 8705 §3.1): SHA-256 of its DER, base64url. Absent: to none. */
  readonly boundTo?: string;
  /** It has `auth.read.unredactedScope`. Absent: its answers are redacted. */
  readonly seesRedacted?: true;
  /** What the add credential writes as: recorded with each document. */
  readonly source: string;
  /** The most that a document written with this token can be trusted. */
  readonly trustCeiling: TrustLevel;
}
