import type { Principal } from "../auth/principal.ts";
import type { Capabilities } from "../catalog/advertise.ts";
import type { CorpusName } from "../catalog/corpus.ts";
import type { Config } from "../config/config.ts";
import type { CorpusStore } from "../db/corpus-store.ts";
import type { CursorKeys } from "../db/cursor-keys.ts";
import type { Database } from "../db/database.ts";
import type { Fetcher } from "../fetch/fetch-text.ts";
import type { EmbeddingModel } from "../models/embedding.ts";
import type { Reranker } from "../models/reranker.ts";
import type { TextClassifier } from "../models/text-classifier.ts";
import type { TextGenerator } from "../models/text-generator.ts";
import type { Observe } from "../observability/observation.ts";
import type { Progress } from "../protocol/wire.ts";
import type { Offer } from "./offer.ts";

/** What one call knows besides its params. */
export interface Call {
  readonly principal: Principal;
  /** From the path: `/rcp` is the default corpus, `/corpora/<name>/rcp` any other. */
  readonly corpus: CorpusName;
  /** The set of the caller's session, or what it would be given now. */
  readonly capabilities: Capabilities;
  /** Aborts with an RpcError as its reason: -32014 at the deadline, -32006 on a cancel or a gone client. */
  readonly signal: AbortSignal;
  /** Milliseconds left for SQL, for `statement_timeout`. */
  remainingMs(): number;
  /** Tells the caller how far the call is (RCP §9). Never waits and never throws. Undefined when it did not ask to be told. */
  readonly report: ((progress: Progress) => void) | undefined;
}

/** What methods work with; built once in app.ts. */
export interface Services {
  readonly config: Config;
  readonly offer: Offer;
  readonly database: Database;
  readonly corpora: CorpusStore;
  readonly embedding: EmbeddingModel;
  readonly cursorKeys: CursorKeys;
  /** Undefined when none is configured: what needs it is then not advertised. */
  readonly reranker: Reranker | undefined;
  readonly generator: TextGenerator | undefined;
  /** Undefined when it is switched off. */
  readonly fetcher: Fetcher | undefined;
  /** Undefined: the screen's own rules judge texts alone. */
  readonly classifier: TextClassifier | undefined;
  readonly observe: Observe;
}

/** Answers one method. Params are a plain object; a handler validates them itself and throws RpcErrors. */
export type Handler = (params: Readonly<Record<string, unknown>>, call: Call, services: Services) => Promise<object>;
