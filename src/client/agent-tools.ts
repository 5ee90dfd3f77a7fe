import type { CallOptions } from "./caller.ts";
import { isAdvertised, serverMaxK } from "./gate.ts";
import type { RcpClient } from "./rcp-client.ts";
import { type RenderOptions, renderHits } from "./render-hits.ts";
import { Bindings, type BoundValue, type Resolvers, UnresolvedParamError } from "./resolvers.ts";
import {
  addTool,
  deleteTool,
  fetchTool,
  type Render,
  SEARCH_PARAMS,
  searchTool,
  type ToolAnswer,
  type ToolDefinition,
} from "./tool-definitions.ts";
import {
  checkBound,
  filterParams,
  type ParamsSchema,
  readArguments,
  schemaOf,
  strayArguments,
  type ToolParam,
} from "./tool-params.ts";

/** Tools for an agent's model: what a resolver binds is in no definition, and what the model says of it changes nothing. */

export interface AgentTool {
  readonly name: string;
  readonly description: string;
  /** What the model may fill. */
  readonly exposedParams: readonly ToolParam[];
  /** The same as JSON Schema. */
  readonly parameters: ParamsSchema;
  /**
   * @param args what the model filled in, parsed
   * @throws ToolInputError and UnresolvedParamError before anything is sent; then as the client's call does
   */
  call(args: unknown, options?: CallOptions): Promise<ToolAnswer>;
}

/** Names only. What others are called is the model's own text, so they are counted. */
export type AgentToolEvent =
  /** The model sent params that the tool does not expose. They were not looked at. */
  | { readonly kind: "ignored"; readonly tool: string; readonly bound: readonly string[]; readonly others: number }
  /** Nothing was sent. */
  | { readonly kind: "unresolved"; readonly tool: string; readonly param: string }
  /** No tool has params of these names: they are conditions of every call, and `client` may be chosen by them. */
  | { readonly kind: "conditions"; readonly params: readonly string[] };

type Logger = (event: AgentToolEvent) => void;

/** What was resolved, by name, without a prototype. */
export type BoundParams<Names extends string> = Readonly<Record<Names, BoundValue>>;

/** A client, or what chooses one by what was resolved: for a host of several tenants, each with a token of its own. */
export type ClientSource<Names extends string> =
  | RcpClient
  | ((bound: BoundParams<Names>) => RcpClient | Promise<RcpClient>);

export interface AgentToolOptions<Context, Names extends string> {
  readonly client: ClientSource<Names>;
  readonly resolvers?: Resolvers<Context, Names>;
  /** What resolvers read, or what gives it at the time of each call. */
  readonly context?: Context | (() => Context | Promise<Context>);
  /** Bound params that have to be filter fields: without them, a name that the server does not advertise confines nothing. */
  readonly confine?: readonly NoInfer<Names>[];
  /** Tools that write, each with the client whose token may. None unless given. */
  readonly write?: { readonly add?: ClientSource<Names>; readonly delete?: ClientSource<Names> };
  readonly render?: Omit<RenderOptions, "firstNumber">;
  /** Most passages that the model may ask for. */
  readonly maxK?: number;
  readonly logger?: Logger;
}

/**
 * Makes the tools that the server's capabilities allow: `search` with the advertised filter fields, `fetch_document`, and those that
 * write if they are asked for. Citation numbers go on from call to call, so make one set for each conversation.
 *
 * A bound filter field confines `fetch_document`, too: a document without that value is not found.
 *
 * @throws TypeError for a resolver that is no function, for a name in `confine` that is no bound filter field, and for tools that write
 *   beside a bound filter field, which could not confine them
 * @throws UnresolvedParamError where `client` is chosen by what was resolved, and that has no value now
 */
export async function createAgentTools<Context = undefined, const Names extends string = never>(
  options: AgentToolOptions<Context, Names>,
): Promise<readonly AgentTool[]> {
  const { client, confine = [], write = {}, maxK = 20, logger = () => {} } = options;
  const bindings = new Bindings<Context>(options.resolvers ?? {}, options.context as Context);
  const reader = typeof client === "function" ? await client(withoutPrototype(await bindings.resolve())) : client;
  const { capabilities } = reader.serverInfo ?? (await reader.info());

  const filters = filterParams(capabilities, SEARCH_PARAMS);
  const within = filters.filter(({ name }) => bindings.has(name));
  const unknown = confine.filter((one) => !within.some(({ name }) => name === one));
  if (unknown.length > 0)
    throw new TypeError(
      `confine must name filter fields that the server advertises and a resolver binds, unlike ${unknown.join(", ")}`,
    );
  if (within.length > 0 && (write.add ?? write.delete) !== undefined)
    throw new TypeError("tools that write cannot be confined by a filter field: bind none, or ask for none of them");

  let numbered = 0;
  const render: Render = (hits, result) => {
    const { text, citations } = renderHits(hits, { ...options.render, firstNumber: numbered + 1 });
    numbered += citations.length;
    return { text, citations, result };
  };
  const mostK = Math.min(maxK, serverMaxK(capabilities));
  const search = isAdvertised("retrieve", capabilities) ? [searchTool(filters, mostK, render)] : [];
  const fetching = isAdvertised("x-pgrcp/document", capabilities) ? [fetchTool(within, render)] : [];
  const offered = [
    ...[...search, ...fetching].map((definition) => ({ definition, source: client })),
    ...(write.add === undefined ? [] : [{ definition: addTool, source: write.add }]),
    ...(write.delete === undefined ? [] : [{ definition: deleteTool, source: write.delete }]),
  ];

  const params = new Set(offered.flatMap(({ definition }) => definition.params.map(({ name }) => name)));
  const conditions = bindings.names.filter((name) => !params.has(name));
  if (conditions.length > 0) logger({ kind: "conditions", params: conditions });
  return offered.map(({ definition, source }) => toolOf(definition, source, bindings, logger));
}

/** Nothing of the bindings can be reached from a tool. */
function toolOf<Context, Names extends string>(
  { name, description, params, filters, run }: ToolDefinition,
  source: ClientSource<Names>,
  bindings: Bindings<Context>,
  logger: Logger,
): AgentTool {
  const hidden = params.filter((param) => bindings.has(param.name));
  const unnameable = filters.filter(({ canBeExposed }) => !canBeExposed).map((filter) => filter.name);
  const exposed = params.filter((param) => !hidden.includes(param) && !unnameable.includes(param.name)).map(bare);
  return Object.freeze({
    name,
    description,
    exposedParams: Object.freeze(exposed),
    parameters: schemaOf(exposed),
    async call(args: unknown, options: CallOptions = {}): Promise<ToolAnswer> {
      const stray = strayArguments(exposed, (sent) => bindings.has(sent), args);
      if (stray.bound.length + stray.others > 0) logger({ kind: "ignored", tool: name, ...stray });
      const values = new Map<string, BoundValue>(readArguments(exposed, args));
      try {
        const bound = await bindings.resolve();
        for (const param of hidden) {
          const takesList = filters.some((filter) => filter.name === param.name);
          values.set(param.name, checkBound(param, bound.get(param.name), takesList));
        }
        options.signal?.throwIfAborted();
        const client = typeof source === "function" ? await source(withoutPrototype(bound)) : source;
        return await run(client, values, options, bound);
      } catch (error) {
        if (error instanceof UnresolvedParamError) logger({ kind: "unresolved", tool: name, param: error.param });
        throw error;
      }
    },
  });
}

/** A param as it is shown: what else is known of a filter field is left behind. */
const bare = ({ name, type, description, required, minimum, maximum }: ToolParam): ToolParam =>
  Object.freeze({
    ...{ name, type, description, required },
    ...(minimum !== undefined && { minimum }),
    ...(maximum !== undefined && { maximum }),
  });

/** A name that was not bound is absent, whatever objects inherit. */
function withoutPrototype<Names extends string>(bound: ReadonlyMap<string, BoundValue>): BoundParams<Names> {
  return Object.freeze(Object.assign(Object.create(null), Object.fromEntries(bound)));
}
