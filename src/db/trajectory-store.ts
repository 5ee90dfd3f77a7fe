import type { CorpusName } from "../catalog/corpus.ts";
import type { SessionOwner } from "../sql/sessions.ts";
import {
  deleteExpiredTrajectories,
  extendTrajectory,
  findTrajectory,
  forgetTrajectories,
  type Shown,
  type TrajectoryKey,
} from "../sql/trajectories.ts";
import type { Access, Database, StatementLimits } from "./database.ts";
import { hashOf, stateOwner } from "./state-owner.ts";

export interface TrajectorySettings {
  readonly idleTtlSeconds: number;
  readonly maxPerPrincipal: number;
}

/** A trajectory as its caller names it. The same name with another caller, or in another corpus, is another one. */
export interface TrajectoryName {
  readonly owner: SessionOwner;
  readonly corpus: CorpusName;
  readonly sessionId: string;
}

const NOTHING: Shown = { chunkNos: [], documentNos: [] };

const keyOf = ({ owner, corpus, sessionId }: TrajectoryName): TrajectoryKey => ({
  ...stateOwner(owner),
  sessionHash: hashOf(corpus, sessionId),
});

/** What trajectories were shown (RCP §7.7.3), in `pgrcp_state`. */
export class TrajectoryStore {
  readonly #database: Database;
  readonly #settings: TrajectorySettings;

  constructor(database: Database, settings: TrajectorySettings) {
    this.#database = database;
    this.#settings = settings;
  }

  /** Nothing for one that is unknown, expired or forgotten: it is a new one. */
  async shown(name: TrajectoryName, access: Access, limits: StatementLimits): Promise<Shown> {
    const [[found]] = await this.#database.read("state", access, [findTrajectory(keyOf(name))], limits);
    return found ?? NOTHING;
  }

  async add(name: TrajectoryName, shown: Shown, access: Access, limits: StatementLimits): Promise<void> {
    const { idleTtlSeconds, maxPerPrincipal } = this.#settings;
    const key = keyOf(name);
    const statements = [
      deleteExpiredTrajectories(key.tenantId),
      extendTrajectory(key, shown, idleTtlSeconds),
      forgetTrajectories(key, maxPerPrincipal),
    ];
    await this.#database.read("state", access, statements, limits);
  }
}
