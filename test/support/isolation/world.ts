import { randomBytes } from "node:crypto";
import type { Credential } from "../../../src/auth/principal.ts";
import type { Hit } from "../../../src/protocol/wire.ts";
import type { SeededRandom } from "../seeded-random.ts";
import type { TestIssuer } from "../test-issuer.ts";
import { CorpusModel } from "./corpus-model.ts";
import type { Owner } from "./sent-documents.ts";
import type { Subject } from "./subject.ts";

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
  readonly ended: string[];
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
export async function makeWorld(subject: Subject, issuer: TestIssuer): Promise<World> {
  const tenants = await Promise.all([0, 1, 2].map(() => makeTenant(issuer)));
  for (const { name, vault } of tenants) {
    await subject.call("query", "insert into pgrcp.tenants (tenant_id) values ($1)", [name]);
    await subject.call(
      "query",
      `insert into pgrcp.corpora (tenant_id, corpus, language, model_identity, dimension, screening)
values ($1, $2, 'none', 'test-bag-of-words@32', 32, 'flag')`,
      [name, vault],
    );
  }
  const sharedIds = [...Array.from({ length: 12 }, (_, n) => `doc-${n}`), "part#1", "a/b?c", "\u00fcn\u00ef \u{1f600}"];
  return { tenants, sharedIds, unknown: new Map() };
}

async function makeTenant(issuer: TestIssuer): Promise<Tenant> {
  const secret = randomBytes(6).toString("hex");
  const name = `tenant-${secret}`;
  const marker = `secret${secret}`;
  const token = (credential: Credential) => issuer.mint({ tenant: name, credentials: [credential], expiresIn: 3_600 });
  return {
    name,
    secret,
    marker,
    vault: `vault-${secret}`,
    tokens: { read: await token("read"), add: await token("add"), delete: await token("delete") },
    models: {
      default: new CorpusModel({ marker, place: "default" }),
      vault: new CorpusModel({ marker, place: "vault" }),
    },
    pins: { default: [], vault: [] },
    privateIds: [0, 1, 2].map(() => `private-${randomBytes(4).toString("hex")}`),
    live: new Set(),
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
