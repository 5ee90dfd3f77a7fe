import type { Patch } from "./source-copy.ts";

/** A role in the code, to run as another when the mutant says so. */
const roleIn = (file: string, role: string, times: number): Patch => ({
  file,
  find: `"${role}"`,
  replace: `globalThis.mutant.roleFor("${role}")`,
  times,
});

/** A copy that never asks for a credential, and whose methods can be made to run as the role of the token's own credential. */
export const SCOPE_PATCHES: readonly Patch[] = [
  {
    file: "src/rpc/ladder.ts",
    find: 'credential !== "any" && !principal.credentials.has(credential)',
    replace: "false",
    times: 1,
  },
  roleIn("src/indexing/add-documents.ts", "adder", 1),
  roleIn("src/indexing/delete-documents.ts", "deleter", 1),
  roleIn("src/retrieval/recall.ts", "reader", 2),
  roleIn("src/retrieval/pipeline.ts", "reader", 1),
  // The reader's transactions are read only, which would refuse before the rights are asked for.
  {
    file: "src/db/tenant-transaction.ts",
    find: "begin isolation level read committed",
    replace: "begin isolation level read committed read write",
    times: 1,
  },
  {
    file: "src/db/embedded-source.ts",
    find: 'this.#role === "reader" ? "on" : "off"',
    replace: '"off"',
    times: 1,
  },
];
