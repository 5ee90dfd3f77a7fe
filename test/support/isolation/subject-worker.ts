import { setTimeout as sleep } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { startServer } from "../../../src/app.ts";
import { configSchema } from "../../../src/config/config.ts";
import { CachedCorpusStore } from "../../../src/db/cached-corpus-store.ts";
import { CursorKeys } from "../../../src/db/cursor-keys.ts";
import { selfTest } from "../../../src/db/self-test.ts";
import { offerOf } from "../../../src/methods/offer.ts";
import type { Observation } from "../../../src/observability/observation.ts";
import { filterFields } from "../../../src/plan/filter-fields.ts";
import { openTestDatabase } from "../database.ts";
import { testEmbeddingModel } from "../test-embedding.ts";
import { testGenerator, testReranker } from "../test-models.ts";
import { recorded } from "./recorded-database.ts";
import { FIELDS } from "./sent-documents.ts";

/**
 * A whole server of the source tree that this file lies in, on a database of its own, in a thread of its own: what runs is that
 * tree and no other. The thread that started it calls `api` by messages.
 */

export interface SubjectData {
  readonly issuer: string;
  readonly jwks: object;
}

/** Wrong ways to tell the policies who asks. */
export type SettingMutant = "kept by the connection" | "the first caller's for all";

/** How one mutant differs from the source; read only by a patched copy of it (mutants.ts). */
const mutant = {
  removed: new Set<number>(),
  setting: undefined as SettingMutant | undefined,
  firstTenant: undefined as string | undefined,
  sharesCache: false,

  /** @returns whether to leave out a statement's predicate */
  removes: (site: number): boolean => mutant.removed.has(site),
  /** The setting may outlive its transaction: then whoever had the connection first goes on being the tenant. */
  settingText(text: string): string {
    if (mutant.setting !== "kept by the connection") return text;
    const kept = "coalesce(nullif(current_setting('pgrcp.tenant_id', true), ''), $1), false";
    return text.replace(/(?<=set_config\('pgrcp\.tenant_id', )(\$\d), true/, (_, parameter: string) =>
      kept.replace("$1", parameter),
    );
  },
  settingTenant(tenant: string): string {
    if (mutant.setting !== "the first caller's for all" || tenant === "") return tenant;
    mutant.firstTenant ??= tenant;
    return mutant.firstTenant;
  },
};
Object.assign(globalThis, { mutant });

const port = parentPort;
if (port === null) throw new Error("subject-worker.ts runs as a worker thread only");
const { issuer, jwks } = workerData as SubjectData;
const fields = filterFields(FIELDS);
const opened = await openTestDatabase({ fields, database: { poolSize: 2, poolWaitMs: 60_000 } });
const config = configSchema.parse({
  server: { port: 0 },
  database: opened.config.database,
  auth: { mode: "jwt", issuers: [{ issuer, jwks, algorithms: ["ES256"] }] },
  // High, not off: buckets are one more thing that tenants must not share.
  rateLimit: { address: { max: 1_000_000 }, principal: { max: 1_000_000 } },
  sessions: { maxPerPrincipal: 10_000 },
  filter: { fields: FIELDS },
  retrieval: { maxK: 500 },
  indexing: { chunkTokens: 32, overlapTokens: 4, defaultLanguage: "none" },
});
const record = { statements: new Set<string>(), refusals: [] as { role: string; sqlstate: string }[], running: 0 };
const observations: Observation[] = [];
const observe = (observation: Observation) => void observations.push(observation);
const database = recorded(opened.database, record);
const server = await startServer({
  services: {
    config,
    offer: offerOf(config),
    database,
    corpora: new CachedCorpusStore(database),
    embedding: testEmbeddingModel(),
    cursorKeys: new CursorKeys(database),
    reranker: testReranker(),
    generator: testGenerator(),
    fetcher: undefined,
    classifier: undefined,
    observe,
  },
  operator: undefined,
  close: async () => {},
});

type Row = Readonly<Record<string, unknown>>;

/** As the owner of everything, under no policy: to prepare and to look. */
const asAdmin = (text: string, values: readonly string[] = []): Promise<readonly Row[]> =>
  opened.admin.query({ text, values, decode: (row) => row });

/** True when no statement of the server runs. The embedded database answers only when it has ended what it was doing. */
async function isIdle(): Promise<boolean> {
  const [busy] = await asAdmin(
    `select count(*)::int as n from pg_stat_activity where datname = current_database() and usename like 'pgrcp\\_%' and state <> 'idle'`,
  );
  return busy?.n === 0 && record.running === 0;
}

const api = {
  url: async () => server.url,
  query: asAdmin,
  script: (text: string) => opened.admin.transaction((transaction) => transaction.script(text)),
  /** Resolves when nothing that was asked for is still on its way. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < 2; quiet = (await isIdle()) ? quiet + 1 : 0) await sleep(15);
  },
  /** @returns what the self-test refuses, or undefined */
  async selfTest(): Promise<string | undefined> {
    return await selfTest(opened.database, fields, () => {}).then(
      () => undefined,
      (error: unknown) => String(error),
    );
  },
  async removePredicates(sites: readonly number[]): Promise<void> {
    mutant.removed = new Set(sites);
    record.statements.clear();
  },
  async mutateSetting(setting: SettingMutant | undefined): Promise<void> {
    mutant.setting = setting;
    mutant.firstTenant = undefined;
  },
  /** Whether tenants find each other's corpora in the cache. */
  async shareCache(shared: boolean): Promise<void> {
    mutant.sharesCache = shared;
  },
  async forgetRefusals(): Promise<void> {
    record.refusals.length = 0;
  },
  report: async () => ({
    statements: [...record.statements],
    refusals: record.refusals,
    identityIgnored: observations.filter(({ kind }) => kind === "identity-ignored").length,
    internalErrors: observations.flatMap((one) =>
      one.kind === "internal-error" ? [one.error instanceof Error ? (one.error.stack ?? "") : String(one.error)] : [],
    ),
  }),
  async close(): Promise<void> {
    await server.close();
    await opened.close();
    setImmediate(() => port.close());
  },
};

export type SubjectApi = typeof api;
export type SubjectCall = {
  readonly id: number;
  readonly name: keyof SubjectApi;
  readonly args: readonly unknown[];
};
export type SubjectAnswer = { readonly id: number; readonly value?: unknown; readonly error?: string };

port.on("message", async ({ id, name, args }: SubjectCall) => {
  const say = (answer: SubjectAnswer) => port.postMessage(answer);
  try {
    say({ id, value: await (api[name] as (...args: readonly unknown[]) => Promise<unknown>)(...args) });
  } catch (error) {
    say({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
});
port.postMessage({ id: 0 } satisfies SubjectAnswer);
