import type { Principal } from "../../src/auth/principal.ts";
import type { SessionStore } from "../../src/rpc/session.ts";

/** Sessions in a Map, for tests of what is asked of a store. `now` in milliseconds moves only when the test moves it. */
export function memorySessions(options: { readonly max: number; readonly idleMs: number; now: number }) {
  const rows = new Map<string, { readonly owner: string; readonly capabilities: string; expiresAt: number }>();
  const ownerOf = ({ tenantId, issuer, subject, client }: Principal) =>
    JSON.stringify([tenantId, issuer, subject, client]);
  const keyOf = (owner: Principal, hash: Uint8Array) => `${ownerOf(owner)} ${Buffer.from(hash).toString("hex")}`;
  const live = () => [...rows.values()].filter((row) => row.expiresAt > options.now);
  const store: SessionStore = {
    async create(owner, hash, capabilities) {
      const own = live().filter((row) => row.owner === ownerOf(owner));
      if (own.length >= options.max)
        return { kind: "full", retryAfterMs: Math.min(...own.map((row) => row.expiresAt)) - options.now };
      rows.set(keyOf(owner, hash), { owner: ownerOf(owner), capabilities, expiresAt: options.now + options.idleMs });
      return { kind: "created" };
    },
    async touch(owner, hash) {
      const row = rows.get(keyOf(owner, hash));
      if (row === undefined || row.expiresAt <= options.now) return undefined;
      row.expiresAt = options.now + options.idleMs;
      return row.capabilities;
    },
    async end(owner, hash) {
      rows.delete(keyOf(owner, hash));
    },
  };
  return { store, rows };
}
