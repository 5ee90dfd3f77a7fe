import { Document } from "@langchain/core/documents";
import { BaseRetriever, type BaseRetrieverInput } from "@langchain/core/retrievers";
import { DynamicStructuredTool } from "@langchain/core/tools";
import type { AgentTool } from "../agent-tools.ts";
import type { CallOptions } from "../caller.ts";
import type { RcpClient } from "../rcp-client.ts";
import { sortByTrust, type TrustOptions } from "../render-hits.ts";
import type { RetrieveParams } from "../types.ts";
import { visibleText } from "../visible-text.ts";
import { answerFramework } from "./answer-model.ts";

/** A retriever and tools for LangChain. */

/** The content of a tool's message is what the model reads; its artifact is the ToolAnswer, absent where the call was refused. */
export const toLangChainTools = (tools: readonly AgentTool[]): DynamicStructuredTool[] => tools.map(toLangChainTool);

function toLangChainTool(one: AgentTool): DynamicStructuredTool {
  // LangChain validates by the schema, and would refuse what the tool leaves out and reports.
  const { additionalProperties: _, ...schema } = structuredClone(one.parameters);
  return new DynamicStructuredTool({
    name: one.name,
    description: one.description,
    schema: { ...schema, required: [...schema.required] },
    responseFormat: "content_and_artifact",
    async func(args: unknown, _manager, config) {
      const signal = config?.signal;
      const told = await answerFramework(one, args, signal === undefined ? {} : { signal });
      return [told.text, told.isError ? undefined : told.answer];
    },
  });
}

export interface RcpRetrieverInput extends BaseRetrieverInput, TrustOptions {
  readonly client: RcpClient;
  /** Everything but the question: `k`, `mode`, `filter` and so on. */
  readonly params?: Omit<RetrieveParams, "query">;
  readonly callOptions?: CallOptions;
}

/** What a document says of where it is from. `meta` is the writer's own words. */
export interface RcpDocumentMetadata {
  readonly [name: string]: unknown;
  readonly docId: string;
  readonly score: number;
  readonly trust: string;
  readonly injectionSuspected: boolean;
  readonly source: string | undefined;
  readonly title: string | undefined;
  readonly uri: string | undefined;
  readonly meta: Readonly<Record<string, unknown>>;
}

/**
 * Passages as documents, in the order and with the omissions that `renderHits` has, hidden characters dropped. Their text goes into
 * prompts as it is, so delimit it there, or use the tools, which do.
 */
export class RcpRetriever extends BaseRetriever<RcpDocumentMetadata> {
  override lc_namespace = ["pgrcp", "client"];
  readonly #input: RcpRetrieverInput;

  static override lc_name(): string {
    return "RcpRetriever";
  }

  constructor(input: RcpRetrieverInput) {
    const { client: _client, params: _params, callOptions: _options, ...fields } = input;
    super(fields);
    this.#input = input;
  }

  override async _getRelevantDocuments(query: string): Promise<Document<RcpDocumentMetadata>[]> {
    const { client, params, callOptions } = this.#input;
    const { hits } = await client.retrieve({ ...params, query }, callOptions);
    return sortByTrust(hits, this.#input).map(
      ({ hit }) =>
        new Document({
          id: hit.id,
          pageContent: visibleText(hit.text ?? ""),
          metadata: {
            docId: hit.chunk.docId,
            score: hit.score,
            trust: hit.trust?.level ?? "untrusted",
            injectionSuspected: hit.trust?.injectionSuspected ?? false,
            source: hit.citation?.source,
            title: hit.citation?.title,
            uri: hit.citation?.uri,
            meta: hit.meta,
          },
        }),
    );
  }
}
