import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { reasonOf } from "../failure.ts";
import { interleaved, median, quantile, throughput } from "../statistics.ts";
import { openChroma } from "./chroma.ts";
import { installNodePeers, installPythonPeers } from "./install.ts";
import { openLangChain } from "./langchain.ts";
import { CLIENTS, type Contender, type Peer, WIDTHS, type Width } from "./peer.ts";
import { openPgrcp } from "./pgrcp.ts";
import { openPlain } from "./plain.ts";
import { DATA, fillSource, type PeerTenant, peerTenants, type Question, questionsTo, recallOf } from "./tenants.ts";

/**
 * pgrcp beside what one might use in its place, on the same machine and data, at the same recall: each peer's graphs are searched just as
 * widely as it takes to find what pgrcp finds, or as widely as they can be.
 */

/** Recall that differs by no more is the same. */
const SAME_RECALL = 0.005;
const TURNS = 3;

export interface PeersOptions {
  readonly counts: readonly { readonly chunks: number; readonly tenants: number }[];
  readonly questions: number;
  readonly rounds: number;
  /** Of each of the three turns in which eight clients ask one contender. */
  readonly seconds: number;
  /** Chunks above which pgrcp gives a tenant a graph. */
  readonly ownPartitionFrom: number;
  /** Whether LangChain's store is measured with one table for all, too. */
  readonly sharedTable: boolean;
  /** Where peers are installed; a temporary folder by default. */
  readonly folder?: string | undefined;
  readonly report: (line: string) => void;
}

export interface PeersFigures {
  readonly data: string;
  readonly cores: number;
  readonly node: string;
  readonly contenders: readonly Pick<Contender, "name" | "isolates" | "settings">[];
  /** Why a peer has no figures. */
  readonly notRun: Readonly<Record<string, string>>;
  readonly maintained: readonly object[];
  readonly sizes: readonly PeersAtSize[];
}

export interface PeersAtSize {
  readonly chunks: number;
  readonly tenants: number;
  readonly questions: number;
  readonly results: readonly PeerResult[];
  /** pgrcp's answers by how their chunks were found. */
  readonly searches: Readonly<Record<string, number>>;
  /** Of the machine, over the last minute. */
  readonly load: number;
}

export interface PeerResult {
  readonly name: string;
  readonly width?: Width;
  readonly recall: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  /** Answers a second to eight clients. */
  readonly rate: number;
  /** pgrcp's p50 as a share of the peer's: below 1, pgrcp is ahead. */
  readonly pgrcpP50: number;
  /** pgrcp's rate by the peer's: above 1, pgrcp is ahead. */
  readonly pgrcpRate: number;
}

export async function measurePeers(options: PeersOptions): Promise<PeersFigures> {
  const contest = await openContest(options);
  try {
    const sizes: PeersAtSize[] = [];
    for (const { chunks } of options.counts) sizes.push(await contest.measure(await contest.tune(chunks)));
    return { ...contest.figures, sizes };
  } finally {
    await contest.close();
  }
}

/** What is asked of tenants of one size, and how widely each peer searches for it. */
export interface Tuned {
  readonly tenants: readonly PeerTenant[];
  readonly questions: readonly Question[];
  readonly contenders: readonly { readonly contender: Contender; readonly width?: Width; readonly recall: number }[];
}

export interface Contest {
  readonly figures: Omit<PeersFigures, "sizes">;
  tune(chunks: number): Promise<Tuned>;
  measure(tuned: Tuned): Promise<PeersAtSize>;
  close(): Promise<void>;
}

export async function openContest(options: PeersOptions): Promise<Contest> {
  const { report } = options;
  const tenants = peerTenants(options.counts);
  const temporary = await mkdtemp(join(tmpdir(), "pgrcp-peers-"));
  const folder = options.folder ?? temporary;
  const closing: (() => Promise<unknown>)[] = [() => rm(temporary, { recursive: true })];
  const close = async () => {
    for (const end of closing.reverse()) await end();
  };
  try {
    const { owner, url, drop } = await openDatabase();
    closing.push(drop);
    await fillSource(owner, tenants);
    report("the tenants' chunks are there");
    const pgrcp = await openPgrcp(tenants, options.ownPartitionFrom);
    closing.push(() => pgrcp.close());
    report(`pgrcp is filled, and maintained: ${JSON.stringify(pgrcp.maintained)}`);
    const peers: Peer[] = [];
    const notRun: Record<string, string> = {};
    const take = async (name: string, open: () => Promise<readonly Peer[]>) => {
      try {
        const opened = await open();
        peers.push(...opened);
        closing.push(...opened.map((peer) => () => peer.close()));
        report(`${name} is filled`);
      } catch (error) {
        console.error(error);
        notRun[name] = `not run: ${reasonOf(error)}`;
        report(`${name}: ${notRun[name]}`);
      }
    };
    await take("pgvector", async () => [await openPlain(owner, url, tenants)]);
    await take("LangChain PGVectorStore", async () => {
      const node = await installNodePeers(folder);
      const { stores, close: stop } = await openLangChain(owner, url, tenants, node, options);
      closing.push(stop);
      return stores;
    });
    await take("Chroma", async () => [await openChroma(tenants, await installPythonPeers(folder), temporary)]);
    const contenders = [pgrcp, ...peers];
    return {
      figures: {
        data: DATA,
        cores: availableParallelism(),
        node: process.version,
        contenders: contenders.map(({ name, isolates, settings }) => ({ name, isolates, settings })),
        notRun,
        maintained: pgrcp.maintained,
      },
      async tune(chunks) {
        const some = tenants.filter((tenant) => tenant.chunks === chunks);
        const questions = await questionsTo(owner, some, options.questions);
        const wanted = (await recallAndTime(pgrcp, questions)).recall;
        const tuned: Tuned["contenders"][number][] = [{ contender: pgrcp, recall: wanted }];
        for (const peer of peers) {
          tuned.push({ contender: peer, ...(await tunePeer(peer, some, questions, wanted - SAME_RECALL)) });
          report(`${chunks} chunks, ${peer.name}: ${JSON.stringify({ ...tuned.at(-1), contender: undefined })}`);
        }
        return { tenants: some, questions, contenders: tuned };
      },
      async measure(tuned) {
        pgrcp.takeSearches();
        const figures = await measureSize(tuned, options);
        return { ...figures, searches: pgrcp.takeSearches() };
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A database of the peers' own in the cluster that PGRCP_TEST_DATABASE_URL names. */
async function openDatabase() {
  const cluster = process.env.PGRCP_TEST_DATABASE_URL ?? "";
  const name = `peers_${process.pid}`;
  const admin = new pg.Client({ connectionString: cluster });
  await admin.connect();
  await admin.query(`create database ${name}`);
  const url = new URL(cluster);
  url.pathname = `/${name}`;
  const owner = new pg.Client({ connectionString: url.href });
  await owner.connect();
  const drop = async () => {
    await owner.end();
    await admin.query(`drop database ${name} with (force)`);
    await admin.end();
  };
  return { owner, url: url.href, drop };
}

/** The narrowest width that finds enough, and the quicker of a graph and none where a peer can do without. */
async function tunePeer(peer: Peer, tenants: readonly PeerTenant[], questions: readonly Question[], wanted: number) {
  const at = async (width: Width) => {
    await peer.setWidth(tenants, width);
    return { width, ...(await recallAndTime(peer, questions)) };
  };
  let [from, to] = [0, WIDTHS.length - 1];
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    if ((await at(WIDTHS[middle] ?? 0)).recall >= wanted) to = middle;
    else from = middle + 1;
  }
  let best = await at(WIDTHS[to] ?? 0);
  if (peer.canBeExact) {
    const exact = await at("exact");
    if (exact.p50Ms < best.p50Ms || best.recall < wanted) best = exact;
  }
  await peer.setWidth(tenants, best.width);
  return { width: best.width, recall: best.recall };
}

async function recallAndTime(contender: Contender, questions: readonly Question[]) {
  const took: number[] = [];
  let sum = 0;
  for (const question of questions) {
    const startedAt = performance.now();
    const answer = await contender.search(question, 0);
    took.push(performance.now() - startedAt);
    sum += recallOf(answer, question);
  }
  return { recall: sum / questions.length, p50Ms: median(took) };
}

async function measureSize(
  { tenants, questions, contenders }: Tuned,
  { rounds, seconds, report }: PeersOptions,
): Promise<Omit<PeersAtSize, "searches">> {
  let asked = 0;
  const askOf = (contender: Contender) => async (client: number) => {
    const question = questions[asked++ % questions.length] as Question;
    await contender.search(question, client);
  };
  const asks = Object.fromEntries(contenders.map(({ contender }) => [contender.name, askOf(contender)]));
  const singly = Object.fromEntries(Object.entries(asks).map(([name, ask]) => [name, () => ask(0)]));
  const rates = new Map<string, number[]>();
  for (let turn = 0; turn < TURNS; turn++)
    for (const [name, ask] of Object.entries(asks))
      rates.set(name, [...(rates.get(name) ?? []), await throughput(ask, { clients: CLIENTS, seconds })]);
  // By now all have been asked so often that their code is compiled as it stays.
  const took = await interleaved(singly, { rounds, perRound: 10 });
  const load = loadavg()[0] ?? 0;
  const figures = contenders.map(({ contender: { name }, recall, width }) => ({
    name,
    ...(width !== undefined && { width }),
    recall,
    p50Ms: median(took[name] ?? []),
    p95Ms: quantile(took[name] ?? [], 0.95),
    rate: median(rates.get(name) ?? []),
  }));
  const [own] = figures;
  if (own === undefined) throw new Error("pgrcp is the first contender");
  const results = figures.map((figure) => ({
    ...figure,
    pgrcpP50: own.p50Ms / figure.p50Ms,
    pgrcpRate: own.rate / figure.rate,
  }));
  const chunks = tenants[0]?.chunks ?? 0;
  for (const line of tableOf(results)) report(`${chunks} chunks: ${line}`);
  return { chunks, tenants: tenants.length, questions: questions.length, results, load };
}

const tableOf = (results: readonly PeerResult[]): string[] =>
  results.map(({ name, width = "-", recall, p50Ms, p95Ms, rate, pgrcpP50, pgrcpRate }) =>
    [
      name.padEnd(46),
      `width ${width}`.padEnd(12),
      `recall ${recall.toFixed(4)}`,
      `p50 ${p50Ms.toFixed(2)} ms, p95 ${p95Ms.toFixed(2)} ms`,
      `${rate.toFixed(0)}/s`,
      `pgrcp: p50 x ${pgrcpP50.toFixed(2)}, rate x ${pgrcpRate.toFixed(2)}`,
    ].join("  "),
  );
