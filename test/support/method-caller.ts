import type { Principal } from "../../src/auth/principal.ts";
import { CREDENTIALS } from "../../src/auth/principal.ts";
import { type CorpusName, DEFAULT_CORPUS, type TenantId } from "../../src/catalog/corpus.ts";
import { configSchema } from "../../src/config/config.ts";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { CursorKeys } from "../../src/db/cursor-keys.ts";
import type { Database } from "../../src/db/database.ts";
import { createFetcher } from "../../src/fetch/fetch-text.ts";
import { capabilitiesOf } from "../../src/methods/capabilities.ts";
import type { Call, Handler, Services } from "../../src/methods/handler.ts";
import { indexAdd } from "../../src/methods/index-add.ts";
import { indexDelete } from "../../src/methods/index-delete.ts";
import { offerOf } from "../../src/methods/offer.ts";
import { retrieve } from "../../src/methods/retrieve.ts";
import type { EmbeddingModel } from "../../src/models/embedding.ts";
import type { Reranker } from "../../src/models/reranker.ts";
import type { TextClassifier } from "../../src/models/text-classifier.ts";
import type { TextGenerator } from "../../src/models/text-generator.ts";
import type { Hit, RetrieveResult } from "../../src/protocol/wire.ts";
import { testEmbeddingModel } from "./test-embedding.ts";

let tenants = 0;
/** A tenant nobody else in this process uses. */
export const freshTenant = (): TenantId => `tenant-${process.pid}-${tenants++}` as TenantId;

export interface Caller {
  readonly services: Services;
  add(
    documents: readonly object[],
    params?: object,
  ): Promise<{ ids: string[]; chunks: number; _meta: { indexVersion?: string; notes?: string[] } }>;
  delete(ids: readonly string[]): Promise<number>;
  retrieve(params: object): Promise<RetrieveResult>;
  hits(params: object): Promise<readonly Hit[]>;
  ids(params: object): Promise<string[]>;
}

/** Calls the three data methods as one tenant, without HTTP; the database is real. */
export function callerOf(
  database: Database,
  tenantId: TenantId,
  options: {
    config?: object;
    principal?: Partial<Principal>;
    corpus?: string;
    embedding?: EmbeddingModel;
    reranker?: Reranker;
    generator?: TextGenerator;
    classifier?: TextClassifier;
    signal?: AbortSignal;
    report?: Call["report"];
  } = {},
): Caller {
  const config = configSchema.parse(options.config ?? {});
  const { reranker, generator } = options;
  const services: Services = {
    config,
    offer: offerOf(config, { reranker, generator }),
    database,
    corpora: new CachedCorpusStore(database),
    embedding: options.embedding ?? testEmbeddingModel(),
    cursorKeys: new CursorKeys(database),
    reranker,
    generator,
    fetcher: config.fetch.enabled ? createFetcher(config) : undefined,
    classifier: options.classifier,
    observe: () => {},
  };
  const principal: Principal = {
    issuer: "https://issuer.test",
    subject: "user",
    client: "test",
    tenantId,
    credentials: new Set(CREDENTIALS),
    corpora: "all",
    tokenId: "token-1",
    expiresAt: 0,
    source: "api",
    trustCeiling: "untrusted",
    ...options.principal,
  };
  const corpus = (options.corpus ?? DEFAULT_CORPUS) as CorpusName;
  const call = (handler: Handler, params: object) =>
    handler(
      { ...params },
      {
        ...{ principal, corpus, capabilities: capabilitiesOf(services)(principal) },
        ...{
          signal: options.signal ?? new AbortController().signal,
          remainingMs: () => 30_000,
          report: options.report,
        },
      },
      services,
    );
  const ask = (params: object) => call(retrieve, { query: "test", k: 10, ...params }) as Promise<RetrieveResult>;
  return {
    services,
    add: (documents, params = {}) => call(indexAdd, { documents, ...params }) as ReturnType<Caller["add"]>,
    delete: async (ids) => ((await call(indexDelete, { ids })) as { deleted: number }).deleted,
    retrieve: ask,
    hits: async (params) => (await ask(params)).hits,
    ids: async (params) => (await ask(params)).hits.map((hit) => hit.id),
  };
}
