import { z } from "zod";
import { TRANSFORM_METHODS } from "../protocol/wire.ts";

const on = z.boolean().default(true);

/** What is on offer, as far as it is built and has the models that it needs (RCP §6). */
export const capabilities = z
  .strictObject({
    retrieve: on,
    index: on,
    feedback: on,
    catalog: on,
    embed: on,
    rerank: on,
    transform: on,
    chunking: on,
    contextual: on,
    filter: on,
    streaming: on,
    log: on,
    mmr: on,
    recency: on,
    rerankBuiltin: on,
    rewrite: on,
    tokenBudget: on,
    deterministic: on,
    snapshots: on,
    pagination: on,
    session: on,
    units: z
      .array(z.enum(["chunk", "document"]))
      .min(1)
      .default(["chunk", "document"]),
    modes: z
      .array(z.enum(["dense", "sparse", "hybrid"]))
      .min(1)
      .default(["dense", "sparse", "hybrid"]),
    fusion: z
      .array(z.enum(["rrf", "weighted", "convex"]))
      .min(1)
      .default(["rrf", "weighted", "convex"]),
    transformMethods: z
      .array(z.enum(TRANSFORM_METHODS))
      .min(1)
      .default([...TRANSFORM_METHODS]),
  })
  .prefault({});
