/**
 * Everything worth logging or counting, as one union: call sites say what happened, the logger decides what to do with it.
 * No member may hold a query, a text, a token, a header's value or a meta value.
 */
export type Observation = Happening & {
  /** The trace of the call that it belongs to, if its caller named one (RCP §17.2). */
  readonly traceId?: string;
};

type Happening =
  | { readonly kind: "listening"; readonly url: string }
  | { readonly kind: "stopping"; readonly reason: string }
  | {
      readonly kind: "request";
      readonly method: string;
      readonly tenant: string | undefined;
      readonly corpus: string | undefined;
      readonly code: number;
      readonly latencyMs: number;
    }
  | {
      readonly kind: "token-refused";
      /** Which check failed, such as `exp` or `signature`. */
      readonly check: string;
      readonly issuer?: string;
      readonly audience?: readonly string[];
      readonly expiresAt?: number;
      readonly keyId?: string;
    }
  | { readonly kind: "identity-ignored"; readonly tenant: string; readonly member: string }
  /** A call that failed to name its token's tenant, through a door that asks for it. `tenant` is the token's. */
  | { readonly kind: "identity-refused"; readonly tenant: string; readonly member: string }
  | {
      /** How far a body by reference came; the answer does not say. */
      readonly kind: "fetch-refused";
      readonly tenant: string;
      readonly stage: string;
    }
  | { readonly kind: "rate-limited"; readonly bucket: "address" | "principal" }
  | {
      /** Why a caller was told that the server cannot: the answer itself must not say. */
      readonly kind: "backend-failed";
      readonly where: string;
      readonly code: number;
      /** The answer's own, which names a part of the server. */
      readonly detail?: string;
      readonly error: unknown;
    }
  | { readonly kind: "internal-error"; readonly where: string; readonly error: unknown }
  /** Refused calls that the audit record does not hold, because it could not be written. */
  | { readonly kind: "audit-failed"; readonly tenant: string; readonly refusals: number; readonly error: unknown }
  | { readonly kind: "database"; readonly event: string; readonly role?: string; readonly sqlstate?: string }
  /** A replica is read from, from now on or no longer. It is told by its host, port and database. */
  | {
      readonly kind: "replica";
      readonly replica: string;
      readonly state: "used" | "unused";
      /** Why it is unused: it is too far behind, it cannot be reached, or it is no replica of the primary. */
      readonly reason?: "late" | "away" | "other";
      readonly sqlstate?: string;
    }
  /** The primary answers a read that a replica was asked for: the corpus was not far enough there, or the read failed. */
  | {
      readonly kind: "read-sent-on";
      readonly replica: string;
      readonly reason: "behind" | "late" | "statement" | "away";
      readonly sqlstate?: string;
    }
  /** This process has too much to do, or no longer. */
  | {
      readonly kind: "load-shedding";
      readonly state: "begun" | "ended";
      readonly eventLoopDelayMs: number;
      readonly memoryShare: number;
    }
  | { readonly kind: "warning"; readonly text: string };

export type Observe = (observation: Observation) => void;
