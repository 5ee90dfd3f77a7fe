import type { Patch } from "./source-copy.ts";

/** A copy that never asks for a credential: what is left to refuse a token is the database. */
export const SCOPE_PATCHES: readonly Patch[] = [
  {
    file: "src/rpc/ladder.ts",
    find: 'credential !== "any" && !principal.credentials.has(credential)',
    replace: "false",
    times: 1,
  },
];
