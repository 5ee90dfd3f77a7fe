import { randomBytes } from "node:crypto";
import type { Credential } from "../../../src/auth/principal.ts";
import type { Hit } from "../../../src/protocol/wire.ts";
import type { SeededRandom } from "../seeded-random.ts";
import type { Call } from "./call.ts";
import { CorpusModel } from "./corpus-model.ts";
import type { Deployment } from "./deployment.ts";
import type { OpenPage } from "./pages.ts";
import type { Owner } from "./sent-documents.ts";

export type Place = Owner["place"];
export const PLACES = ["default", "vault"] as const satisfies readonly Place[];

/** A session that its owner holds. */
export interface LiveSession {
  readonly token: string;
  /** Calls on their way in it. */
  uses: number;
}

/** An answer that must come again, byte for byte, for who pins its version. */
export interface Pin {
  readonly params: Readonly<Record<string, unknown>>;
  readonly indexVersion: string;
  readonly hits: readonly Hit[];
}

/** One of the tenants: what its clients know. All have the same subject and client, so nothing but the tenant differs. */
export interface Tenant {
  readonly name: string;
  /** In everything that is this tenant's alone: its name, its marker, its vault's name. */
  readonly secret: string;
  readonly marker: string;
  /** Name of a corpus that no other tenant has. */
  readonly vault: string;
  readonly tokens: Readonly<Record<Credential, string>>;
  readonly models: Readonly<Record<Place, CorpusModel>>;
  readonly pins: Record<Place, readonly Pin[]>;
  /** Ids that this tenant made up. */
  readonly privateIds: readonly string[];
  readonly live: Set<LiveSession>;
  /** Lists with pages to come. */
  readonly openPages: OpenPage[];
  /** How many trajectories were begun. */
  readonly trajectories: Record<Place, number>;
  readonly ended: string[];
  /** Writes under an idempotency key, each with its answer. All tenants use the same keys, one after the other. */
  readonly keyed: { readonly place: Place; readonly params: Call["params"]; readonly result: string }[];
  lastKey: number;
  /** Ids of the calls on their way, with their sessions. */
  readonly inFlight: Map<number, string | undefined>;
  lastId: number;
}

export interface World {
  readonly tenants: readonly Tenant[];
  /** Ids that every tenant uses. */
  readonly sharedIds: readonly string[];
  /** The errors, as text, for what does not exist: what is another's must have the same ones. */
  readonly unknown: Map<"corpus" | "version" | "session", string>;
}

/** Three tenants nobody used before, each with an empty vault. */
export async function makeWorld(deployment: Deployment): Promise<World> {
  const tenants = await Promise.all([0, 1, 2].map(() => makeTenant(deployment)));
  const sharedIds = [...Array.from({ length: 12 }, (_, n) => `doc-${n}`), "part#1", "a/b?c", "\u00fcn\u00ef \u{1f600}"];
  return { tenants, sharedIds, unknown: new Map() };
}

async function makeTenant({ embedding, createTenant, token }: Deployment): Promise<Tenant> {
  const secret = randomBytes(6).toString("hex");
  const name = `tenant-${secret}`;
  const marker = `secret${secret}`;
  const vault = `vault-${secret}`;
  await createTenant(name, vault);
  return {
    name,
    secret,
    marker,
    vault,
    tokens: { read: await token(name, "read"), add: await token(name, "add"), delete: await token(name, "delete") },
    models: {
      default: new CorpusModel({ marker, place: "default" }, embedding),
      vault: new CorpusModel({ marker, place: "vault" }, embedding),
    },
    pins: { default: [], vault: [] },
    privateIds: [0, 1, 2].map(() => `private-${randomBytes(4).toString("hex")}`),
    keyed: [],
    lastKey: 0,
    live: new Set(),
    openPages: [],
    trajectories: { default: 0, vault: 0 },
    ended: [],
    inFlight: new Map(),
    lastId: 0,
  };
}

/** The base path of one of a tenant's corpora. */
export const baseOf = ({ vault }: Tenant, place: Place): string =>
  place === "default" ? "/rcp" : `/corpora/${vault}/rcp`;

export const othersOf = ({ tenants }: World, tenant: Tenant): readonly Tenant[] =>
  tenants.filter((one) => one !== tenant);

export const anotherOf = (world: World, tenant: Tenant, random: SeededRandom): Tenant =>
  random.pick(othersOf(world, tenant));
