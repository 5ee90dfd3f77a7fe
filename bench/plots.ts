import { type Figures, type Step, withoutFailures } from "./figures.ts";
import type { Axis, Plot, Series } from "./plot.ts";
import { KINDS } from "./traffic.ts";
import { TOPICS } from "./vectors.ts";

/** What a run's figures look like by the number of chunks. */

const CHUNKS: Axis = { label: "chunks of the tenant (log)", scale: "log" };
const P50: Axis = { label: "p50, ms (log)", scale: "log" };

export interface DrawnPlot {
  /** Below whose tables it stands. */
  readonly step: Step;
  readonly plot: Plot;
}

/** @returns those of which there are figures */
export function plots(figures: Figures): DrawnPlot[] {
  const { sparse, recall, rls, tenants, peers } = withoutFailures(figures);
  const all: DrawnPlot[] = [];
  const add = (step: Step, title: string, y: Axis, series: readonly Series[]) => {
    if (series.length > 0) all.push({ step, plot: { title, x: CHUNKS, y, series } });
  };
  add(
    "sparse",
    "Sparse retrieve over HTTP, by the words asked for",
    P50,
    byName(
      (sparse ?? []).flatMap(({ chunks, queries }) =>
        Object.entries(queries).map(([kind, { httpMs }]) => ({ name: kind, chunks, y: httpMs })),
      ),
    ),
  );
  const sizes = recall?.sizes ?? [];
  add(
    "recall",
    "Lowest recall@10 of any filter, by where the question lies",
    { label: "recall@10", scale: "linear", include: [0.95, 1] },
    byName(
      sizes.flatMap(({ chunks, cells }) =>
        TOPICS.map((topic) => ({
          name: `${topic} topic`,
          chunks,
          y: Math.min(...cells.filter((cell) => cell.topic === topic).map((cell) => cell.recall)),
        })),
      ),
    ),
  );
  add(
    "recall",
    "Dense retrieve over HTTP without a filter, and exact plain SQL",
    P50,
    byName(
      sizes.flatMap(({ chunks, cells }) =>
        cells
          .filter(({ filter }) => filter === "none")
          .flatMap(({ topic, p50Ms, exactSqlMs }) => [
            { name: `${topic} topic`, chunks, y: p50Ms },
            ...(topic === "on" ? [{ name: "exact plain SQL, on topic", chunks, y: exactSqlMs }] : []),
          ]),
      ),
    ),
  );
  add(
    "rls",
    "Row Level Security: time with policies by time without",
    { label: "with by without", scale: "linear", include: [0.9, 1.1] },
    byName(
      (rls ?? []).map(({ statements, chunks, withPoliciesMs, withoutMs }) => ({
        name: statements,
        chunks,
        y: withPoliciesMs / withoutMs,
      })),
    ),
  );
  for (const phase of ["alone", "besideWrites"] as const)
    add(
      "tenants",
      `Tenants of Zipf sizes, ${phase === "alone" ? "nobody writes" : "beside writes"}`,
      P50,
      byName(
        (tenants?.classes ?? []).flatMap(({ chunks, tenants: some, [phase]: reads }) =>
          KINDS.filter((kind) => reads[kind].calls > 0).map((kind) => ({
            name: kind === "sql" ? "the SQL of dense, by the driver" : kind,
            chunks: chunks / some,
            y: reads[kind].p50Ms,
          })),
        ),
      ),
    );
  const results = (peers?.sizes ?? []).flatMap(({ chunks, results: some }) => some.map((one) => ({ ...one, chunks })));
  add("peers", "At the same recall, one client", P50, byName(results.map((one) => ({ ...one, y: one.p50Ms }))));
  add(
    "peers",
    "At the same recall, eight clients",
    { label: "answers a second (log)", scale: "log" },
    byName(results.map((one) => ({ ...one, y: one.rate }))),
  );
  return all;
}

interface Measured {
  readonly name: string;
  readonly chunks: number;
  readonly y: number;
}

/** A series for each name, in the order in which they first come. */
const byName = (measured: readonly Measured[]): Series[] =>
  [...Map.groupBy(measured, ({ name }) => name)].map(([name, some]) => ({
    name,
    points: some.map(({ chunks, y }) => [chunks, y] as const),
  }));
