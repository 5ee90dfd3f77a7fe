import { SeededRandom } from "../seeded-random.ts";
import { type Call, reading } from "./call.ts";
import { initializeCall } from "./core-calls.ts";
import type { Deployment } from "./deployment.ts";
import { type Bench, type Problem, perform, performOne, randomDisturbance } from "./exchange.ts";
import { httpClient } from "./http-client.ts";
import { randomExchange } from "./random-exchange.ts";
import { pinCall } from "./retrieves.ts";
import { EVERYWHERE } from "./sent-documents.ts";
import { settle } from "./settle.ts";
import { Tally } from "./tally.ts";
import { makeWorld, PLACES } from "./world.ts";
import { addCall } from "./writes.ts";

export interface RunOptions {
  readonly seed: number;
  readonly operations: number;
  /** After so many, everything is let come to rest and compared whole. */
  readonly perPhase: number;
  /** For mutants: to stop as soon as something of another tenant was seen. */
  readonly untilLeak?: boolean;
}

export interface RunReport {
  readonly problems: readonly Problem[];
  readonly tally: Tally;
  /** Requests sent, without those that prepare and look. */
  readonly operations: number;
  readonly ms: number;
  /** Compares everything with its model once more, when nobody has asked for anything meanwhile. @returns what is wrong */
  compareAgain(): Promise<readonly Problem[]>;
}

const AT_A_TIME = 8;
/** So that 5 % are in fact aborted or timed out: some end before they can be. */
const DISTURBED = 0.1;

/** What another tenant's rows were seen to do, apart from errors. */
export const leaksOf = ({ problems }: Pick<RunReport, "problems">): readonly Problem[] =>
  problems.filter(({ problem }) => /^foreign (row|id|count|access)/.test(problem));

/** Three new tenants, the same documents for each, and random operations by all of them at once. */
export async function runOperations(deployment: Deployment, options: RunOptions): Promise<RunReport> {
  const startedAt = performance.now();
  const client = httpClient(deployment.url, deployment.authority);
  const bench: Bench = {
    deployment,
    world: await makeWorld(deployment),
    client,
    tally: new Tally(),
    problems: [],
    random: new SeededRandom(options.seed),
  };
  let operations = 0;
  const isOver = () => options.untilLeak === true && leaksOf(bench).length > 0;
  try {
    await prepare(bench);
    await settle(bench, isOver);
    while (operations < options.operations && !isOver()) {
      const end = Math.min(operations + options.perPhase, options.operations);
      const takeTurns = async () => {
        while (operations < end && !isOver()) {
          operations += 1;
          await operate(bench, new SeededRandom(options.seed + Math.imul(operations, 0x9e3779b1)));
        }
      };
      await Promise.all(Array.from({ length: AT_A_TIME }, takeTurns));
      await settle(bench, isOver);
    }
  } finally {
    client.close();
  }
  const { problems, tally } = bench;
  return { problems, tally, operations, ms: performance.now() - startedAt, compareAgain: () => compareAgain(bench) };
}

async function compareAgain({ deployment, ...before }: Bench): Promise<readonly Problem[]> {
  const client = httpClient(deployment.url, deployment.authority);
  const bench: Bench = { ...before, deployment, client, problems: [] };
  try {
    for (const tenant of bench.world.tenants) {
      for (const place of PLACES) {
        for (const pin of tenant.pins[place]) await performOne(bench, tenant, place, pinCall(pin));
      }
    }
    await settle(bench, () => false);
  } finally {
    client.close();
  }
  return bench.problems;
}

async function operate(bench: Bench, random: SeededRandom): Promise<void> {
  const exchange = randomExchange(bench.world, random);
  await perform(bench, exchange, random.fraction() < DISTURBED ? randomDisturbance(random, exchange) : undefined);
}

/** Every tenant's first version holds the same documents, so that numbers of versions and chunks are the same, too. */
async function prepare(bench: Bench): Promise<void> {
  const { tenants, sharedIds } = bench.world;
  for (const place of PLACES) {
    for (const tenant of tenants) {
      const ids = [...sharedIds, ...tenant.privateIds];
      await performOne(bench, tenant, place, addCall(tenant, place, new Map(ids.map((id) => [id, 0]))));
    }
  }
  for (const tenant of tenants) {
    for (let n = 0; n < 3; n++) await performOne(bench, tenant, "default", initializeCall(tenant));
  }
  await askForUnknown(bench, "corpus", { base: "/corpora/nobodys/rcp" });
  await askForUnknown(bench, "session", { session: "A".repeat(43) });
  await askForUnknown(bench, "version", {}, { indexVersion: "A".repeat(22) });
}

/** Notes what is answered where nobody has anything. */
async function askForUnknown(
  bench: Bench,
  what: "corpus" | "version" | "session",
  where: { readonly base?: string; readonly session?: string },
  params: object = {},
): Promise<void> {
  const { tenants, unknown } = bench.world;
  const call: Call = {
    kind: `(check) unknown ${what}`,
    method: "retrieve",
    credential: "read",
    params: { query: EVERYWHERE, ...params },
    begin: () =>
      reading(({ error }) => {
        unknown.set(what, JSON.stringify(error));
        return error === undefined ? ["wrong answer: a result of nothing"] : [];
      }),
  };
  for (const tenant of tenants.slice(0, 1))
    await perform(bench, { tenant, base: "/rcp", ...where, credential: "read", calls: [call], isBatch: false });
}
