import type { Principal } from "../auth/principal.ts";
import type { CorpusName } from "../catalog/corpus.ts";
import type { Config } from "../config/config.ts";
import type { CorpusStore } from "../db/corpus-store.ts";
import type { Database } from "../db/database.ts";
import type { EmbeddingModel } from "../models/embedding.ts";
import type { Observe } from "../observability/observation.ts";
import type { Offer } from "./offer.ts";

/** What one call knows besides its params. */
export interface Call {
  readonly principal: Principal;
  /** From the path: `/rcp` is the default corpus, `/corpora/<name>/rcp` any other. */
  readonly corpus: CorpusName;
  /** Aborts with an RpcError as its reason: -32014 at the deadline, -32006 on a cancel or a gone client. */
  readonly signal: AbortSignal;
  /** Milliseconds left for SQL, for `statement_timeout`. */
  remainingMs(): number;
}

/** What methods work with; built once in app.ts. */
export interface Services {
  readonly config: Config;
  readonly offer: Offer;
  readonly database: Database;
  readonly corpora: CorpusStore;
  readonly embedding: EmbeddingModel;
  readonly observe: Observe;
}

/** Answers one method. Params are a plain object; a handler validates them itself and throws RpcErrors. */
export type Handler = (params: Readonly<Record<string, unknown>>, call: Call, services: Services) => Promise<object>;
