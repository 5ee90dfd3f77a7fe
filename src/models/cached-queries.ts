import { hash } from "node:crypto";
import type { TenantId } from "../catalog/corpus.ts";
import type { EmbeddingModel } from "./embedding.ts";

/** Of all vectors that are kept, what one tenant's may take: a flood of queries must not cost the others theirs. */
const TENANT_SHARE = 1 / 8;
/** What a kept vector takes besides its numbers: key, map entry and object, about. */
const ENTRY_BYTES = 256;

interface Kept {
  readonly vectors: Map<string, Float32Array>;
  bytes: number;
}

/**
 * A model that remembers the vectors of single queries, those used last. Each tenant has its own, so that nobody's latency tells
 * what another asked. Texts are kept as their hashes.
 *
 * @param maxBytes of all kept vectors together; 0 keeps none
 */
export function cachedQueries(model: EmbeddingModel, maxBytes: number): EmbeddingModel {
  const tenants = new Map<TenantId, Kept>();
  let bytes = 0;

  /** The tenant's vectors, now the ones that were used last. */
  function touch(tenantId: TenantId): Kept {
    const kept = tenants.get(tenantId) ?? { vectors: new Map(), bytes: 0 };
    tenants.delete(tenantId);
    tenants.set(tenantId, kept);
    return kept;
  }

  /** Drops what the tenant has not used for longest. */
  function dropOldest(tenantId: TenantId, kept: Kept): void {
    for (const [key, vector] of kept.vectors) {
      kept.vectors.delete(key);
      kept.bytes -= sizeOf(vector);
      bytes -= sizeOf(vector);
      break;
    }
    if (kept.vectors.size === 0) tenants.delete(tenantId);
  }

  function keep(tenantId: TenantId, key: string, vector: Float32Array): void {
    const size = sizeOf(vector);
    if (size > maxBytes * TENANT_SHARE) return;
    const kept = touch(tenantId);
    if (kept.vectors.has(key)) return;
    kept.vectors.set(key, vector);
    kept.bytes += size;
    bytes += size;
    while (kept.bytes > maxBytes * TENANT_SHARE) dropOldest(tenantId, kept);
    while (bytes > maxBytes) {
      const [oldest] = tenants;
      if (oldest === undefined) return;
      dropOldest(...oldest);
    }
  }

  return {
    ...model,
    async embed(texts, kind, signal, party) {
      const [text] = texts;
      if (kind !== "query" || text === undefined || texts.length !== 1 || party === undefined)
        return model.embed(texts, kind, signal, party);
      signal.throwIfAborted();
      const key = hash("sha256", text, "base64");
      const known = tenants.get(party)?.vectors.get(key);
      if (known !== undefined) {
        const { vectors } = touch(party);
        vectors.delete(key);
        vectors.set(key, known);
        return [known];
      }
      const [vector] = await model.embed(texts, kind, signal, party);
      if (vector === undefined) throw new Error("a model gives one vector for each text");
      keep(party, key, vector);
      return [vector];
    },
  };
}

const sizeOf = (vector: Float32Array): number => vector.byteLength + ENTRY_BYTES;
