import type { Hit } from "../../../src/protocol/wire.ts";
import { type Call, reading, refusing, unexpectedError } from "./call.ts";
import { type LiveSession, PLACES, type Place, type Tenant } from "./world.ts";

/** Calls of the core methods, and calls that must be refused whoever sends them. */

export const initializeCall = (tenant: Tenant): Call => ({
  kind: "initialize",
  method: "initialize",
  credential: "read",
  params: { protocolVersion: 1, client: { name: "isolation" } },
  begin: () =>
    reading((response) => {
      const token = response.result?._meta?.session;
      if (typeof token !== "string") return unexpectedError(response);
      tenant.live.add({ token, uses: 0 });
      return [];
    }),
});

export const infoCall: Call = {
  kind: "info",
  method: "info",
  credential: "read",
  params: {},
  begin: () =>
    reading((response) => {
      if (response.result?.protocolVersion !== 1) return unexpectedError(response);
      const { catalog } = response.result.capabilities as { readonly catalog?: { readonly engines: number } };
      return (catalog?.engines ?? 0) <= PLACES.length ? [] : ["foreign count: more corpora than the tenant has"];
    }),
};

export const pingCall = (nonce: number): Call => ({
  kind: "ping",
  method: "ping",
  credential: "read",
  params: { nonce },
  begin: () =>
    reading((response) =>
      response.result?.nonce === nonce ? [] : ["foreign id: another call's nonce", ...unexpectedError(response)],
    ),
});

/** Names the corpora that the tenant has, and so none of another's. */
export const catalogCall = ({ vault }: Tenant): Call => ({
  kind: "catalog/list",
  method: "catalog/list",
  credential: "read",
  params: {},
  begin: () =>
    reading((response) => {
      const engines = response.result?.engines as readonly { readonly id: string }[] | undefined;
      if (engines === undefined) return unexpectedError(response);
      const names = engines.map(({ id }) => id);
      return names.every((name) => name === "default" || name === vault) ? [] : ["foreign id: a corpus of another"];
    }),
});

/** A whole document by an id, or the answer that there is none: what comes was sent by this tenant, byte for byte. */
export const documentCall = ({ models }: Tenant, place: Place, id: string): Call => ({
  kind: "x-pgrcp/document",
  method: "x-pgrcp/document",
  credential: "read",
  params: { id },
  begin: () =>
    reading(({ result, error }) => {
      if (error?.code === -32015) return [];
      const found = result?.document as Pick<Hit, "chunk" | "meta" | "text"> | undefined;
      if (found === undefined) return [`foreign error: ${error?.code}`];
      const sent = models[place].sent(found.chunk.docId, found.meta.v);
      const isOwn = sent?.text === found.text && JSON.stringify(sent?.meta) === JSON.stringify(found.meta);
      return isOwn && sent?.id === id ? [] : ["foreign row: a document that this tenant never sent under that id"];
    }),
});

/** Says the worst of hits, the tenant's own or not. */
export const feedbackCall = (hitIds: readonly string[]): Call => ({
  kind: "feedback",
  method: "feedback",
  credential: "read",
  params: { sessionId: "T", signals: hitIds.map((hitId) => ({ hitId, poisonSuspected: true, reward: -1 })) },
  begin: () => reading((response) => (response.result?.accepted === hitIds.length ? [] : unexpectedError(response))),
});

/** Ends a session of the caller's own, or tries to end another's: the answer is the same. */
export const shutdownCall = (kind: string, tenant: Tenant, own?: LiveSession): Call => ({
  kind,
  method: "shutdown",
  credential: "read",
  params: {},
  begin() {
    if (own !== undefined) tenant.live.delete(own);
    return {
      answered(response) {
        if (response.result === undefined) return unexpectedError(response);
        if (own !== undefined) tenant.ended.push(own.token);
        return [];
      },
      refused() {
        if (own !== undefined) tenant.live.add(own);
      },
      lost() {},
    };
  },
});

/** The same call where it must be refused, whatever it asks for. */
export const refused = (call: Call, kind: string, code: number, likeUnknown?: string): Call => ({
  ...call,
  kind,
  begin: () => refusing(code, likeUnknown),
});

/** A method that is not built; the one that is, next, needs calls of its own here. */
export const unbuiltCall = (method: string): Call => ({
  kind: "unbuilt method",
  method,
  credential: "read",
  params: {},
  begin: () => refusing(-32003),
});
