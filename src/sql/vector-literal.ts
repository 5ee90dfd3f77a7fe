import pgvector from "pgvector";

/** `[0.1,0.2]`, as pgvector reads it. */
export function vectorLiteral(vector: Float32Array): string {
  const literal = pgvector.toSql([...vector]);
  if (literal === null) throw new Error("every vector has a literal");
  return literal;
}
