import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Patch } from "./source-copy.ts";
import { REPOSITORY } from "./subject.ts";

/**
 * The mutants of the isolation test, as patches of a copy. The copy holds all of them, and the thread that runs it says which one
 * is on (subject-worker.ts), so that one start is enough for many; the product knows of none.
 */

/** A place where a statement names its tenant. */
export interface PredicateSite {
  readonly site: number;
  readonly file: string;
  /** File, declaration and predicate: `recall.ts hitRows: c.tenant_id = $`. */
  readonly name: string;
}

const FOLDER = "src/sql";
/** The command line's and maintenance's, for the operator, whom no policy holds. */
const OPERATORS_OWN: ReadonlySet<string> = new Set([
  "audit.ts",
  "operator.ts",
  "partitions.ts",
  "purge.ts",
  "quarantine.ts",
  "retention.ts",
  "sources.ts",
]);
const PREDICATE = /(?:\b[a-z]\w*\.)?\btenant_id = (?:\$\{[^}]+\}|[a-z]\w*\.tenant_id)/g;
const DECLARATION = /(?:function|const) (\w+)/g;

interface Found extends PredicateSite {
  readonly text: string;
}

function findPredicates(): Found[] {
  const files = readdirSync(join(REPOSITORY, FOLDER)).filter((file) => !OPERATORS_OWN.has(file));
  const found = files.toSorted().flatMap((file) => {
    const text = readFileSync(join(REPOSITORY, FOLDER, file), "utf8");
    const declarations = [...text.matchAll(DECLARATION)].filter(({ index }) => isTopLevel(text, index));
    return [...text.matchAll(PREDICATE)].map(({ 0: predicate, index }) => {
      const inside = declarations.findLast((declaration) => declaration.index < index)?.[1] ?? "";
      return { file, text: predicate, name: `${file} ${inside}: ${predicate.replace(/\$\{.*\}/, "$")}` };
    });
  });
  return found.map((one, site) => ({ ...one, site }));
}

function isTopLevel(text: string, index: number): boolean {
  const lineStart = text.lastIndexOf("\n", index) + 1;
  return /^(?:export )?$/.test(text.slice(lineStart, index));
}

export const predicateSites = (): readonly PredicateSite[] => findPredicates();

/** Each predicate asks first whether its mutant has removed it: `true` then stands in its place. */
function predicatePatches(): Patch[] {
  const byFile = Map.groupBy(findPredicates(), ({ file }) => file);
  return [...byFile].map(([file, found]) => {
    const queue = found.values();
    const replace = (text: string) =>
      `\${globalThis.mutant.removes(${queue.next().value?.site}) ? sql\`true\` : sql\`${text}\`}`;
    return { file: `${FOLDER}/${file}`, find: PREDICATE, replace, times: found.length };
  });
}

/** What tells the policies who asks goes through the mutant first: the setting's text, and the tenant in it. */
const SETTING_PATCHES: readonly Patch[] = ["src/db/pools.ts", "src/db/embedded-source.ts"].flatMap((file) => [
  {
    file,
    find: /text: (?:SET_ACCESS|SET_ROLE_AND_ACCESS),/,
    replace: (text: string) => text.replace(/: (\w+),/, ": globalThis.mutant.settingText($1),"),
    times: 1,
  },
  {
    file,
    find: /values: \[(?:role, )?access\?\.tenantId \?\? ""/,
    replace: (text: string) =>
      text.replace('access?.tenantId ?? ""', 'globalThis.mutant.settingTenant(access?.tenantId ?? "")'),
    times: 1,
  },
]);

/** A cache that forgets whose corpus it keeps. */
const CACHE_PATCH: Patch = {
  file: "src/db/cached-corpus-store.ts",
  find: "this.#tenants.get(tenantId)?.get(name)",
  replace:
    "(globalThis.mutant.sharesCache ? [...this.#tenants.values()].at(-1) : this.#tenants.get(tenantId))?.get(name)",
  times: 1,
};

/** The caller's tenant is compared with that of the corpus, which the predicates take theirs from. Off in the copy: it would hide them. */
const GUARD_PATCH: Patch = {
  file: "src/methods/find-corpus.ts",
  find: "corpus.tenantId !== call.principal.tenantId",
  replace: "false",
  times: 1,
};

export const mutantPatches = (): readonly Patch[] => [
  ...predicatePatches(),
  ...SETTING_PATCHES,
  CACHE_PATCH,
  GUARD_PATCH,
];
