/** How large and how often, for each step. */

export const FULL = {
  overhead: { chunks: 10_000, rounds: 200, seconds: 10 },
  sparse: { sizes: [1_000, 40_000, 1_000_000], rounds: 40 },
  compaction: { chunks: 4_096 },
  recall: { sizes: [100, 1_000, 10_000, 40_000, 100_000, 1_000_000], questions: 50 },
  rls: { sizes: [100, 1_000, 10_000, 40_000], rounds: 50 },
  growth: { tenants: [10, 1_000], rounds: 100 },
  tenants: { tenants: 1_000, chunks: 500_000, ownPartitionFrom: 8_000, seconds: 30 },
  churn: { chunks: 40_000, ownPartitionFrom: 8_000, questions: 20 },
  ingest: { documents: 5_000, seconds: 60, imported: 300 },
  peers: {
    counts: [
      { chunks: 1_000, tenants: 15 },
      { chunks: 10_000, tenants: 4 },
      { chunks: 100_000, tenants: 1 },
    ],
    rounds: 20,
    seconds: 3,
    sharedTable: false,
  },
} as const;

/** All steps in under a quarter of an hour on two cores that have nothing else to do. */
export const QUICK = {
  overhead: { chunks: 10_000, rounds: 30, seconds: 2 },
  sparse: { sizes: [1_000, 40_000], rounds: 10 },
  compaction: { chunks: 1_000 },
  recall: { sizes: [100, 1_000, 10_000, 40_000], questions: 10 },
  rls: { sizes: [100, 1_000, 10_000, 21_000], rounds: 10 },
  growth: { tenants: [10, 100], rounds: 20 },
  tenants: { tenants: 100, chunks: 40_000, ownPartitionFrom: 5_000, seconds: 5 },
  churn: { chunks: 2_000, ownPartitionFrom: 1_000, questions: 20 },
  ingest: { documents: 500, seconds: 5, imported: 100 },
  peers: {
    counts: [
      { chunks: 1_000, tenants: 8 },
      { chunks: 10_000, tenants: 2 },
    ],
    rounds: 10,
    seconds: 1.5,
    sharedTable: true,
  },
} as const;
