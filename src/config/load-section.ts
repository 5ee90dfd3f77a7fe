import { z } from "zod";
import { milliseconds, positive } from "./value-types.ts";

/** How much runs and waits at a time, and when a process has too much to do. */

const turns = (running: number, waiting: number) =>
  z.strictObject({ running: positive.default(running), waiting: positive.default(waiting) }).prefault({});

export const load = z
  .strictObject({
    reads: turns(64, 2_048),
    writes: turns(16, 256),
    /** Of each number, rounded up. */
    tenantShare: z.number().gt(0).max(1).default(0.5),
    shedding: z
      .strictObject({
        enabled: z.boolean().default(true),
        maxEventLoopDelayMs: milliseconds.default(250),
        /** Of the memory that the process may have. */
        maxMemoryShare: z.number().gt(0).max(1).default(0.9),
      })
      .prefault({}),
  })
  .prefault({});
