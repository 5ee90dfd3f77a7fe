const FIRST_MS = 2_000;
const NEXT_MS = 5_000;

/** Says on standard error that a command is at work, once it takes longer than two seconds and then every five. */
export async function stillAtWork<Result>(label: string, work: Promise<Result>): Promise<Result> {
  const startedAt = performance.now();
  const tell = () => {
    process.stderr.write(`${label}: ${Math.round((performance.now() - startedAt) / 1_000)} s\n`);
    timer = setTimeout(tell, NEXT_MS);
  };
  let timer = setTimeout(tell, FIRST_MS);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}
