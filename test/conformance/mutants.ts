import type { Patch } from "../support/isolation/source-copy.ts";

/** pgrcp with one rule of RCP/1 broken. */
export interface Mutant {
  /** What is wrong with it. */
  readonly name: string;
  /** Of the rule: a check of this section must see it. */
  readonly section: string;
  readonly patch: Patch;
}

const mutant = (
  section: string,
  name: string,
  file: string,
  find: Patch["find"],
  replace: string,
  times = 1,
): Mutant => ({
  name,
  section,
  patch: { file: `src/${file}`, find, replace, times },
});

/** A new feature adds the ways to break it here. */
export const MUTANTS: readonly Mutant[] = [
  mutant("4.1", "takes any jsonrpc version", "protocol/message.ts", 'own(value, "jsonrpc") !== "2.0"', "false"),
  mutant(
    "4.4",
    "refuses an unknown notification aloud",
    "protocol/message.ts",
    '!Object.hasOwn(value, "id")) return { kind',
    '!Object.hasOwn(value, "id") && method.startsWith("notifications/c")) return { kind',
  ),
  mutant(
    "4.6",
    "takes null for a value",
    "protocol/params.ts",
    "return params[name] ?? undefined;",
    "return params[name];",
  ),
  mutant(
    "4.6",
    "reads an integer from a string",
    "protocol/params.ts",
    'if (typeof value === "number" && Number.isSafeInteger(value) && inRange(value, range)) return value;',
    "if (Number.isSafeInteger(Number(value)) && inRange(Number(value), range)) return Number(value);",
  ),
  mutant(
    "4.7",
    "rounds an id",
    "protocol/message.ts",
    "Number.isInteger(value) && !Number.isSafeInteger(value) ? null : value",
    "value",
  ),
  mutant(
    "4.7",
    "answers under the id as a string",
    "rpc/response.ts",
    'JSON.stringify({ jsonrpc: "2.0", id, result })',
    'JSON.stringify({ jsonrpc: "2.0", id: String(id), result })',
  ),
  mutant(
    "4.8",
    "takes an image for an empty query",
    "plan/content-text.ts",
    'if (OTHER_TYPES.has(type)) throw optionUnsupported({ option, detail: "only text blocks are advertised" });',
    'if (OTHER_TYPES.has(type)) return "";',
  ),
  mutant(
    "5.2",
    "answers at another method's path",
    "protocol/envelope.ts",
    'message.method === (place.method ?? "")',
    "true",
  ),
  mutant(
    "7",
    "drops a nonce that is falsy",
    "methods/ping.ts",
    "if (nonce === undefined) return {};",
    "if (!nonce) return {};",
  ),
  mutant("7.1", "agrees to version 0", "methods/initialize.ts", "if (version < 1) throw versionMismatch();", ""),
  mutant(
    "7.7",
    "returns as many hits as are asked for, above maxK too",
    "plan/plan-retrieval.ts",
    "Math.min(k, offer.maxK)",
    "k",
  ),
  mutant("7.7", "lets candidateK fall below k", "plan/plan-retrieval.ts", "candidateK < k", "candidateK < 1"),
  mutant(
    "7.7",
    "is lenient unless it is told to be strict",
    "plan/plan-retrieval.ts",
    'readBoolean(params, "strict") ?? true',
    'readBoolean(params, "strict") ?? false',
  ),
  mutant(
    "7.10",
    "counts the ids that were asked for",
    "indexing/delete-documents.ts",
    "return { deleted: closed.length };",
    "return { deleted: docIds.length };",
  ),
  mutant(
    "7.10",
    "returns ids in another order",
    "indexing/add-documents.ts",
    "const ids = sent.map((document) => document.docId);",
    "const ids = sent.map((document) => document.docId).toSorted();",
  ),
  mutant(
    "7.14",
    "runs a cancel that has an id as a call",
    "protocol/message.ts",
    'method.startsWith("notifications/")',
    "false",
  ),
  mutant(
    "8",
    "takes any name for the first field",
    "plan/resolve-filter.ts",
    "const field = fields.get(name);",
    "const field = fields.get(name) ?? fields.values().next().value;",
  ),
  mutant(
    "8",
    "passes an empty and",
    "plan/resolve-filter.ts",
    "!Array.isArray(children) || children.length === 0",
    "!Array.isArray(children)",
  ),
  mutant(
    "8",
    "finds a missing value unequal to nothing",
    "sql/filter.ts",
    '"eq", filter.value)}) is not true`',
    '"eq", filter.value)}) is false`',
  ),
  mutant(
    "8",
    "says nothing of where a filter is wrong",
    "protocol/errors.ts",
    "data.field}`, data);",
    "data.field}`);",
  ),
  mutant(
    "11",
    "answers an empty batch with an empty array",
    "protocol/envelope.ts",
    'if (value.length === 0) return refuseAll(invalidRequest("a batch holds at least one message"));',
    'if (value.length === 0) return { kind: "batch", messages: [{ kind: "refusal", id: null, error: invalidRequest("") }] };',
  ),
  mutant(
    "12",
    "calls an unknown method one that it lacks",
    "rpc/ladder.ts",
    "throw unknownMethod()",
    "throw capabilityMissing(call.method)",
  ),
  mutant(
    "12",
    "answers what is not JSON as no request",
    "protocol/envelope.ts",
    "return refuseAll(parseError());",
    'return refuseAll(invalidRequest("not JSON"));',
  ),
  mutant(
    "13",
    "initializes a session again",
    "rpc/ladder.ts",
    'method === "initialize" && session !== undefined',
    "false",
  ),
  mutant(
    "13.1",
    "answers a session that was shut down",
    "rpc/ladder.ts",
    "isGated && isNeeded && session === undefined",
    "false",
  ),
  mutant(
    "13.2",
    "drops a capability after initialize",
    "rpc/ladder.ts",
    "return { ...result, _meta: { ...meta, session } };",
    "return { ...result, capabilities: { ...agreed.capabilities, filter: undefined }, _meta: { ...meta, session } };",
  ),
  mutant("14", "keeps its level from info", "methods/info.ts", /_meta: \{ conformance: [^}]*\},/, "_meta: {},"),
  mutant(
    "15",
    "calls what anybody wrote trusted",
    "retrieval/shape-hits.ts",
    "trust: { level: row.trust,",
    'trust: { level: "trusted",',
  ),
  mutant(
    "15.6",
    "refuses a stranger without saying so",
    "http/authenticate.ts",
    "throw new TransportRefusal(401, headers, unauthorized(), { cause: error });",
    "throw new TransportRefusal(401, headers, undefined, { cause: error });",
  ),
  mutant("7.3", "writes vectors big-endian", "methods/embed.ts", "bytes.writeFloatLE(", "bytes.writeFloatBE("),
  mutant(
    "7.7.1",
    "serves the newest version whatever is pinned",
    "retrieval/find-candidates.ts",
    "plan.indexVersion ?? first?.indexVersion",
    "first?.indexVersion",
  ),
  mutant("7.7.2", "calls every hit a chunk", "retrieval/shape-hits.ts", "    unit,\n", '    unit: "chunk",\n'),
  mutant(
    "9",
    "echoes a token as a string",
    "rpc/notifications.ts",
    "progressToken: token, progress",
    "progressToken: String(token), progress",
  ),
  mutant(
    "10",
    "skips a hit between two pages",
    "retrieval/pages.ts",
    "{ list, offset: offset + used }",
    "{ list, offset: offset + used + 1 }",
  ),
];
