import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";
import { SeededRandom, testSeed } from "../support/seeded-random.ts";

/**
 * How much a tenant's latency tells of its neighbour. Four databases that are made alike; in one the neighbour then grows a
 * hundredfold. The same requests go to all four in blocks, in turn, so that what the machine does meanwhile falls on each. How far
 * the grown one's median is from the others' must be within the 95th percentile of how far a still one's is from the other two's.
 */

const BLOCKS = 200;
const RESAMPLES = 2_000;
const OWN_DOCUMENTS = 200;
const NEIGHBOUR_DOCUMENTS = 100;
const GROWTH = 100;
const PER_CALL = 100;
/** Tenants that are there before and after, so that no database is one of nobody else: the planner may choose otherwise there. */
const BYSTANDERS = 10;
const STILL = ["still", "twin", "third"] as const;
const NAMES = [...STILL, "grown"] as const;
type Name = (typeof NAMES)[number];

/** The embedded database has one connection and no planner's statistics to speak of; it is a laptop's. */
const isAsked = process.env.PGRCP_TEST_FULL === "1" && process.env.PGRCP_TEST_DATABASE_URL !== undefined;
const seed = testSeed();

interface Subject {
  readonly database: TestDatabase;
  readonly server: RcpServer;
  readonly token: string;
  readonly neighbour: string;
}

const subjects = new Map<Name, Subject>();
const subject = (name: Name): Subject => {
  const found = subjects.get(name);
  if (found === undefined) throw new Error(`no such subject: ${name}`);
  return found;
};

const WORDS = ["amber", "zircon", "quartz", "opal", "jade", "beryl", "topaz", "garnet"];
const textOf = (n: number) =>
  Array.from({ length: 20 }, (_, at) => WORDS[(n * 7 + at * (1 + (n % 5))) % WORDS.length]).join(" ");
const QUERIES = ["dense", "sparse", "hybrid"].flatMap((mode) => [
  { query: "amber quartz", mode, k: 10 },
  { query: "topaz", mode, k: 10 },
]);

async function write({ server }: Subject, token: string, from: number, count: number): Promise<void> {
  for (let at = from; at < from + count; at += PER_CALL) {
    const documents = Array.from({ length: PER_CALL }, (_, n) => ({ id: `d${at + n}`, text: textOf(at + n) }));
    const { body } = await server.call("index/add", { documents }, { token });
    expect(body?.error).toBeUndefined();
  }
}

const analyse = ({ database }: Subject) => database.admin.transaction((transaction) => transaction.script("analyze"));

async function open(): Promise<Subject> {
  const database = await openTestDatabase();
  const server = await startRcpServer({
    config: { auth: { combinedTokens: true }, rateLimit: { enabled: false } },
    handlers: HANDLERS,
    database: database.database,
    corpora: new CachedCorpusStore(database.database),
  });
  const mint = (tenant: string) => server.token({ tenant, credentials: ["read", "add"], expiresIn: 3_600 });
  const made = { database, server, token: await mint("acme"), neighbour: await mint("globex") };
  await write(made, made.token, 0, OWN_DOCUMENTS);
  await write(made, made.neighbour, 0, NEIGHBOUR_DOCUMENTS);
  for (let n = 0; n < BYSTANDERS; n++) await write(made, await mint(`bystander-${n}`), 0, OWN_DOCUMENTS);
  await analyse(made);
  return made;
}

beforeAll(async () => {
  if (!isAsked) return;
  for (const name of NAMES) subjects.set(name, await open());
}, 300_000);
afterAll(async () => {
  for (const { server, database } of subjects.values()) {
    await server.close();
    await database.close();
  }
});

/** The hits, without what differs from call to call. */
async function hitsOf({ server, token }: Subject): Promise<unknown> {
  const answers: unknown[] = [];
  for (const params of QUERIES) answers.push((await server.call("retrieve", params, { token })).body?.result?.hits);
  return JSON.parse(JSON.stringify(answers).replaceAll(/"(addedAt|fetchedAt|indexVersion)":"[^"]*"/g, '"$1":""'));
}

/** Milliseconds that each of a block's requests took. */
async function block({ server, token }: Subject): Promise<number[]> {
  const took: number[] = [];
  for (const params of QUERIES) {
    const startedAt = performance.now();
    const { status } = await server.call("retrieve", params, { token });
    took.push(performance.now() - startedAt);
    expect(status).toBe(200);
  }
  return took;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length / 2;
  return ((sorted[Math.ceil(half) - 1] ?? Number.NaN) + (sorted[Math.floor(half)] ?? Number.NaN)) / 2;
}

type Blocks = readonly (readonly number[])[];

/** How far the median of one database's blocks is from that of others'. */
const change = (others: readonly Blocks[], one: Blocks) => Math.abs(median(one.flat()) - median(others.flat(2)));

const onPostgres = () => {
  test(`that grows ${GROWTH}-fold is not seen in what a tenant's requests take, nor in its hits and scores`, async () => {
    const random = new SeededRandom(seed);
    const before = await hitsOf(subject("grown"));
    await write(subject("grown"), subject("grown").neighbour, NEIGHBOUR_DOCUMENTS, NEIGHBOUR_DOCUMENTS * (GROWTH - 1));
    await analyse(subject("grown"));
    expect(await hitsOf(subject("grown"))).toEqual(before);

    const blocks: Record<Name, number[][]> = { still: [], twin: [], third: [], grown: [] };
    for (const name of NAMES) for (let warm = 0; warm < 20; warm++) await block(subject(name));
    for (let round = 0; round < BLOCKS; round++) {
      const order = NAMES.map((name) => ({ name, at: random.fraction() })).toSorted((a, b) => a.at - b.at);
      for (const { name } of order) blocks[name].push(await block(subject(name)));
    }

    // Rounds are drawn whole: what the machine did in one falls on both of its blocks.
    const drawn = Array.from({ length: RESAMPLES }, () => {
      const rounds = Array.from({ length: BLOCKS }, () => random.integer(0, BLOCKS - 1));
      const of = (name: Name) => rounds.map((round) => blocks[name][round] ?? []);
      const one = random.pick(STILL);
      return change(STILL.filter((name) => name !== one).map(of), of(one));
    }).toSorted((a, b) => a - b);
    const bound = drawn[Math.floor(RESAMPLES * 0.95)] ?? 0;
    const grown = change(
      STILL.map((name) => blocks[name]),
      blocks.grown,
    );
    const medians = NAMES.map((name) => `${name} ${median(blocks[name].flat()).toFixed(3)} ms`).join(", ");
    console.info(
      `seed ${seed}; medians: ${medians}; change with growth ${grown.toFixed(4)} ms, 95th percentile without ${bound.toFixed(4)} ms`,
    );
    expect(grown).toBeLessThanOrEqual(bound);
    expect(await hitsOf(subject("grown"))).toEqual(before);
  }, 600_000);
};

describe.runIf(isAsked)("a neighbour", onPostgres);
