import type { Credential } from "../auth/principal.ts";
import type { Capability } from "../catalog/advertise.ts";
import type { MethodName } from "../protocol/methods.ts";

export interface MethodFacts {
  /**
   * What bounds it. A core method needs no session (RCP §13) and never waits for a place; reads and writes have places and
   * timeouts of their own, since a write may wait minutes for the model to read every chunk.
   */
  readonly kind: "core" | "read" | "write";
  /** What the token must be good for; `any` = every authenticated principal, even one without a scope. */
  readonly credential: Credential | "any";
  /** The capability that offers the method (RCP §7); undefined for the core methods, which are always there. */
  readonly capability: Capability | undefined;
}

const core: MethodFacts = { kind: "core", credential: "any", capability: undefined };
const read = (capability: Capability): MethodFacts => ({ kind: "read", credential: "read", capability });

/** What is true of each method, built or not. */
export const METHODS: Readonly<Record<MethodName, MethodFacts>> = {
  initialize: core,
  info: core,
  ping: core,
  shutdown: core,
  embed: read("embed"),
  "embed/sparse": read("sparseEmbed"),
  "embed/multi": read("multiVector"),
  rerank: read("rerank"),
  retrieve: read("retrieve"),
  "query/transform": read("transform"),
  graph: read("graph"),
  "index/add": { kind: "write", credential: "add", capability: "index" },
  "index/delete": { kind: "write", credential: "delete", capability: "index" },
  "catalog/list": read("catalog"),
  feedback: read("feedback"),
  "memory/build": read("memory"),
  "memory/recall": read("memory"),
  "x-pgrcp/document": read("x-pgrcp"),
};
