import { fingerprintOf } from "../../src/indexing/fingerprint.ts";
import { loadCorpus } from "../load-corpus.ts";
import { IDENTITY, openMatrix } from "../recall.ts";
import { connectAsOwner } from "../server.ts";
import type { Contender } from "./peer.ts";
import { K, type PeerTenant } from "./tenants.ts";

interface Answer {
  readonly hits: readonly { readonly id: string }[];
  readonly usage: { readonly strategy?: { readonly dense?: { readonly search: string; readonly why: string } } };
}

export interface Pgrcp extends Contender {
  readonly maintained: readonly object[];
  /** Answers since the last time, by how their chunks were found. */
  takeSearches(): Readonly<Record<string, number>>;
}

/**
 * `pgrcp serve` with its defaults after `pgrcp maintain`: a token in each call, verified; row level security; hits with citation and trust.
 * A question's vector is known to it after the first time, as the peers are given theirs.
 */
export async function openPgrcp(tenants: readonly PeerTenant[], ownPartitionFrom: number): Promise<Pgrcp> {
  const matrix = await openMatrix({ ownPartitionFrom });
  const { server } = matrix;
  const owner = await connectAsOwner(server);
  for (const { name: tenant, chunks, vectors } of tenants)
    await loadCorpus(owner, {
      tenant,
      chunks,
      vectors,
      identity: IDENTITY,
      fingerprint: (text) => fingerprintOf(text, "untrusted"),
    });
  await owner.query("vacuum analyze");
  const maintained = await server.maintain();
  await owner.query("vacuum analyze");
  await owner.end();
  const tokens = new Map<string, string>();
  for (const { name: tenant } of tenants)
    tokens.set(tenant, await server.issuer.mint({ tenant, credentials: ["read"], expiresIn: 36_000 }));
  const searches = new Map<string, number>();
  return {
    name: "pgrcp",
    isolates: true,
    settings: { "retrieval.ownPartitionFrom": ownPartitionFrom, token: "verified" },
    maintained,
    async search({ tenant, text, vector }) {
      const params = { query: matrix.ask(text, vector), mode: "dense", k: K };
      const answer = (await server.call("retrieve", params, tokens.get(tenant.name) ?? "")) as unknown as Answer;
      const { search = "none", why = "" } = answer.usage.strategy?.dense ?? {};
      const how = `${search}: ${why}`;
      searches.set(how, (searches.get(how) ?? 0) + 1);
      return answer.hits.map(({ id }) => id);
    },
    takeSearches() {
      const taken = Object.fromEntries(searches);
      searches.clear();
      return taken;
    },
    close: () => matrix.close(),
  };
}
