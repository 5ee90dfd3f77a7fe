import type { Capabilities, Capability } from "../catalog/advertise.ts";
import type { capabilitiesOf } from "../methods/capabilities.ts";
import type { Handler, Services } from "../methods/handler.ts";
import { countReadable } from "../methods/readable-corpora.ts";
import type { Observe } from "../observability/observation.ts";
import { capabilityMissing, invalidRequest, notInitialized, unauthorized, unknownMethod } from "../protocol/errors.ts";
import type { CallMessage } from "../protocol/message.ts";
import { isMethodName, type MethodName } from "../protocol/methods.ts";
import { isObject, member, type Params } from "../protocol/params.ts";
import type { LogLevel } from "../protocol/wire.ts";
import type { Admission } from "./admission.ts";
import { logLevelOf } from "./call-meta.ts";
import { checkParams } from "./check-params.ts";
import type { Deadline } from "./deadline.ts";
import { identityMembers } from "./identity-members.ts";
import { METHODS } from "./method-facts.ts";
import type { Notifier } from "./notifications.ts";
import type { RpcRequest } from "./request.ts";
import type { Session, Sessions } from "./session.ts";

export interface Rungs {
  readonly services: Services;
  readonly handlers: Readonly<Record<MethodName, Handler | undefined>>;
  readonly sessions: Sessions;
  readonly admission: Admission;
  readonly capabilitiesOf: ReturnType<typeof capabilitiesOf>;
}

/** One call on its way up. */
export interface Climber {
  readonly call: CallMessage;
  readonly request: RpcRequest;
  readonly deadline: Deadline;
  readonly notifier: Notifier;
  readonly observe: Observe;
}

/**
 * Takes one call up the ladder: in session? known? in scope? advertised? valid? Then its handler runs (DESIGN section 2), as
 * soon as there is a place: who is refused never waits for one.
 *
 * @throws RpcError -32001, -32600, -32004, -32012, -32003, -32602, -32011, -32014; whatever the handler throws
 */
export async function climb(climber: Climber, rungs: Rungs): Promise<object> {
  const { call, request, deadline, notifier, observe } = climber;
  const { services, handlers, sessions } = rungs;
  const { principal } = request;
  const session = await sessionFor(call.method, request, deadline, rungs);
  notifier.logFrom(session?.logLevel);
  if (!isMethodName(call.method)) throw unknownMethod();
  const method = call.method;

  const { credential, capability } = METHODS[method];
  if (credential !== "any" && !principal.credentials.has(credential))
    throw unauthorized(
      `${method} needs the ${credential} credential: its audience and its scope in the token, and no other credential's unless auth.combinedTokens is on`,
    );

  const capabilities = session?.capabilities ?? (await currentCapabilities(method, request, deadline, rungs));
  const handler = handlers[method];
  if (handler === undefined || !isAdvertised(capability, capabilities)) throw capabilityMissing(method);

  const params = checkParams(method, call.params, services.config.limits.maxJsonDepth);
  for (const name of identityMembers(params))
    observe({ kind: "identity-ignored", tenant: principal.tenantId, member: name });

  const { signal, remainingMs } = deadline;
  const report = notifier.reporter();
  const asked = { principal, corpus: request.path.corpus, capabilities, signal, remainingMs, report };
  const leave = await rungs.admission.enter(method, principal.tenantId, signal);
  let result: object;
  try {
    result = await handler(params, asked, { ...services, observe });
  } finally {
    leave();
  }
  return await touchSession(
    method,
    result,
    { capabilities, logLevel: clientLogLevel(params) },
    request,
    deadline,
    sessions,
  );
}

/** @throws RpcError -32600 for a second initialize; -32001 when a gated method has no live session but needs one */
async function sessionFor(
  method: string,
  request: RpcRequest,
  deadline: Deadline,
  { services, sessions }: Rungs,
): Promise<Session | undefined> {
  if (method === "ping" || method === "shutdown") return undefined;
  const { principal, sessionTokens } = request;
  if (sessionTokens === undefined) return undefined;
  const session = await sessions.find(principal, sessionTokens, limitsOf(deadline));
  if (method === "initialize" && session !== undefined)
    throw invalidRequest("this session is initialized: send shutdown, or initialize without RCP-Session");
  const isGated = !isMethodName(method) || METHODS[method].kind !== "core";
  const isNeeded = sessionTokens.length > 0 || services.config.sessions.mode === "required";
  if (isGated && isNeeded && session === undefined) throw notInitialized();
  return session;
}

/** What a caller without a session would be given. Corpora are counted only for who is shown their number. */
async function currentCapabilities(
  method: MethodName,
  { principal }: RpcRequest,
  { signal, remainingMs }: Deadline,
  { services, capabilitiesOf }: Rungs,
): Promise<Capabilities> {
  const isShown = services.config.capabilities.catalog && (method === "initialize" || method === "info");
  const engines = isShown ? await countReadable({ principal, signal, remainingMs }, services) : 0;
  return capabilitiesOf(principal, engines);
}

const isAdvertised = (capability: Capability | undefined, capabilities: Capabilities): boolean =>
  capability === undefined || Object.hasOwn(capabilities, capability);

const limitsOf = ({ signal, remainingMs }: Deadline) => ({ signal, timeoutMs: remainingMs() });

/** What a client that renders log lines wants of them; a level alone asks for none (RCP §7.1, §17.1). */
function clientLogLevel(params: Params): LogLevel | undefined {
  const capabilities = member(params, "capabilities");
  const rendersLog = isObject(capabilities) && isObject(member(capabilities, "log"));
  return rendersLog ? (logLevelOf(params) ?? "info") : undefined;
}

/** What two of the core methods do to the session once they have succeeded. */
async function touchSession(
  method: MethodName,
  result: object,
  agreed: { readonly capabilities: Capabilities; readonly logLevel: LogLevel | undefined },
  { principal, sessionTokens }: RpcRequest,
  deadline: Deadline,
  sessions: Sessions,
): Promise<object> {
  if (method === "initialize") {
    const session = await sessions.open(principal, agreed, limitsOf(deadline));
    const meta = "_meta" in result && isObject(result._meta) ? result._meta : {};
    return { ...result, _meta: { ...meta, session } };
  }
  if (method === "shutdown") await sessions.end(principal, sessionTokens ?? [], limitsOf(deadline));
  return result;
}
