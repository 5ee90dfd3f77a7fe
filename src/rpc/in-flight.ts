import type { Principal } from "../auth/principal.ts";
import type { JsonRpcId } from "../protocol/wire.ts";

/** A call as a cancel names it. All of it must match: an id alone would let one tenant cancel another's call. */
export interface CallKey {
  readonly principal: Principal;
  /** Hash of the session's token. */
  readonly session: string;
  readonly id: JsonRpcId;
}

/** The calls of live sessions that run now (RCP §7.14). */
export interface InFlight {
  /** @returns what takes the call off the list */
  add(key: CallKey, cancel: () => void): () => void;
  /** Nothing happens when no such call runs. */
  cancel(key: CallKey): void;
}

export function createInFlight(): InFlight {
  // A set of calls per key: a client may reuse an id too early, and then a cancel means all of them.
  const running = new Map<string, Set<() => void>>();
  return {
    add(key, cancel) {
      const name = nameOf(key);
      const calls = running.get(name) ?? new Set();
      running.set(name, calls.add(cancel));
      return () => {
        calls.delete(cancel);
        if (calls.size === 0 && running.get(name) === calls) running.delete(name);
      };
    },
    cancel(key) {
      for (const cancel of running.get(nameOf(key)) ?? []) cancel();
    },
  };
}

/** JSON keeps 1 and "1" apart, and no member can spill into the next. */
const nameOf = ({ principal, session, id }: CallKey): string =>
  JSON.stringify([principal.tenantId, principal.issuer, principal.subject, principal.client, session, id]);
