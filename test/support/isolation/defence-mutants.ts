import type { Patch } from "./source-copy.ts";

/** Copies that lack a defence which mutants.ts cannot switch. */

const SITE = -1;

/** What a cursor's signature covers, without the tenant; a site beside those of the predicates, off unless it is removed. */
export const CURSOR_TENANT: { readonly site: number; readonly patch: Patch } = {
  site: SITE,
  patch: {
    file: "src/retrieval/cursor.ts",
    find: "JSON.stringify([tenantId,",
    replace: `JSON.stringify([globalThis.mutant.removes(${SITE}) ? "" : tenantId,`,
    times: 1,
  },
};

/** One login for all methods, which may do what any of them may do. */
export const ONE_LOGIN_PATCHES: readonly Patch[] = [
  {
    file: "src/db/postgres-database.ts",
    find: "connectionOf(at, config.database[role])",
    replace: "{ connectionString: config.database.migrateUrl ?? url }",
    times: 1,
  },
  {
    file: "src/db/embedded-source.ts",
    find: /this\.#role === "migrate" \? "none" : `pgrcp_\$\{this\.#role\}`/,
    replace: '"none"',
    times: 1,
  },
];

/** A start that goes on whatever is wrong with the database. */
export const SELF_TEST_PATCHES: readonly Patch[] = [
  {
    file: "src/db/self-test.ts",
    find: 'if (severity === "error") throw new StartupError(line, remedy);',
    replace: 'if (severity === "error") continue;',
    times: 1,
  },
];
