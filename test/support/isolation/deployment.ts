import type { Credential } from "../../../src/auth/principal.ts";
import type { EmbeddingModel } from "../../../src/models/embedding.ts";

/**
 * A server under test, as far as its clients and its operator reach. How it runs is its own affair: in a thread of this process
 * (subject.ts), or in containers behind a TLS ingress. Its settings are those of subject-worker.ts where answers depend on them.
 */
export interface Deployment {
  /** Of the default corpus. */
  readonly url: string;
  /** Certificate of the authority that signed the server's own, for `https:`. */
  readonly authority?: string;
  /** What it embeds with. */
  readonly embedding: EmbeddingModel;
  /** A token for all of the run. Subject and client are the same whatever the tenant. */
  token(tenant: string, credential: Credential): Promise<string>;
  /** Makes a new tenant with an empty corpus, without stemming. */
  createTenant(tenant: string, corpus: string): Promise<void>;
  /** Resolves when nothing that was asked for is still on its way. */
  rest(): Promise<void>;
  /** What a query finds, asked by the owner of the tables, under no policy. Counts are numbers. */
  rows(text: string, values: readonly string[]): Promise<readonly Row[]>;
}

export type Row = Readonly<Record<string, unknown>>;
