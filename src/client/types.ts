import type { FusionMethod, RetrieveMode } from "../protocol/wire.ts";

/** What a caller sends (RCP §7); what comes back is in protocol/wire.ts. */

export interface RetrieveParams {
  readonly query: string;
  readonly k?: number;
  readonly mode?: RetrieveMode;
  readonly candidateK?: number;
  readonly fusion?: {
    readonly method: FusionMethod;
    readonly weights?: { readonly dense: number; readonly sparse: number };
    readonly rrfK?: number;
    readonly alpha?: number;
  };
  readonly filter?: object;
  readonly minScore?: number;
  readonly includeText?: boolean;
  readonly includeVectors?: boolean;
  readonly strict?: boolean;
  readonly indexVersion?: string;
  readonly _meta?: object;
}

export interface NewDocument {
  /** Makes the call idempotent: the same id replaces the document (RCP §7.10). */
  readonly id?: string;
  /** A blob is for servers that fetch bodies: `mimeType` text/plain, text/markdown or text/html (RCP §4.8). */
  readonly text: string | { readonly type: "blob"; readonly mimeType: string; readonly uri: string };
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** RCP §7.1 and §7.2. Capabilities are the server's words: look for a key before using what it stands for. */
export interface ServerInfo {
  readonly protocolVersion: number;
  readonly server: { readonly name: string; readonly version: string };
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

export interface AddResult {
  /** In the order of the documents. */
  readonly ids: readonly string[];
  readonly chunks?: number;
}

export interface DeleteResult {
  readonly deleted: number;
}
