import type pg from "pg";
import type { Corpus } from "../src/catalog/corpus.ts";
import { SeededRandom } from "../test/support/seeded-random.ts";
import { denseSql } from "./dense-sql.ts";
import type { Matrix } from "./recall.ts";
import { timed } from "./statistics.ts";
import { placeOf, type ZipfTenant, type ZipfTenants } from "./zipf-tenants.ts";

/** Calls of many tenants at a time, chosen at random and counted. */

const K = 10;
/** Of each tenant; each is asked once before anything is measured. */
const QUESTIONS = 3;

/** Of all reads. The last is the SQL of a dense retrieve, by the driver as the same login and among the same calls. */
const READS = { hybrid: 0.4, dense: 0.2, sparse: 0.2, sql: 0.2 } as const;
export type Read = keyof typeof READS;
export const KINDS = Object.keys(READS) as Read[];
/** Of all calls beside writes: half of them add so many small documents, half delete those of an earlier call. */
export const WRITES = 0.1;
const PER_WRITE = 2;

export const PHASES = ["alone", "besideWrites"] as const;
export type Phase = (typeof PHASES)[number];

/** What asks one tenant's questions, with tokens of its own. */
export interface Caller {
  readonly tenant: ZipfTenant;
  readonly questions: readonly {
    retrieve(mode: Exclude<Read, "sql">): Promise<Answer>;
    sql(driver: pg.Client): Promise<unknown>;
  }[];
  add(ids: readonly string[], texts: readonly string[]): Promise<unknown>;
  remove(ids: readonly string[]): Promise<unknown>;
}

interface Answer {
  readonly hits: readonly { readonly id: string; readonly text?: string }[];
}

export async function callerOf(
  tenant: ZipfTenant,
  corpora: ReadonlyMap<ZipfTenant, Corpus>,
  { server, ask }: Matrix,
): Promise<Caller> {
  const tokenFor = (credentials: readonly ("read" | "add" | "delete")[]) =>
    server.issuer.mint({ tenant: tenant.name, credentials, expiresIn: 36_000 });
  const reader = await tokenFor(["read"]);
  const writer = await tokenFor(["add", "delete"]);
  const corpus = corpora.get(tenant);
  if (corpus === undefined) throw new Error("each tenant has a corpus");
  return {
    tenant,
    questions: Array.from({ length: QUESTIONS }, (_, number) => {
      const { text, vector } = tenant.question(number);
      const query = ask(text, vector);
      return {
        retrieve: async (mode) => (await server.call("retrieve", { query, mode, k: K }, reader)) as unknown as Answer,
        sql: denseSql(corpus, vector, { byGraph: corpus.graphChunks !== undefined }),
      };
    }),
    add: (ids, texts) =>
      server.call("index/add", { documents: ids.map((id, at) => ({ id, text: texts[at] })) }, writer),
    remove: (ids) => server.call("index/delete", { ids }, writer),
  };
}

export interface Call {
  readonly tenant: ZipfTenant;
  readonly phase: Phase;
  readonly kind: Read | "write";
  readonly ms: number;
}

/** Calls of all tenants, and what came of them. */
export class Traffic {
  readonly calls: Call[] = [];
  answers = 0;
  hits = 0;
  foreign = 0;
  errors = 0;
  readonly #tenants: ZipfTenants;
  readonly #callers: ReadonlyMap<ZipfTenant, Caller>;
  readonly #drivers: readonly pg.Client[];
  readonly #report: (line: string) => void;
  readonly #random = new SeededRandom(1);
  /** What was added and not yet deleted, oldest first. */
  readonly #added: { readonly caller: Caller; readonly ids: readonly string[] }[] = [];
  #writes = 0;

  constructor(
    tenants: ZipfTenants,
    callers: ReadonlyMap<ZipfTenant, Caller>,
    drivers: readonly pg.Client[],
    report: (line: string) => void,
  ) {
    this.#tenants = tenants;
    this.#callers = callers;
    this.#drivers = drivers;
    this.#report = report;
  }

  /** Every question of every tenant once. */
  async askAll(): Promise<void> {
    const all = [...this.#callers.values()].flatMap(({ tenant, questions }) =>
      questions.map((question) => ({ tenant, question })),
    );
    const left = all[Symbol.iterator]();
    await this.#inLanes(async () => {
      for (const { tenant, question } of left)
        await this.#counted(async () => this.#look(tenant, await question.retrieve("hybrid")));
    });
  }

  async run(phase: Phase, seconds: number): Promise<void> {
    const endsAt = performance.now() + seconds * 1_000;
    await this.#inLanes(async (driver) => {
      while (performance.now() < endsAt) await this.#call(phase, driver);
    });
  }

  async #inLanes(lane: (driver: pg.Client) => Promise<void>): Promise<void> {
    await Promise.all(this.#drivers.map(lane));
  }

  async #call(phase: Phase, driver: pg.Client): Promise<void> {
    const isWrite = phase === "besideWrites" && this.#random.fraction() < WRITES;
    const tenant = this.#tenants.choose(this.#random);
    const caller = this.#callers.get(tenant);
    if (caller === undefined) throw new Error("each tenant has a caller");
    const kind = isWrite ? "write" : (KINDS[placeOf(this.#random.fraction(), Object.values(READS))] as Read);
    let answer: Answer | undefined;
    await this.#counted(async () => {
      const ms = await timed(async () => {
        const question = this.#random.pick(caller.questions);
        if (kind === "write") await this.#write(caller);
        else if (kind === "sql") await question.sql(driver);
        else answer = await question.retrieve(kind);
      });
      this.calls.push({ tenant, phase, kind, ms });
      if (answer !== undefined) this.#look(tenant, answer);
    });
  }

  /** Adds and deletes in turn, so that tenants stay as large as they are. */
  async #write(caller: Caller): Promise<void> {
    const nth = this.#writes++;
    const earlier = nth % 2 === 0 ? undefined : this.#added.shift();
    if (earlier !== undefined) {
      await earlier.caller.remove(earlier.ids);
      return;
    }
    const { tenant } = caller;
    const numbers = Array.from({ length: PER_WRITE }, (_, at) => tenant.chunks + nth * PER_WRITE + at);
    const ids = numbers.map(tenant.idOf);
    await caller.add(ids, numbers.map(tenant.vectors.text));
    this.#added.push({ caller, ids });
  }

  #look(tenant: ZipfTenant, { hits }: Answer): void {
    this.answers++;
    this.hits += hits.length;
    if (!hits.every(tenant.owns)) this.foreign++;
  }

  async #counted(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.errors++;
      this.#report(`error ${this.errors}: ${(error as Error).message}`);
    }
  }
}
