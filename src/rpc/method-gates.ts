import type { Credential } from "../auth/principal.ts";
import type { Capability } from "../catalog/advertise.ts";
import type { MethodName } from "../protocol/methods.ts";

export interface Gate {
  /** What the token must be good for; `any` = every authenticated principal, even one without a scope. */
  readonly credential: Credential | "any";
  /** The capability that offers the method (RCP §7); undefined for the core methods, which are always there. */
  readonly capability: Capability | undefined;
}

const open: Gate = { credential: "any", capability: undefined };
const read = (capability: Capability): Gate => ({ credential: "read", capability });

/** Who may call a method and what must be advertised for it, built or not: scope is judged before capability. */
export const GATES = {
  initialize: open,
  info: open,
  ping: open,
  shutdown: open,
  embed: read("embed"),
  "embed/sparse": read("sparseEmbed"),
  "embed/multi": read("multiVector"),
  rerank: read("rerank"),
  retrieve: read("retrieve"),
  "query/transform": read("transform"),
  graph: read("graph"),
  "index/add": { credential: "add", capability: "index" },
  "index/delete": { credential: "delete", capability: "index" },
  "catalog/list": read("catalog"),
  feedback: read("feedback"),
  "memory/build": read("memory"),
  "memory/recall": read("memory"),
} as const satisfies Record<MethodName, Gate>;
