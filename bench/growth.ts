import { loadavg } from "node:os";
import { loadCorpus } from "./load-corpus.ts";
import { IDENTITY, type Matrix, openMatrix } from "./recall.ts";
import { connectAsOwner } from "./server.ts";
import { interleaved, median } from "./statistics.ts";
import { syntheticVectors } from "./vectors.ts";

/**
 * What a small tenant sees of the others: dense `retrieve` over HTTP in a database of few tenants and in one of many, of which a fifth are
 * large enough for a partition and a graph of their own. Large is from 500 chunks on here: it is the number of partitions that counts.
 */

const SMALL = 100;
const LARGE = 1_000;
const OWN_PARTITION_FROM = 500;
const ASKED = 5;
const QUESTIONS = 20;

export interface GrowthFigures {
  readonly tenants: number;
  readonly large: number;
  readonly smallTenantP50Ms: number;
  /** What is done in the database: `pgrcp maintain` for all large tenants, in seconds. */
  readonly maintainSeconds: number;
  readonly load: number;
}

/** @param counts of tenants; both databases are asked in turn */
export async function measureTenantGrowth(
  counts: readonly [few: number, many: number],
  { rounds, report }: { readonly rounds: number; readonly report: (line: string) => void },
): Promise<GrowthFigures[]> {
  const sides: { readonly matrix: Matrix; readonly ask: () => Promise<unknown>; readonly figures: Counted }[] = [];
  try {
    for (const tenants of counts) sides.push(await open(tenants, report));
    const [few, many] = sides;
    if (few === undefined || many === undefined) throw new Error("there are two databases");
    const took = await interleaved({ few: few.ask, many: many.ask }, { rounds, perRound: 10 });
    const load = loadavg()[0] ?? 0;
    return [
      { ...few.figures, smallTenantP50Ms: median(took.few), load },
      { ...many.figures, smallTenantP50Ms: median(took.many), load },
    ];
  } finally {
    for (const { matrix } of sides) await matrix.close();
  }
}

type Counted = Pick<GrowthFigures, "tenants" | "large" | "maintainSeconds">;

async function open(tenants: number, report: (line: string) => void) {
  const vectors = syntheticVectors();
  const matrix = await openMatrix({ ownPartitionFrom: OWN_PARTITION_FROM });
  const { server } = matrix;
  const owner = await connectAsOwner(server);
  const large = tenants / 5;
  for (let number = 0; number < tenants; number++) {
    const chunks = number < large ? LARGE : SMALL;
    await loadCorpus(owner, { tenant: tenantOf(number), chunks, vectors, identity: IDENTITY });
  }
  await owner.query("vacuum analyze");
  report(`${tenants} tenants are loaded`);
  const startedAt = performance.now();
  await server.maintain();
  const maintainSeconds = Math.round((performance.now() - startedAt) / 1_000);
  report(`${large} of them have a partition and a graph of their own`);
  await owner.query("vacuum analyze");
  await owner.end();
  const askers: (() => Promise<unknown>)[] = [];
  for (let number = tenants - ASKED; number < tenants; number++) {
    const tenant = tenantOf(number);
    const token = await server.issuer.mint({ tenant, credentials: ["read"], expiresIn: 36_000 });
    for (let question = 0; question < QUESTIONS; question++) {
      const query = matrix.ask(`${tenant}, ${question}`, vectors.question("on", question));
      askers.push(() => server.call("retrieve", { query, mode: "dense", k: 10 }, token));
    }
  }
  let asked = 0;
  const ask = async () => await askers[asked++ % askers.length]?.();
  return { matrix, ask, figures: { tenants, large, maintainSeconds } };
}

const tenantOf = (number: number): string => `tenant-${number}`;
