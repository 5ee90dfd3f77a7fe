import { tmpdir } from "node:os";
import { join } from "node:path";
import { fillCorpus, type Matrix, type MatrixCorpus, measureRecall, openMatrix, type SizeFigures } from "./recall.ts";
import { embedOnce, questionsOf, sentencesOf } from "./sentences.ts";
import { interleaved, median } from "./statistics.ts";
import { sentenceVectors, syntheticVectors, type Vectors } from "./vectors.ts";

/** What is measured of corpora of many sizes in one database, from the smallest to the largest. */

/** The built-in model embeds so many in a quarter of an hour. */
const MOST_SENTENCES = 40_000;
const FEWEST_SENTENCES = 10_000;
const OTHER_QUESTIONS = 300;

export interface MatrixOptions {
  readonly sizes: readonly number[];
  readonly questions: number;
  /** A collection whose sentences the corpora of 10,000 to 40,000 chunks are made of; without one they are synthetic, too. */
  readonly sentences?: string | undefined;
  /** A collection on other subjects, of which only the questions are asked. */
  readonly others?: string | undefined;
  /** The folder in which vectors of sentences are kept. */
  readonly cache?: string | undefined;
  readonly report: (line: string) => void;
}

export interface MatrixFigures {
  readonly sizes: readonly SizeFigures[];
  /** On topic and without a filter, all sizes in turn. */
  readonly growth: readonly { readonly chunks: number; readonly p50Ms: number }[];
}

export async function measureMatrix(options: MatrixOptions): Promise<MatrixFigures> {
  const { sizes, report } = options;
  const synthetic = syntheticVectors();
  const real = await realVectors(options);
  const matrix = await openMatrix();
  try {
    const figures: SizeFigures[] = [];
    const corpora: MatrixCorpus[] = [];
    for (const size of sizes.toSorted((a, b) => a - b)) {
      const isReal = real !== undefined && size >= FEWEST_SENTENCES && size <= MOST_SENTENCES;
      const vectors = isReal ? real.vectors : synthetic;
      const chunks = isReal ? Math.min(size, real.count) : size;
      const corpus: MatrixCorpus = { tenant: `tenant-${size}`, chunks, vectors };
      report(`${chunks} chunks: loading`);
      const filled = await fillCorpus(matrix, corpus);
      for (const done of filled.maintained) report(JSON.stringify(done));
      // A look at each chunk of a large corpus takes long, and there are fewer of them.
      const questions = chunks > 100_000 ? Math.min(options.questions, 20) : options.questions;
      const cells = await measureRecall(matrix, corpus, { questions, report });
      figures.push({ chunks, vectors: vectors.origin, ...filled, cells });
      corpora.push(corpus);
    }
    return { sizes: figures, growth: await bySize(matrix, corpora, options.questions) };
  } finally {
    await matrix.close();
  }
}

async function bySize(matrix: Matrix, corpora: readonly MatrixCorpus[], questions: number) {
  const { server } = matrix;
  const contenders: Record<string, () => Promise<unknown>> = {};
  for (const { tenant, vectors } of corpora) {
    const token = await server.issuer.mint({ tenant, credentials: ["read"], expiresIn: 36_000 });
    let asked = 0;
    contenders[tenant] = async () => {
      const number = asked++ % questions;
      const query = matrix.ask(`${tenant}, on topic, ${number}`, vectors.question("on", number));
      await server.call("retrieve", { query, mode: "dense", k: 10 }, token);
    };
  }
  const took = await interleaved(contenders, { rounds: 20, perRound: 5 });
  return corpora.map(({ tenant, chunks }) => ({ chunks, p50Ms: median(took[tenant] ?? []) }));
}

async function realVectors({
  sentences: collection,
  others,
  cache,
  report,
  sizes,
}: MatrixOptions): Promise<{ readonly vectors: Vectors; readonly count: number } | undefined> {
  if (collection === undefined || !sizes.some((size) => size >= FEWEST_SENTENCES && size <= MOST_SENTENCES)) return;
  const folder = cache ?? join(tmpdir(), "pgrcp-bench-vectors");
  const embed = (texts: readonly string[]) =>
    embedOnce(texts, folder, (done) => report(`${done} of ${texts.length} texts embedded`));
  const sentences = await embed((await sentencesOf(collection)).slice(0, MOST_SENTENCES));
  const questions = await embed(await questionsOf(collection));
  const apart = others === undefined ? undefined : await embed((await questionsOf(others)).slice(0, OTHER_QUESTIONS));
  return { vectors: sentenceVectors(sentences, questions, apart), count: sentences.texts.length };
}
