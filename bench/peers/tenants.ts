import type pg from "pg";
import { vectorLiteral } from "../../src/sql/halfvec.ts";
import { vectorArray, vectorOid } from "../load-corpus.ts";
import { syntheticVectors, type Vectors } from "../vectors.ts";

/** The tenants that every contender holds, and what is asked of them. */

export const K = 10;

export interface PeerTenant {
  readonly name: string;
  readonly chunks: number;
  readonly vectors: Vectors;
}

export interface Question {
  readonly tenant: PeerTenant;
  readonly text: string;
  readonly vector: Float32Array;
  /** Ids of the nearest chunks; more than ten where others are as near as the tenth. */
  readonly right: ReadonlySet<string>;
}

/** Two chunks as near as that are as good as each other: about what rounding to half precision moves a cosine by. */
const TIE = 1e-4;
/** Chunks on one subject, so that a question has as many near ones whatever the tenant's size. */
const CLUSTER = 100;
const TENANT_STRIDE = 1_000_000;
const WORDS_PER_TEXT = 30;
const WORDS = Array.from({ length: 4_000 }, (_, n) => `w${n.toString(36)}`);

/** Thirty words, a third of them from the sixty most common ones. */
const textOf = (number: number): string =>
  Array.from(
    { length: WORDS_PER_TEXT },
    (_, at) => WORDS[(number * 7_919 + at * 104_729) % (at % 3 === 0 ? 60 : WORDS.length)],
  ).join(" ");

export const DATA =
  "synthetic clusters on the sphere (bench/vectors.ts) of about 100 chunks, other draws for each tenant; texts of 30 words (bench/peers/tenants.ts)";

/** @param counts of tenants, by how many chunks each has */
export function peerTenants(counts: readonly { readonly chunks: number; readonly tenants: number }[]): PeerTenant[] {
  const sizes = counts.flatMap(({ chunks, tenants }) => Array.from({ length: tenants }, () => chunks));
  return sizes.map((chunks, number) => {
    const first = number * TENANT_STRIDE;
    const vectors = syntheticVectors({ centres: chunks / CLUSTER });
    const chunk = (at: number) => vectors.chunk(first + at);
    return { name: `tenant_${number}`, chunks, vectors: { ...vectors, chunk, text: (at) => textOf(first + at) } };
  });
}

export const idOf = (chunk: number): string => `d${chunk}`;

/** Numbers of a tenant's chunks, so many at a time. */
export function* batches({ chunks }: PeerTenant, size: number): Generator<readonly number[]> {
  for (let first = 0; first < chunks; first += size)
    yield Array.from({ length: Math.min(size, chunks - first) }, (_, at) => first + at);
}

/** A table `source` of all chunks, from which the peers in Postgres are filled and the right answers are read. */
export async function fillSource(owner: pg.Client, tenants: readonly PeerTenant[]): Promise<void> {
  await owner.query("create extension vector");
  const { dimension } = syntheticVectors();
  await owner.query(`create table source (tenant text, id text, body text, embedding vector(${dimension}))`);
  const oid = await vectorOid(owner);
  for (const tenant of tenants)
    for (const numbers of batches(tenant, 2_000))
      await owner.query(
        "insert into source select $1, new.* from unnest($2::text[], $3::text[], $4::vector[]) as new",
        [
          tenant.name,
          numbers.map(idOf),
          numbers.map(tenant.vectors.text),
          vectorArray(oid, numbers.map(tenant.vectors.chunk)),
        ],
      );
  await owner.query("create index on source (tenant)");
  await owner.query("vacuum analyze source");
}

/** Questions on topic, to each of some tenants in turn. */
export async function questionsTo(
  owner: pg.Client,
  tenants: readonly PeerTenant[],
  questions: number,
): Promise<Question[]> {
  const asked: Question[] = [];
  for (let number = 0; number < questions; number++) {
    const tenant = tenants[number % tenants.length];
    if (tenant === undefined) throw new Error("there is a tenant to ask");
    const vector = tenant.vectors.question("on", number);
    const { rows } = await owner.query<{ id: string; distance: number }>(
      `select id, embedding <=> $1 as distance from source where tenant = $2 order by distance limit ${3 * K}`,
      [vectorLiteral(vector), tenant.name],
    );
    const furthest = rows[K - 1]?.distance ?? 0;
    const right = new Set(rows.filter(({ distance }) => distance <= furthest + TIE).map(({ id }) => id));
    asked.push({ tenant, text: `question ${number} to ${tenant.name}`, vector, right });
  }
  return asked;
}

/** Of the ten nearest, how many an answer has. */
export const recallOf = (answer: readonly string[], { right }: Question): number =>
  Math.min(1, answer.filter((id) => right.has(id)).length / K);
