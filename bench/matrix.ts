import { tmpdir } from "node:os";
import { join } from "node:path";
import { fillCorpus, type MatrixCorpus, measureRecall, openMatrix, type SizeFigures } from "./recall.ts";
import { embedOnce, questionsOf, sentencesOf } from "./sentences.ts";
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

export async function measureMatrix(options: MatrixOptions): Promise<SizeFigures[]> {
  const { sizes, report } = options;
  const synthetic = syntheticVectors();
  const real = await realVectors(options);
  const matrix = await openMatrix();
  try {
    const figures: SizeFigures[] = [];
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
    }
    return figures;
  } finally {
    await matrix.close();
  }
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
