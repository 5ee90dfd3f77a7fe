import type { Credential } from "../../../src/auth/principal.ts";
import { CREDENTIALS } from "../../../src/auth/principal.ts";
import type { SeededRandom } from "../seeded-random.ts";
import type { Call } from "./call.ts";
import {
  catalogCall,
  documentCall,
  feedbackCall,
  infoCall,
  initializeCall,
  pingCall,
  refused,
  shutdownCall,
  unbuiltCall,
} from "./core-calls.ts";
import { randomModelCall } from "./model-calls.ts";
import { pageCall, stolenCursorCall, takePage, trajectoryCall } from "./pages.ts";
import { ownVersionCall, pinCall, randomRetrieve, retrieveCall, stolenVersionCall } from "./retrieves.ts";
import { VARIANTS } from "./sent-documents.ts";
import { anotherOf, baseOf, type LiveSession, type Place, type Tenant, type World } from "./world.ts";
import { addCall, deleteCall, keyedAddCall, keyedRepeatCall } from "./writes.ts";

/** One request: calls that go out in one body. */
export interface Exchange {
  readonly tenant: Tenant;
  /** Whose words, ids, sessions or versions may be in it. */
  readonly other?: Tenant;
  /** Path of the corpus. */
  readonly base: string;
  /** Of the token that is sent. */
  readonly credential: Credential;
  readonly calls: readonly Call[];
  readonly session?: string;
  /** The caller's own session, when it is that. */
  readonly live?: LiveSession;
  readonly isBatch: boolean;
  /** A cancel of somebody else's call, sent as a notification instead of calls. */
  readonly cancels?: number;
}

const UNBUILT = ["memory/recall", "memory/build", "graph"];

type Maker = (draw: Draw) => Exchange | undefined;

/** How often each kind is drawn, of their sum. */
const KINDS: readonly (readonly [weight: number, make: Maker])[] = [
  [34, (draw) => draw.ordinary(draw.retrieve())],
  [20, (draw) => draw.ordinary(draw.add())],
  [8, (draw) => draw.ordinary(deleteCall(draw.tenant, draw.place, draw.ids(draw.ownIds)))],
  [4, (draw) => draw.ordinary(deleteCall(draw.tenant, draw.place, draw.ids(draw.stolenIds), "delete stolen ids"))],
  [2, (draw) => draw.ordinary(draw.add(draw.stolenIds, "add stolen ids"))],
  [4, (draw) => draw.ordinary(keyedAddCall(draw.tenant, draw.place, draw.changes()))],
  [2, (draw) => draw.keyedRepeat()],
  [1, (draw) => draw.ordinary(catalogCall(draw.tenant))],
  [1, (draw) => draw.ordinary(feedbackCall(draw.ids([...draw.ownIds, ...draw.stolenIds])))],
  [3, (draw) => draw.ordinary(documentCall(draw.tenant, draw.place, draw.random.pick(draw.ownIds)))],
  [2, (draw) => draw.ordinary(documentCall(draw.tenant, draw.place, draw.random.pick(draw.stolenIds)))],
  [5, (draw) => draw.pinned()],
  [3, (draw) => draw.ownVersion()],
  [3, (draw) => draw.stolenVersion()],
  [3, (draw) => draw.ordinary(initializeCall(draw.tenant), false)],
  [2, (draw) => draw.ordinary(infoCall)],
  [2, (draw) => draw.ordinary(pingCall(draw.random.integer(0, 1e9)))],
  [1, (draw) => draw.shutdown()],
  [2, (draw) => draw.stolenShutdown()],
  [3, (draw) => draw.inSession("stolen session", draw.stolenSession())],
  [1, (draw) => draw.inSession("ended session", draw.one(draw.tenant.ended))],
  [4, (draw) => draw.page()],
  [4, (draw) => draw.laterPage()],
  [2, (draw) => draw.stolenCursor()],
  [4, (draw) => draw.ordinary(trajectoryCall(draw.tenant, draw.place))],
  [3, (draw) => draw.foreignCorpus()],
  [2, (draw) => draw.wrongCredential()],
  [3, (draw) => draw.ordinary(randomModelCall(draw.tenant, draw.random))],
  [1, (draw) => draw.ordinary(unbuiltCall(draw.random.pick(UNBUILT)), false)],
  [1, (draw) => draw.cancel()],
  [4, (draw) => draw.batch()],
];

/** The next request, given what the tenants know by now. */
export function randomExchange(world: World, random: SeededRandom): Exchange {
  const draw = new Draw(world, random);
  let ticket = random.integer(0, KINDS.reduce((sum, [weight]) => sum + weight, 0) - 1);
  for (const [weight, make] of KINDS) {
    if (ticket < weight) return { ...(make(draw) ?? draw.ordinary(draw.retrieve())), other: draw.other };
    ticket -= weight;
  }
  throw new Error("the weights do not add up");
}

class Draw {
  readonly world: World;
  readonly random: SeededRandom;
  readonly tenant: Tenant;
  readonly other: Tenant;
  readonly place: Place;
  readonly ownIds: readonly string[];
  /** What another tenant made up, and nobody else can know. */
  readonly stolenIds: readonly string[];

  constructor(world: World, random: SeededRandom) {
    this.world = world;
    this.random = random;
    this.tenant = random.pick(world.tenants);
    this.other = anotherOf(world, this.tenant, random);
    this.place = random.fraction() < 0.8 ? "default" : "vault";
    this.ownIds = [...world.sharedIds, ...this.tenant.privateIds];
    this.stolenIds = this.other.privateIds;
  }

  one<Item>(items: readonly Item[]): Item | undefined {
    return items.length === 0 ? undefined : this.random.pick(items);
  }

  ids(from: readonly string[]): string[] {
    return [...new Set(Array.from({ length: this.random.integer(1, 4) }, () => this.random.pick(from)))];
  }

  params() {
    return randomRetrieve(this.random, this.tenant.marker, this.other.marker);
  }

  retrieve(): Call {
    return retrieveCall(this.tenant, this.place, this.params());
  }

  add(from = this.ownIds, kind?: string): Call {
    return addCall(this.tenant, this.place, this.changes(from), kind);
  }

  changes(from = this.ownIds): Map<string, number> {
    return new Map(this.ids(from).map((id) => [id, this.random.integer(0, VARIANTS - 1)]));
  }

  keyedRepeat(): Exchange | undefined {
    const first = this.one(this.tenant.keyed);
    return first && { ...this.ordinary(keyedRepeatCall(first)), base: baseOf(this.tenant, first.place) };
  }

  /** A call to the caller's own corpus with the right token, sometimes in a session. */
  ordinary(call: Call, maybeInSession = true): Exchange {
    const { tenant, place, random } = this;
    const live = maybeInSession && random.fraction() < 0.3 ? this.one([...tenant.live]) : undefined;
    return {
      tenant,
      base: baseOf(tenant, place),
      credential: call.credential,
      calls: [call],
      isBatch: false,
      ...(live !== undefined && { live, session: live.token }),
    };
  }

  pinned(): Exchange | undefined {
    const pin = this.one(this.tenant.pins[this.place]);
    return pin && this.ordinary(pinCall(pin));
  }

  ownVersion(): Exchange | undefined {
    const version = this.one([...this.tenant.models[this.place].versions.keys()]);
    return version === undefined
      ? undefined
      : this.ordinary(ownVersionCall(this.tenant, this.place, version, this.params()));
  }

  stolenVersion(): Exchange | undefined {
    const version = this.one([...this.other.models[this.place].versions.keys()]);
    return version === undefined
      ? undefined
      : this.ordinary(stolenVersionCall(version, this.params(), this.world.unknown.get("version")));
  }

  page(): Exchange {
    const { tenant, place } = this;
    return this.ordinary(pageCall(tenant, place, { ...this.params(), k: this.random.integer(1, 4) }));
  }

  laterPage(): Exchange | undefined {
    const { tenant } = this;
    const page = takePage(tenant, this.random);
    if (page === undefined) return undefined;
    const { place, params } = page;
    return { ...this.ordinary(pageCall(tenant, place, params, page)), base: baseOf(tenant, place) };
  }

  /** In the corpus of the same place, so that nothing but the tenant differs. */
  stolenCursor(): Exchange | undefined {
    const page = this.one(this.other.openPages);
    return page && { ...this.ordinary(stolenCursorCall(page)), base: baseOf(this.tenant, page.place) };
  }

  stolenSession(): string | undefined {
    return this.one([...[...this.other.live].map(({ token }) => token), ...this.other.ended]);
  }

  shutdown(): Exchange | undefined {
    const live = this.one([...this.tenant.live].filter(({ uses }) => uses === 0));
    return live && { ...this.ordinary(shutdownCall("shutdown", this.tenant, live), false), session: live.token };
  }

  stolenShutdown(): Exchange | undefined {
    const session = this.stolenSession();
    if (session === undefined) return undefined;
    return { ...this.ordinary(shutdownCall("shutdown of a stolen session", this.tenant), false), session };
  }

  /** A call that would be fine if the session were the caller's and live. */
  inSession(kind: string, session: string | undefined): Exchange | undefined {
    if (session === undefined) return undefined;
    return {
      ...this.ordinary(refused(this.anyCall(), kind, -32001, this.world.unknown.get("session")), false),
      session,
    };
  }

  anyCall(): Call {
    const del = () => deleteCall(this.tenant, this.place, this.ids(this.ownIds));
    return this.random.pick([() => this.retrieve(), () => this.add(), del])();
  }

  foreignCorpus(): Exchange {
    const call = refused(this.anyCall(), "corpus of another", -32012, this.world.unknown.get("corpus"));
    return { ...this.ordinary(call, false), base: baseOf(this.other, "vault") };
  }

  wrongCredential(): Exchange {
    const call = refused(this.anyCall(), "wrong credential", -32012);
    const credential = this.random.pick(CREDENTIALS.filter((one) => one !== call.credential));
    return { ...this.ordinary(call, false), credential };
  }

  /** Names a call of another tenant that runs now, by its id and in its session. */
  cancel(): Exchange | undefined {
    const running = this.one([...this.other.inFlight]);
    if (running === undefined) return undefined;
    const [id, session = this.stolenSession()] = running;
    return {
      ...this.ordinary(pingCall(0), false),
      calls: [],
      cancels: id,
      ...(session !== undefined && { session }),
    };
  }

  /** Calls that one token is good for, and one that it is not. */
  batch(): Exchange {
    const credential = this.random.pick(CREDENTIALS);
    const good = {
      read: () => this.retrieve(),
      add: () => this.add(),
      delete: () => deleteCall(this.tenant, this.place, this.ids(this.ownIds)),
    } satisfies Record<Credential, () => Call>;
    const bad = this.random.pick(CREDENTIALS.filter((one) => one !== credential));
    const calls = [
      good[credential](),
      good[credential](),
      refused(good[bad](), "wrong credential", -32012),
      pingCall(this.random.integer(0, 1e9)),
      infoCall,
    ];
    return { ...this.ordinary(infoCall), credential, calls, isBatch: true };
  }
}
