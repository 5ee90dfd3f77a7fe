import { setTimeout as sleep } from "node:timers/promises";
import type { Response } from "../rcp-server.ts";
import type { SeededRandom } from "../seeded-random.ts";
import type { Call, Pending } from "./call.ts";
import type { Deployment } from "./deployment.ts";
import type { HttpClient } from "./http-client.ts";
import type { Exchange } from "./random-exchange.ts";
import type { Outcome, Tally, Trial } from "./tally.ts";
import { baseOf, type LiveSession, othersOf, type Place, type Tenant, type World } from "./world.ts";

/** How a request may be disturbed on its way. */
const DISTURBANCES = ["cut off", "short deadline", "past deadline", "cancel"] as const;
export type Disturbance = (typeof DISTURBANCES)[number];

export interface Problem {
  readonly kind: string;
  readonly problem: string;
}

export interface Bench {
  readonly deployment: Deployment;
  readonly world: World;
  readonly client: HttpClient;
  readonly tally: Tally;
  readonly problems: Problem[];
  /** Of random choices that are not part of what is asked: when to cut off, when to cancel. */
  readonly random: SeededRandom;
}

/** Notes what is wrong with no one call. */
export const note = ({ problems }: Bench, problem: string): void => void problems.push({ kind: "(check)", problem });

/** Only a call in a session can be cancelled (RCP §7.14). */
export const randomDisturbance = (random: SeededRandom, { session }: Exchange): Disturbance =>
  random.pick(session === undefined ? DISTURBANCES.filter((one) => one !== "cancel") : DISTURBANCES);

/** Sends a request, disturbs it if asked to, judges every answer in it. */
export async function perform(bench: Bench, exchange: Exchange, disturbance?: Disturbance): Promise<void> {
  if (exchange.cancels !== undefined) return await performCancel(bench, exchange);
  const { tenant, other, calls, live, session } = exchange;
  if (exchange.isBatch) bench.tally.add("(in a batch of five)", "result");
  if (live !== undefined) bench.tally.add("(in an own session)", "result");
  const sent = calls.map((call) => {
    tenant.lastId += 1;
    if (other !== undefined) bench.tally.addTrial(trialOf(tenant, other, call));
    return { call, id: tenant.lastId, pending: call.begin() };
  });
  for (const { id } of sent) tenant.inFlight.set(id, session);
  if (live !== undefined) live.uses += 1;
  try {
    const bodies = sent.map(({ call, id }) => ({
      jsonrpc: "2.0",
      id,
      method: call.method,
      params: paramsOf(call, disturbance, bench, tenant),
    }));
    const request = post(bench, exchange, exchange.isBatch ? bodies : bodies[0]);
    void disturb(bench, exchange, request.cut, sent[0]?.id ?? 0, disturbance);
    const answer = await request.answer;
    const responses = answer === undefined ? undefined : readAnswer(bench, exchange, answer);
    for (const one of sent) await judge(bench, one, responses?.get(one.id), tenant, disturbance);
  } catch (error) {
    bench.problems.push({ kind: calls[0]?.kind ?? "", problem: `foreign error: no answer (${String(error)})` });
    for (const { pending } of sent) pending.lost();
  } finally {
    if (live !== undefined) live.uses -= 1;
    for (const { id } of sent) tenant.inFlight.delete(id);
  }
}

const trialOf = (caller: Tenant, other: Tenant, { method, params }: Call): Trial => ({
  caller: caller.name,
  other: other.name,
  method,
  mode: typeof params.mode === "string" ? params.mode : undefined,
  isFiltered: params.filter !== undefined,
});

/** One undisturbed call, for preparing and for looking. */
export const performOne = (bench: Bench, tenant: Tenant, place: Place, call: Call, live?: LiveSession): Promise<void> =>
  perform(bench, {
    tenant,
    base: baseOf(tenant, place),
    credential: call.credential,
    calls: [call],
    isBatch: false,
    ...(live !== undefined && { live, session: live.token }),
  });

function post({ client }: Bench, { tenant, base, credential, calls, isBatch, session }: Exchange, body: unknown) {
  return client.post(isBatch ? base : `${base}/${calls[0]?.method}`, JSON.stringify(body), {
    authorization: `Bearer ${tenant.tokens[credential]}`,
    ...(session !== undefined && { "rcp-session": session }),
  });
}

/** With a deadline when that is the disturbance, and sometimes with members that claim to be another tenant. */
function paramsOf(
  { params }: Call,
  disturbance: Disturbance | undefined,
  { random, world, tally }: Bench,
  tenant: Tenant,
) {
  const deadline = { "short deadline": random.integer(1, 5), "past deadline": random.pick([0, -1]) };
  const deadlineMs = disturbance && deadline[disturbance as keyof typeof deadline];
  const meta = { ...(params._meta as object | undefined), ...(deadlineMs !== undefined && { deadlineMs }) };
  if (random.fraction() >= 0.1) return { ...params, _meta: meta };
  tally.add("(with identity members)", "result");
  const { name } = random.pick(othersOf(world, tenant));
  return { ...params, tenantId: name, tenant: name, _meta: { ...meta, tenant_id: name } };
}

async function disturb(
  { client, random }: Bench,
  { tenant, base, session, credential }: Exchange,
  cut: () => void,
  id: number,
  disturbance: Disturbance | undefined,
): Promise<void> {
  if (disturbance !== "cut off" && disturbance !== "cancel") return;
  if (disturbance === "cut off") {
    await sleep(random.integer(0, 4));
    return cut();
  }
  // A call can be named once its session was looked up.
  await sleep(random.integer(4, 20));
  const body = { jsonrpc: "2.0", method: "notifications/cancel", params: { id } };
  await client
    .post(`${base}/notifications/cancel`, JSON.stringify(body), {
      authorization: `Bearer ${tenant.tokens[credential]}`,
      ...(session !== undefined && { "rcp-session": session }),
    })
    .answer.catch(() => undefined);
}

/** A cancel that must change nothing: its victim's answer is judged where it comes. */
async function performCancel(bench: Bench, { tenant, base, session, cancels }: Exchange): Promise<void> {
  const body = { jsonrpc: "2.0", method: "notifications/cancel", params: { id: cancels } };
  const answer = await bench.client.post(`${base}/notifications/cancel`, JSON.stringify(body), {
    authorization: `Bearer ${tenant.tokens.read}`,
    ...(session !== undefined && { "rcp-session": session }),
  }).answer;
  bench.tally.add("cancel of another's call", "result");
  if (answer?.status !== 204 || answer.text !== "")
    bench.problems.push({ kind: "cancel of another's call", problem: "wrong answer: a notification was answered" });
}

/** What no answer to this tenant may hold, and what no error may hold at all. */
const SQL =
  /\b(select|insert into|update|delete from|where)\b.*\bpgrcp|pgrcp[._]|tenant_id|relation|constraint|violates|\bat .+:\d+/i;

function readAnswer(
  bench: Bench,
  exchange: Exchange,
  answer: { status: number; text: string },
): Map<unknown, Response> {
  const { tenant, calls, isBatch } = exchange;
  const report = (problem: string) => bench.problems.push({ kind: calls[0]?.kind ?? "", problem });
  if (answer.status !== 200) report(`wrong answer: HTTP ${answer.status}`);
  const others = othersOf(bench.world, tenant);
  if (others.some(({ secret }) => answer.text.includes(secret))) report("foreign row: another tenant's secret");
  const parsed = JSON.parse(answer.text) as Response | readonly Response[];
  const responses = isBatch ? (parsed as readonly Response[]) : [parsed as Response];
  if (responses.length !== calls.length) report("wrong count: not one answer to each call");
  for (const { result, error } of responses) {
    const errorText = JSON.stringify(error ?? "");
    if (SQL.test(errorText) || errorText.includes(tenant.secret)) report("foreign error: it tells of the database");
    const version = result?.indexVersion ?? result?._meta?.indexVersion;
    const isForeign = others.some(({ models }) =>
      Object.values(models).some(({ versions }) => versions.has(String(version))),
    );
    if (version !== undefined && isForeign) report("foreign id: another tenant's version");
  }
  return new Map(responses.map((response) => [response.id, response]));
}

async function judge(
  { tally, problems }: Bench,
  { call, pending, id }: { readonly call: Call; readonly pending: Pending; readonly id: number },
  response: Response | undefined,
  tenant: Tenant,
  disturbance: Disturbance | undefined,
): Promise<void> {
  const report = (found: readonly string[]) => {
    for (const problem of found) problems.push({ kind: call.kind, problem: `${problem} (${tenant.name}, id ${id})` });
  };
  const end = (outcome: Outcome) => tally.add(call.kind, outcome);
  if (response === undefined) {
    end("cut off");
    pending.lost();
    if (disturbance !== "cut off") report(["foreign id: no answer with the call's id"]);
  } else if (response.error?.code === -32014 && disturbance === "past deadline") {
    end("timed out");
    pending.refused();
  } else if (response.error?.code === -32014 && disturbance === "short deadline") {
    end("timed out");
    pending.lost();
  } else if (response.error?.code === -32006 && disturbance === "cancel") {
    end("cancelled");
    pending.lost();
  } else {
    end(response.error === undefined ? "result" : "error");
    report(await pending.answered(response));
    if (disturbance === "past deadline" && response.error === undefined)
      report(["wrong answer: a result after its deadline"]);
  }
}
