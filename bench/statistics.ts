/** Figures of one series. */

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** Milliseconds that `work` took. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/**
 * Runs every contender in turn, `perRound` times each, over `rounds` rounds, so that what the machine does meanwhile falls on all.
 *
 * @returns milliseconds of each run, by contender
 */
export async function interleaved<Name extends string>(
  contenders: Readonly<Record<Name, () => Promise<unknown>>>,
  { rounds, perRound }: { readonly rounds: number; readonly perRound: number },
): Promise<Record<Name, number[]>> {
  const names = Object.keys(contenders) as Name[];
  const took = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>;
  for (const name of names) for (let warm = 0; warm < perRound; warm++) await contenders[name]();
  for (let round = 0; round < rounds; round++)
    for (const name of names) for (let run = 0; run < perRound; run++) took[name].push(await timed(contenders[name]));
  return took;
}

/** Runs a second that `clients` make between them, each waiting for its answer before it asks again. */
export async function throughput(
  run: (client: number) => Promise<unknown>,
  { clients, seconds }: { readonly clients: number; readonly seconds: number },
): Promise<number> {
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1_000;
  let runs = 0;
  const loop = async (client: number) => {
    while (performance.now() < endsAt) {
      await run(client);
      runs++;
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, client) => loop(client)));
  return runs / ((performance.now() - startedAt) / 1_000);
}
