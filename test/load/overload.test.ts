import { describe, expect, test } from "vitest";
import { openServerHome } from "../support/crash/server-home.ts";
import { type LoadClient, loadClient, type Timed } from "../support/load-run.ts";
import { percentile } from "../support/measures.ts";

const isAsked = process.env.PGRCP_TEST_FULL === "1";
const DOCUMENTS = 300;
const WARM_MS = 5_000;
const QUIET_MS = 15_000;
const FLOOD_MS = 20_000;
const LIGHT_PER_SECOND = 2;
/** Calls of the flooding tenant at the same time. */
const FLOOD = 200;
/** load.reads.running. */
const RUNNING = 64;
const SMALL = { k: 5 };

interface Running {
  readonly client: LoadClient;
  /** In the order of the tenants. */
  readonly tokens: readonly string[];
}

/** A server of its own, and tenants with some documents each. */
async function withServer<T>(
  tenants: readonly string[],
  { settings = {}, env = {} }: { readonly settings?: Record<string, object>; readonly env?: NodeJS.ProcessEnv },
  work: (running: Running) => Promise<T>,
): Promise<T> {
  const home = await openServerHome(settings);
  // On a machine that has other work too, refusing would hide whether turns alone keep the promise.
  const server = home.start({ PGRCP_LOAD__SHEDDING__ENABLED: "false", ...env });
  const client = loadClient(await server.ready);
  try {
    const tokens: string[] = [];
    for (const tenant of tenants) {
      const add = await home.issuer.mint({ tenant, credentials: ["add"] });
      for (let from = 0; from < DOCUMENTS; from += 100) {
        const documents = Array.from({ length: 100 }, (_, n) => ({ id: `d${from + n}`, text: `word number ${n}` }));
        const text = await client.post("index/add", { documents }, add);
        expect(JSON.parse(text)).toMatchObject({ result: { chunks: 100 } });
      }
      tokens.push(await home.issuer.mint({ tenant, expiresIn: 3_600 }));
    }
    return await work({ client, tokens });
  } finally {
    client.close();
    await home.close();
  }
}

const answered = (answers: readonly Timed[]) => answers.filter(({ code }) => code === 0);
const times = (share: number, answers: readonly Timed[]) =>
  percentile(
    share,
    answered(answers).map(({ ms }) => ms),
  );
const shown = (answers: readonly Timed[]) =>
  `p50 ${times(0.5, answers).toFixed(0)} ms, p95 ${times(0.95, answers).toFixed(0)} ms`;

const BUILT_IN = { settings: { models: { embedding: { provider: "builtin" } } } };
const NO_SHARES = { env: { PGRCP_LOAD__TENANT_SHARE: "1", PGRCP_DATABASE__POOL_TENANT_SHARE: "1" } };

// Of the flood's calls so many run at a time and the others wait, and tenants take turns. So a light tenant's call has at most those
// that run before it, and each delays it by its own time at most: so many times longer it may take than by itself, and no more than
// that part of what the flood's own calls take, which wait for all.
describe.runIf(isAsked).each([
  ["the built-in model", BUILT_IN, RUNNING / 2],
  ["the built-in model, without shares", { ...BUILT_IN, ...NO_SHARES }, RUNNING],
  ["a model server", {}, RUNNING / 2],
  ["a model server, without shares", NO_SHARES, RUNNING],
] as const)("with %s", (name, settings, running) => {
  test("a light tenant waits for the calls that run beside its own, and for none that wait", async () => {
    const { quiet, beside, flooding } = await withServer(["light", "flood"], settings, async ({ client, tokens }) => {
      const [light = "", flood = ""] = tokens;
      // Opens the flood's connections, too: how fast a busy machine makes new ones is no matter of turns.
      await client.inClosedLoop(flood, { callers: FLOOD, ms: WARM_MS, params: SMALL });
      const quiet = await client.steadily(light, LIGHT_PER_SECOND, QUIET_MS);
      const [flooding, beside] = await Promise.all([
        client.inClosedLoop(flood, { callers: FLOOD, ms: FLOOD_MS, params: SMALL }),
        client.steadily(light, LIGHT_PER_SECOND, FLOOD_MS),
      ]);
      return { quiet, beside, flooding };
    });

    console.info(
      `${name}: quiet ${shown(quiet)}; beside a flood ${shown(beside)}; the flood itself ${shown(flooding)}`,
    );
    expect(answered(beside)).toHaveLength(beside.length);
    expect(times(0.95, beside) / times(0.95, quiet)).toBeLessThanOrEqual(running + 1);
    expect(times(0.5, beside) / times(0.5, flooding)).toBeLessThanOrEqual((running + 1) / FLOOD);
  }, 300_000);
});
