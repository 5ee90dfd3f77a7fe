/**
 * The vector scaled to length 1, or undefined where no unit vector of that dimension can be made of it: a wrong length, a
 * component that is not a finite number, or nothing but zeros.
 *
 * @param values what a provider answered, unchecked
 */
export function toUnitVector(values: unknown, dimension: number): Float32Array | undefined {
  if (!Array.isArray(values) && !(values instanceof Float32Array)) return undefined;
  if (values.length !== dimension) return undefined;
  let largest = 0;
  for (const value of values as ArrayLike<unknown> & Iterable<unknown>) {
    if (typeof value !== "number" || !Number.isFinite(value)) return undefined;
    largest = Math.max(largest, Math.abs(value));
  }
  if (largest === 0) return undefined;
  // Dividing by the largest component first keeps the squares of tiny and of huge components from becoming 0 or infinite.
  const scaled = Float64Array.from(values as ArrayLike<number>, (value) => value / largest);
  let squares = 0;
  for (const value of scaled) squares += value * value;
  const length = Math.sqrt(squares);
  return Float32Array.from(scaled, (value) => value / length);
}
