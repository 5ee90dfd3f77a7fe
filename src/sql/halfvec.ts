import pgvector from "pgvector";

/** Digits that tell every number of half precision from its neighbours. */
const DIGITS = 5;

/** By their 16 bits, as they come: the components of unit vectors are some ten thousand different ones. */
const spellings = new Array<string | undefined>(65_536);

/** `[0.5,-0.25]`, as pgvector reads a halfvec: rounded to half precision here, since the spelling of more takes twice the room. */
export function vectorLiteral(vector: Float32Array): string {
  const halves = new Float16Array(vector);
  const bits = new Uint16Array(halves.buffer);
  const numbers: string[] = [];
  // By index: to iterate over the halves takes four times as long as all of this.
  for (let index = 0; index < bits.length; index++) {
    const key = bits[index] ?? 0;
    let spelling = spellings[key];
    if (spelling === undefined) {
      spelling = String(Number((halves[index] ?? 0).toPrecision(DIGITS)));
      spellings[key] = spelling;
    }
    numbers.push(spelling);
  }
  return `[${numbers.join(",")}]`;
}

/** A vector as pgvector takes a halfvec in binary, of which it reads each number at a tenth of what its spelling takes: the dimension, nothing, and the numbers. */
export function halfvecBytes(vector: Float32Array): Uint8Array {
  const view = new DataView(new ArrayBuffer(4 + 2 * vector.length));
  view.setUint16(0, vector.length);
  for (let index = 0; index < vector.length; index++) view.setFloat16(4 + 2 * index, vector[index] ?? 0);
  return new Uint8Array(view.buffer);
}

/** A vector as pgvector writes it. */
export function readVector(text: string): readonly number[] {
  const vector = pgvector.fromSql(text);
  if (!Array.isArray(vector)) throw new Error("the database wrote something else than a vector");
  return vector;
}
