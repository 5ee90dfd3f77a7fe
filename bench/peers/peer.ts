import type { PeerTenant, Question } from "./tenants.ts";

/** What holds the tenants' chunks and is asked for the nearest. */
export interface Contender {
  readonly name: string;
  /** Whether one tenant's questions can find no other tenant's chunks, however they are put. */
  readonly isolates: boolean;
  readonly settings: Readonly<Record<string, unknown>>;
  /** @returns ids, nearest first */
  search(question: Question, client: number): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** How many candidates a walk through a graph keeps, or no graph at all. */
export type Width = number | "exact";

export interface Peer extends Contender {
  readonly canBeExact: boolean;
  /** For all later searches of these tenants. */
  setWidth(tenants: readonly PeerTenant[], width: Width): Promise<void>;
}

/** From which an `ef_search` is chosen, narrowest first; pgvector takes no larger one. */
export const WIDTHS = [10, 20, 40, 60, 80, 120, 160, 200, 300, 400, 600, 1_000];

/** Graphs are built with what pgvector and Chroma have as defaults or nearly so. */
export const GRAPH = { m: 16, efConstruction: 100 };

/** Clients that ask at the same time. */
export const CLIENTS = 8;
