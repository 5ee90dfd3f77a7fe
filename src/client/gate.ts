import type { MethodName } from "../protocol/methods.ts";
import { isObject } from "../protocol/params.ts";
import { RcpCapabilityError } from "./errors.ts";
import type { Capabilities, RetrieveParams } from "./types.ts";

/** What a server does not advertise is not asked for (RCP §14.4). Capabilities are its own words, so no shape is taken for granted. */

/** The capability of each method; undefined = always there (RCP §7). */
const GATES = {
  initialize: undefined,
  info: undefined,
  ping: undefined,
  shutdown: undefined,
  embed: "embed",
  "embed/sparse": "sparseEmbed",
  "embed/multi": "multiVector",
  rerank: "rerank",
  retrieve: "retrieve",
  "query/transform": "transform",
  graph: "graph",
  "index/add": "index",
  "index/delete": "index",
  "catalog/list": "catalog",
  feedback: "feedback",
  "memory/build": "memory",
  "memory/recall": "memory",
  "x-pgrcp/document": "x-pgrcp",
} as const satisfies Record<MethodName, string | undefined>;

/** @throws RcpCapabilityError when the method, or an option in its params, is not advertised */
export function checkAdvertised(method: MethodName, params: object, capabilities: Capabilities): void {
  const capability = missingFor(method, params, capabilities);
  if (capability !== undefined) throw new RcpCapabilityError(method, capability);
}

export const isAdvertised = (method: MethodName, capabilities: Capabilities): boolean =>
  missingFor(method, {}, capabilities) === undefined;

function missingFor(method: MethodName, params: object, capabilities: Capabilities): string | undefined {
  const gate = GATES[method];
  if (gate === undefined) return undefined;
  const capability = part(capabilities, gate);
  if (capability === undefined) return gate;
  const sent: Readonly<Record<string, unknown>> = { ...params };
  switch (method) {
    case "retrieve":
      return missingOption(sent, capabilities);
    case "index/add":
      if (capability.writable === false) return "index.writable";
      if (sent.chunk === true && capability.chunking !== true) return "index.chunking";
      return sent.contextual === true && capability.contextual !== true ? "index.contextual" : undefined;
    case "embed":
      return offers(capability.encodings ?? ["json"], sent.encoding) ? undefined : "embed.encodings";
    case "rerank":
      return offers(capability.methods, sent.method) ? undefined : "rerank.methods";
    case "query/transform":
      return offers(capability.methods, sent.method) ? undefined : "transform.methods";
    case "x-pgrcp/document":
      return offers(capability.methods ?? [], "document") ? undefined : "x-pgrcp.methods";
    case "graph":
      return offers(capability.ops, sent.op) ? undefined : "graph.ops";
    default:
      return undefined;
  }
}

/** Under `strict: false` the server itself leaves out what it lacks, except for options that nothing can stand in for. */
function missingOption(sent: Readonly<Partial<Record<keyof RetrieveParams, unknown>>>, capabilities: Capabilities) {
  const retrieve = part(capabilities, "retrieve") ?? {};
  const is = (value: unknown): boolean => value !== undefined && value !== null && value !== false;
  if (is(sent.cursor) && part(capabilities, "pagination") === undefined) return "pagination";
  if (is(sent.indexVersion) && retrieve.snapshots !== true) return "retrieve.snapshots";
  if (sent.strict === false) return undefined;
  if (!offers(retrieve.modes, sent.mode)) return "retrieve.modes";
  if (!offers(retrieve.fusion, isObject(sent.fusion) ? sent.fusion.method : undefined)) return "retrieve.fusion";
  if (!offers(retrieve.units ?? ["chunk", "passage"], sent.unit)) return "retrieve.units";
  if (is(sent.mmr) && retrieve.mmr !== true) return "retrieve.mmr";
  if (is(sent.tokenBudget) && retrieve.tokenBudget !== true) return "retrieve.tokenBudget";
  if (is(sent.rerank) && retrieve.rerankBuiltin !== true) return "retrieve.rerankBuiltin";
  const methodOfRerank = isObject(sent.rerank) ? sent.rerank.method : undefined;
  if (!offers(part(capabilities, "rerank")?.methods, methodOfRerank)) return "rerank.methods";
  if (is(sent.rewrite)) {
    const transform = part(capabilities, "transform");
    if (transform === undefined) return "transform";
    if (!offers(transform.methods, sent.rewrite)) return "transform.methods";
  }
  return is(sent.filter) ? missingOfFilter(sent.filter, part(capabilities, "filter")) : undefined;
}

function missingOfFilter(tree: unknown, filter: Capabilities | undefined): string | undefined {
  if (filter === undefined) return "filter";
  if (!isObject(tree)) return undefined; // for the server to refuse
  for (const inner of [tree.and, tree.or, [tree.not]].flat()) {
    const missing = isObject(inner) ? missingOfFilter(inner, filter) : undefined;
    if (missing !== undefined) return missing;
  }
  const fields = Array.isArray(filter.fields) ? filter.fields : isObject(filter.fields) && Object.keys(filter.fields);
  if (fields !== false && !offers(fields, tree.field)) return "filter.fields";
  return offers(filter.operators, tree.op) ? undefined : "filter.operators";
}

const part = (capabilities: Capabilities, name: string): Capabilities | undefined => {
  const value = Object.hasOwn(capabilities, name) ? capabilities[name] : undefined;
  return isObject(value) ? value : undefined;
};

/** True where nothing is asked for, or nothing is known of what is on offer. */
const offers = (offered: unknown, asked: unknown): boolean =>
  asked === undefined || asked === null || !Array.isArray(offered) || offered.includes(asked);

/** The most passages a server gives, as far as it says. */
export function serverMaxK({ retrieve }: Capabilities): number {
  return isObject(retrieve) && typeof retrieve.maxK === "number" ? retrieve.maxK : Number.POSITIVE_INFINITY;
}
