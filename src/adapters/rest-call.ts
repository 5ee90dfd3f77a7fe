import type { TenantId } from "../catalog/corpus.ts";
import { invalidParams, invalidRequest, parseError, type RpcError, unauthorized } from "../protocol/errors.ts";
import { isObject, member } from "../protocol/params.ts";
import { decodeUtf8 } from "../protocol/text.ts";
import { identityOf } from "../rpc/identity-members.ts";
import { memberNames } from "./member-names.ts";
import { TENANT_PARAM } from "./rest-manifest.ts";
import { isAbsent, readRestParam } from "./rest-param.ts";
import type { RestTool, Values } from "./rest-tools.ts";

/** A tool's call as it came. */
export interface SentCall {
  readonly body: Uint8Array;
  /** What stood behind `?` in the target; empty when nothing did. */
  readonly query: string;
  /** Of the token. */
  readonly tenantId: TenantId;
}

export interface RestCall {
  readonly values: Values;
  /** Why it must not run; undefined when it may. */
  readonly refusal?: RpcError;
  /** It says of itself whose it is, or fails to, otherwise than the token does. */
  readonly isForeign?: true;
}

/** One answer for a tenant that is missing, blank, repeated or another: it says nothing of either. */
const foreign = () =>
  unauthorized(
    "tenantId must be the token's tenant, sent once and in the body: whoever runs the client binds a resolver to it",
  );

/**
 * Reads a tool's call. Whose it is comes first, before anything else of it is judged.
 *
 * A param that the tool does not have is refused: the client sends what the manifest's template names, so it comes from an old
 * manifest or from none, and a condition that was dropped without a word would widen what it was to narrow. One without a value asks for
 * nothing and passes. Headers are ignored, as the protocol asks of servers.
 */
export function readRestCall(tool: RestTool, { body, query, tenantId }: SentCall): RestCall {
  const refuse = (refusal: RpcError): RestCall => ({ values: new Map(), refusal });
  const sent = parseBody(body);
  if (sent === undefined) return refuse(parseError());
  const { text, value } = sent;
  const names = isObject(value) ? memberNames(text) : [];
  const inQuery = [...new URLSearchParams(query).keys()];
  const whose = [...names, ...inQuery].filter((name) => identityOf(name) !== undefined);
  const isOwn = isObject(value) && whose.length === 1 && member(value, TENANT_PARAM.name) === tenantId;
  if (!isOwn) return { ...refuse(foreign()), isForeign: true };
  if (inQuery.length > 0) return refuse(invalidRequest("params are sent in the body, none behind the address"));

  const known = new Set([...tool.params.map(({ name }) => name), TENANT_PARAM.name]);
  if (names.some((name) => !known.has(name) && !isAbsent(member(value, name)))) {
    const detail = `${tool.name} has the params ${[...known].join(", ")}, and no other is taken`;
    return refuse(invalidParams({ field: "body", detail }));
  }
  const seen = new Set<string>();
  const repeated = new Set(names.filter((name) => seen.size === seen.add(name).size));
  const values = new Map<string, unknown>();
  for (const param of tool.params) {
    if (repeated.has(param.name)) return refuse(invalidParams({ field: param.name, detail: "must be sent once" }));
    const read = readRestParam(param, member(value, param.name));
    if (read.kind === "refusal") return refuse(read.error);
    if (read.value !== undefined) values.set(param.name, read.value);
  }
  return { values };
}

function parseBody(body: Uint8Array): { readonly text: string; readonly value: unknown } | undefined {
  try {
    const text = decodeUtf8(body);
    return { text, value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}
