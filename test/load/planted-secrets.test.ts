import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { afterEach, describe, expect, test, vi } from "vitest";
import { filterFields } from "../../src/plan/filter-fields.ts";
import { embeddedDeployment } from "../support/crash/embedded-deployment.ts";
import { startServer } from "../support/crash/server-process.ts";
import { openTestDatabase } from "../support/database.ts";
import { disturbPostgres } from "../support/privacy/disturb-postgres.ts";
import { type LeakyProvider, startLeakyProvider } from "../support/privacy/leaky-provider.ts";
import { MixedClient, plantAll, type Tokens } from "../support/privacy/mixed-run.ts";
import { findPlanted, formsOf, plant, type Secret } from "../support/privacy/planted.ts";
import { SeededRandom, testSeed } from "../support/seeded-random.ts";
import { type TestIssuer, testIssuer } from "../support/test-issuer.ts";

/** Nothing that a caller, a tenant or an operator keeps secret is in a log: the server's own, a crash's, or Postgres's. */

const isLong = process.env.PGRCP_TEST_FULL === "1";
const RUN_MS = isLong ? 600_000 : 20_000;
const TEST_MS = 2 * RUN_MS + 180_000;
const CLIENTS = 8;
const PRELOAD = new URL("../support/privacy/crash-on-signal.ts", import.meta.url).href;
const FIELDS = { lang: "keyword", year: "int", tags: "keyword[]" } as const;
const ROLES = ["reader", "adder", "deleter", "state"] as const;

const run = promisify(execFile);
const closeLater: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closeLater.splice(0).reverse()) await close();
});

interface Database {
  /** The `database` section. */
  readonly settings: object;
  /** What it needs to be told before the server starts. */
  readonly passwords: readonly Secret[];
  /** Makes trouble until then. */
  disturb(until: number): Promise<void>;
  /** What Postgres has logged. */
  log(): Promise<string>;
}

async function embedded(folder: string): Promise<Database> {
  const { settings } = await embeddedDeployment(folder);
  return { settings, passwords: [], disturb: async () => {}, log: async () => "" };
}

/** A cluster of its own, because its log is searched. @param rows in what conflicts there @param leak logged on purpose */
async function postgres(rows: Secret, leak: Secret): Promise<Database> {
  const { stdout } = await run("scripts/temp-postgres", ["start"]);
  const cluster = /PGRCP_TEST_CLUSTER=(\S+)/.exec(stdout)?.[1] ?? "";
  vi.stubEnv("PGRCP_TEST_DATABASE_URL", /PGRCP_TEST_DATABASE_URL=(\S+)/.exec(stdout)?.[1]);
  vi.stubEnv("PGRCP_TEST_POOLER_URL", undefined);
  closeLater.push(async () => {
    vi.unstubAllEnvs();
    await run("scripts/temp-postgres", ["stop"], { env: { ...process.env, PGRCP_TEST_CLUSTER: cluster } });
  });
  const db = await openTestDatabase({ fields: filterFields(FIELDS) });
  closeLater.push(() => db.close());
  const url = db.config.database.migrateUrl ?? "";
  const passwords = ROLES.map((role) => plant(`password of the ${role}`));
  await asSuperuser(
    url,
    ROLES.map((role, index) => `alter role pgrcp_${role} password '${passwords[index]?.core}'`),
  );
  const logins = Object.fromEntries(ROLES.map((role, index) => [role, { password: passwords[index]?.core }]));
  return {
    settings: { url, ...logins },
    passwords,
    async disturb(until) {
      const half = Date.now() + (until - Date.now()) / 2;
      const atDefaults = await disturbPostgres(url, rows.core, half);
      for (const code of ["23505", "23514", "57014", "40P01"]) expect(atDefaults.get(code), code).toBeGreaterThan(0);
      // From here on, every statement is slow, and its plan is logged.
      await asSuperuser(url, [
        "load 'auto_explain'",
        "alter system set log_min_duration_statement = 0",
        "alter system set session_preload_libraries = 'auto_explain'",
        "alter system set auto_explain.log_min_duration = 0",
        "select pg_reload_conf()",
      ]);
      await disturbPostgres(url, rows.core, until);
    },
    async log() {
      await asSuperuser(url, [`select '${leak.core}'::int`]).catch(() => {});
      return await readFile(join(cluster, "server.log"), "utf8");
    },
  };
}

async function asSuperuser(url: string, statements: readonly string[]): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

async function tokensOf(issuer: TestIssuer): Promise<Tokens> {
  const life = { expiresIn: 3_600 } as const;
  const [read, add, del, expired] = await Promise.all([
    issuer.mint({ credentials: ["read"], ...life }),
    issuer.mint({ credentials: ["add"], ...life }),
    issuer.mint({ credentials: ["delete"], ...life }),
    issuer.mint({ credentials: ["read"], expiresIn: -120 }),
  ]);
  const forged = await (await testIssuer()).mint({ credentials: ["read"] });
  return { read, add, delete: del, bad: [expired, forged, read.slice(0, -9), plant("no token").core] };
}

/** A token is as secret as its signature. */
const signaturesOf = ({ bad, ...good }: Tokens): Secret[] =>
  [...Object.entries(good), ...bad.map((token, index) => [`bad ${index}`, token] as const)].map(([name, token]) => ({
    name: `${name} token`,
    core: (token.split(".")[2] ?? token).slice(0, 24),
  }));

/** A run, then a crash of each kind; everything that was written meanwhile. */
async function runAndCrash(database: Database, folder: string, provider: LeakyProvider, keys: readonly Secret[]) {
  const issuer = await testIssuer();
  const tokens = await tokensOf(issuer);
  const planted = plantAll();
  const [embedding = "", reranker = "", generator = ""] = keys.map(({ core }) => core);
  const configFile = join(folder, "config.yaml");
  const config = {
    server: { port: 0 },
    database: database.settings,
    auth: { issuers: [{ issuer: issuer.issuer, jwks: issuer.jwks, algorithms: ["ES256"] }] },
    models: provider.settings({ embedding, reranker, generator }),
    filter: { fields: FIELDS },
    rateLimit: { principal: { max: isLong ? 20_000 : 4_000 } },
    log: { level: "trace" },
  };
  await writeFile(configFile, JSON.stringify(config));
  const crash = plant("crash");
  const leak = plant("leak");
  const clients: MixedClient[] = [];
  let written = "";
  for (const [index, as] of ["error", "rejection", "rejected error"].entries()) {
    const server = startServer(configFile, folder, {
      NODE_OPTIONS: `--import ${PRELOAD}`,
      ...{ PLANTED_CRASH: crash.core, PLANTED_AS: as, PLANTED_LEAK: leak.core },
    });
    try {
      const port = Number(new URL(await server.ready).port);
      const until = Date.now() + (index === 0 ? RUN_MS : 1_000);
      const seed = testSeed();
      const own = Array.from(
        { length: CLIENTS },
        (_, client) => new MixedClient(port, tokens, planted, new SeededRandom(seed + client)),
      );
      clients.push(...own);
      await Promise.all([...own.map((client) => client.run(until)), index === 0 && database.disturb(until)]);
      server.kill("SIGUSR2");
      expect(await server.ended).toEqual({ code: 1, signal: null });
    } finally {
      server.kill("SIGKILL");
    }
    written += server.output();
  }
  const issued = clients.flatMap((client, index) =>
    client.issued.map((core, place) => ({ name: `issued ${index}.${place}`, core: core.slice(0, 40) })),
  );
  return { written, clients, leak, secrets: [...planted.secrets, ...signaturesOf(tokens), crash], issued };
}

/** How often each outcome was met. */
function tally(clients: readonly MixedClient[]): Record<string, number> {
  const all: Record<string, number> = {};
  for (const { codes } of clients) for (const [key, count] of codes) all[key] = (all[key] ?? 0) + count;
  return all;
}

/** A Postgres in a container says nothing of whether this machine has one whose log can be read. */
const hasPostgres = process.env.PGRCP_TEST_DATABASE_URL !== undefined && process.env.PGRCP_TEST_CONTAINERS !== "1";
const kinds = hasPostgres ? ["embedded", "postgres"] : ["embedded"];

describe.each(kinds)("on the %s database", (kind) => {
  test(
    `no secret of a mixed run of ${RUN_MS / 1_000} s and of three crashes is in a log`,
    async () => {
      const folder = await mkdtemp(join(tmpdir(), "pgrcp-planted-"));
      closeLater.push(() => rm(folder, { recursive: true }));
      const [rows, postgresLeak, answered] = [plant("rows"), plant("leak of Postgres"), plant("provider's answer")];
      const keys = ["embedding key", "reranker key", "generator key"].map(plant);
      const provider = await startLeakyProvider(answered.core);
      closeLater.push(() => provider.close());
      const database = kind === "embedded" ? await embedded(folder) : await postgres(rows, postgresLeak);

      const { written, clients, leak, secrets, issued } = await runAndCrash(database, folder, provider, keys);
      const logged = await database.log();

      const all = [...secrets, ...keys, ...database.passwords, rows, answered];
      console.info(
        kind,
        tally(clients),
        `${all.length} secrets, ${issued.length} issued`,
        `${written.length} + ${logged.length} characters`,
      );
      expect(all.length).toBeGreaterThanOrEqual(50);
      expect(issued.length).toBeGreaterThan(0);
      for (const code of [-32602, -32005, -32010, -32012, -32014, -32700])
        expect(Object.keys(tally(clients)).join()).toContain(String(code));
      expect(findPlanted(written + logged, [...all, ...issued])).toEqual([]);
      expect(written.match(/"event":"internal-error"/g)).toHaveLength(3);
      // What was written on purpose is found, so the rest would be.
      expect(findPlanted(written, [leak])).toEqual(["leak"]);
      if (kind === "embedded") return;
      expect(findPlanted(logged, [postgresLeak])).toEqual(["leak of Postgres"]);
      expect(logged).toMatch(/duration: .* insert into pgrcp\.chunks/);
      expect(logged).toMatch(/duration: .* plan:/);
    },
    TEST_MS,
  );
});

test("a secret is found in a log as it is, and escaped, in hex and in base64 wherever it begins", () => {
  const secret = plant("secret");
  const within = (text: string) => findPlanted(`{"event":"x","text":"${text}"}`, [secret]);

  expect(within("nothing")).toEqual([]);
  for (const form of formsOf(secret)) expect(within(form)).toEqual(["secret"]);
  for (const before of ["", "a", "ab", "abc"]) {
    const longer = Buffer.from(`${before}${secret.core} and more`);
    for (const encoding of ["base64", "base64url", "hex"] as const) {
      expect(within(longer.toString(encoding))).toEqual(["secret"]);
    }
  }
});
