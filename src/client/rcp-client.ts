import type { Progress, RetrieveResult, TransformResult } from "../protocol/wire.ts";
import { Caller, type CallOptions, type OutgoingCall, type RcpClientOptions } from "./caller.ts";
import type { Json } from "./exchange.ts";
import {
  readAccepted,
  readAddResult,
  readDeleteResult,
  readDocument,
  readEmbedResult,
  readEngines,
  readGraphResult,
  readMemoryBuildResult,
  readMemoryRecallResult,
  readMultiVectorResult,
  readRerankResult,
  readRetrieveResult,
  readSparseResult,
  readTransformResult,
} from "./read-results.ts";
import type {
  AddResult,
  DeleteResult,
  DocumentParams,
  DocumentView,
  EmbedParams,
  EmbedResult,
  Engine,
  FeedbackParams,
  GraphParams,
  GraphResult,
  MemoryBuildParams,
  MemoryBuildResult,
  MemoryRecallParams,
  MemoryRecallResult,
  MultiVectorResult,
  NewDocument,
  RerankParams,
  RerankResult,
  RetrieveEvent,
  RetrieveParams,
  ServerInfo,
  SparseParams,
  SparseResult,
  TransformParams,
} from "./types.ts";

/** For a write: with a key it is applied once, however often it is sent (RCP §7.10). */
export interface WriteOptions extends CallOptions {
  readonly idempotencyKey?: string;
}

export interface AddOptions extends WriteOptions {
  readonly chunk?: boolean;
  readonly contextual?: boolean;
}

/**
 * A client of one corpus: typed calls over HTTP, retried as RCP §12.2 says, with a session only where the server wants one.
 *
 * Once `info` or `initialize` has been answered, what the server does not advertise is refused here, before anything is sent.
 */
export class RcpClient {
  readonly #caller: Caller;

  /** @throws TypeError when the URL is no RCP base URL, or a token would travel readable over a network */
  constructor(options: RcpClientOptions) {
    this.#caller = new Caller(options);
  }

  /** What the server last said of itself; undefined before `info` or `initialize`. */
  get serverInfo(): ServerInfo | undefined {
    return this.#caller.serverInfo;
  }

  /** Opens a session (RCP §13). Not needed: it is opened on the first call to a server that requires one. */
  async initialize(options: CallOptions = {}): Promise<ServerInfo> {
    return this.#caller.initialize(options);
  }

  async info(options: CallOptions = {}): Promise<ServerInfo> {
    return this.#caller.info(options);
  }

  async ping(options: CallOptions = {}): Promise<void> {
    await this.#ask("ping", {}, options);
  }

  async retrieve(params: RetrieveParams, options: CallOptions = {}): Promise<RetrieveResult> {
    return readRetrieveResult(await this.#caller.call(retrieveCall(params), options));
  }

  /**
   * What `retrieve` does, with what the server says on the way. Progress is advisory: a server may send none, and a try that is made
   * again begins again. Leaving the loop cancels the call.
   */
  async *retrieveStream(params: RetrieveParams, options: CallOptions = {}): AsyncGenerator<RetrieveEvent, void, void> {
    const left = new AbortController();
    const signal = options.signal === undefined ? left.signal : AbortSignal.any([options.signal, left.signal]);
    const waiting: Progress[] = [];
    let wake = (): void => {};
    const onProgress = (progress: Progress): void => {
      waiting.push(progress);
      wake();
    };
    const answer = this.#caller.call({ ...retrieveCall(params), onProgress }, { ...options, signal });
    const settled = answer.then(
      () => true,
      () => true,
    );
    try {
      for (let isOver = false; !isOver; ) {
        const { promise: woken, resolve } = Promise.withResolvers<false>();
        wake = () => resolve(false);
        if (waiting.length === 0) isOver = await Promise.race([woken, settled]);
        for (const progress of waiting.splice(0)) yield { kind: "progress", progress };
      }
      yield { kind: "result", result: readRetrieveResult(await answer) };
    } finally {
      left.abort();
    }
  }

  async embed(params: EmbedParams, options: CallOptions = {}): Promise<EmbedResult> {
    return readEmbedResult(await this.#ask("embed", params, options), params.inputs.length);
  }

  async embedSparse(params: SparseParams, options: CallOptions = {}): Promise<SparseResult> {
    return readSparseResult(await this.#ask("embed/sparse", params, options), params.texts.length);
  }

  async embedMulti(params: Omit<EmbedParams, "encoding">, options: CallOptions = {}): Promise<MultiVectorResult> {
    return readMultiVectorResult(await this.#ask("embed/multi", params, options), params.inputs.length);
  }

  async rerank(params: RerankParams, options: CallOptions = {}): Promise<RerankResult> {
    return readRerankResult(await this.#ask("rerank", params, options), params.passages.length);
  }

  async queryTransform(params: TransformParams, options: CallOptions = {}): Promise<TransformResult> {
    return readTransformResult(await this.#ask("query/transform", params, options));
  }

  async graph(params: GraphParams, options: CallOptions = {}): Promise<GraphResult> {
    return readGraphResult(await this.#ask("graph", params, options));
  }

  /** Adds or replaces documents. Repeated after a lost connection only with a key, or when every document has an id (RCP §7.10). */
  async indexAdd(documents: readonly NewDocument[], options: AddOptions = {}): Promise<AddResult> {
    const { chunk, contextual, idempotencyKey } = options;
    const call: OutgoingCall = {
      method: "index/add",
      params: {
        documents,
        ...(chunk !== undefined && { chunk }),
        ...(contextual !== undefined && { contextual }),
        ...keyMeta(idempotencyKey),
      },
      isIdempotent: idempotencyKey !== undefined || documents.every((document) => document.id !== undefined),
    };
    return readAddResult(await this.#caller.call(call, options), documents.length);
  }

  async indexDelete(ids: readonly string[], options: WriteOptions = {}): Promise<DeleteResult> {
    return readDeleteResult(await this.#ask("index/delete", { ids, ...keyMeta(options.idempotencyKey) }, options));
  }

  async catalogList(options: CallOptions = {}): Promise<readonly Engine[]> {
    return readEngines(await this.#ask("catalog/list", {}, options));
  }

  /** @returns how many signals the server recorded */
  async feedback(params: FeedbackParams, options: CallOptions = {}): Promise<number> {
    return readAccepted(await this.#caller.call({ method: "feedback", params, isIdempotent: false }, options));
  }

  async memoryBuild(params: MemoryBuildParams, options: CallOptions = {}): Promise<MemoryBuildResult> {
    const isIdempotent = params.memoryId !== undefined;
    return readMemoryBuildResult(await this.#caller.call({ method: "memory/build", params, isIdempotent }, options));
  }

  async memoryRecall(params: MemoryRecallParams, options: CallOptions = {}): Promise<MemoryRecallResult> {
    return readMemoryRecallResult(await this.#ask("memory/recall", params, options));
  }

  /** The document that a hit is of, whole or that chunk alone, as it is now (`x-pgrcp/document`). */
  async document(params: DocumentParams, options: CallOptions = {}): Promise<DocumentView> {
    return readDocument(await this.#ask("x-pgrcp/document", params, options));
  }

  /** Ends the session, if one was opened. */
  async close(options: CallOptions = {}): Promise<void> {
    await this.#caller.close(options);
  }

  /** A call that changes nothing, or may be made twice. */
  #ask(method: OutgoingCall["method"], params: object, options: CallOptions): Promise<Json> {
    return this.#caller.call({ method, params, isIdempotent: true }, options);
  }
}

/** Of a trajectory the server remembers what it showed, so that a repeat would not show it again (RCP §7.7.3). */
const retrieveCall = (params: RetrieveParams): OutgoingCall => ({
  method: "retrieve",
  params,
  isIdempotent: params.sessionId === undefined,
});

const keyMeta = (idempotencyKey: string | undefined): object =>
  idempotencyKey === undefined ? {} : { _meta: { idempotencyKey } };
