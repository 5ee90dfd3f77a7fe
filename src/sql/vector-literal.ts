/** Digits that tell every number of half precision from its neighbours. */
const DIGITS = 5;

/** By their bits, as they come: the components of unit vectors are some ten thousand different ones. */
const spellings: string[] = [];

/** `[0.5,-0.25]`, as pgvector reads a halfvec: rounded to half precision here, since the spelling of more takes twice the room. */
export function vectorLiteral(vector: Float32Array): string {
  const halves = Float16Array.from(vector);
  const bits = new Uint16Array(halves.buffer);
  let numbers = "";
  for (const [index, half] of halves.entries()) {
    if (index > 0) numbers += ",";
    numbers += spellingOf(half, bits[index] ?? 0);
  }
  return `[${numbers}]`;
}

function spellingOf(half: number, bits: number): string {
  const known = spellings[bits];
  if (known !== undefined) return known;
  const spelling = String(Number(half.toPrecision(DIGITS)));
  spellings[bits] = spelling;
  return spelling;
}
