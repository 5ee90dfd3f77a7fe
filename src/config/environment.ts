import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { dotted } from "./config-error.ts";
import { nearestName } from "./nearest-name.ts";
import { type Schema, type Shape, shapeOf } from "./schema-shape.ts";

/** A setting that a variable makes. */
export interface EnvironmentSetting {
  readonly variable: string;
  readonly path: readonly (string | number)[];
  readonly value: unknown;
}

/** Names the configuration file; it is no setting itself. */
export const CONFIG_FILE_VARIABLE = "PGRCP_CONFIG";

const PREFIX = "PGRCP_";
const FILE_SUFFIX = "_FILE";

/**
 * Settings in `PGRCP_SECTION__KEY` variables, shorter paths first, so that a list comes before its own elements.
 *
 * A value is read as the schema wants it: text stays text, a number or true/false is a YAML scalar, a list or a section is
 * YAML or JSON. `…_FILE` reads a secret from the file it names.
 */
export function readEnvironment(
  env: NodeJS.ProcessEnv,
  root: Schema,
): { settings: EnvironmentSetting[]; problems: string[] } {
  const settings: EnvironmentSetting[] = [];
  const problems: string[] = [];
  const variableOf = new Map<string, string>();
  for (const [variable, text] of Object.entries(env)) {
    if (!variable.startsWith(PREFIX) || text === undefined || isNoSetting(variable, text)) continue;
    const target = findTarget(variable, root);
    if (typeof target === "string") {
      problems.push(`${variable}: ${target}`);
      continue;
    }
    const key = dotted(target.path);
    const other = variableOf.get(key);
    if (other !== undefined) problems.push(`${variable} (${key}): sets the same key as ${other}; keep one`);
    variableOf.set(key, variable);
    const read = target.fromFile ? readSecretFile(text) : readValue(text, target.shape);
    if ("problem" in read) problems.push(`${variable} (${key}): ${read.problem}`);
    else settings.push({ variable, path: target.path, value: read.value });
  }
  settings.sort((a, b) => a.path.length - b.path.length || compareIndexes(a.path, b.path));
  return { settings, problems };
}

/** The variable that sets a path, in the spelling that the documentation uses. */
function variableName(path: readonly (string | number)[]): string {
  const parts = path.map((part) => String(part).replace(/(?<=[a-z0-9])(?=[A-Z])/g, "_"));
  return PREFIX + parts.join("__").toUpperCase();
}

/** Every variable that could be set, but for the elements of lists. */
export function variableNames(schema: Schema, path: readonly string[] = []): string[] {
  const shape = shapeOf(schema);
  if (shape.kind === "section") return [...shape.keys].flatMap(([key, inner]) => variableNames(inner, [...path, key]));
  const name = variableName(path);
  return shape.kind === "text" && shape.secret !== undefined ? [name, name + FILE_SUFFIX] : [name];
}

interface Target {
  readonly path: readonly (string | number)[];
  readonly shape: Shape;
  readonly fromFile: boolean;
}

/** Finds what a variable sets, or says why it sets nothing. */
function findTarget(variable: string, root: Schema): Target | string {
  const path: (string | number)[] = [];
  let shape = shapeOf(root);
  const parts = variable.slice(PREFIX.length).split("__");
  for (const [index, part] of parts.entries()) {
    if (shape.kind === "list" && /^\d{1,4}$/.test(part)) {
      path.push(Number(part));
      shape = shapeOf(shape.element);
      continue;
    }
    if (shape.kind === "map") return `give the whole map instead: ${variableName(path)}='{name: value}'`;
    if (shape.kind !== "section") return unknownVariable(variable, root);
    const found = findKey(shape.keys, part);
    if (found !== undefined) {
      path.push(found[0]);
      shape = shapeOf(found[1]);
      continue;
    }
    const base = part.endsWith(FILE_SUFFIX) ? findKey(shape.keys, part.slice(0, -FILE_SUFFIX.length)) : undefined;
    if (base === undefined || index < parts.length - 1) return unknownVariable(variable, root);
    path.push(base[0]);
    shape = shapeOf(base[1]);
    if (shape.kind !== "text" || shape.secret === undefined)
      return `only secrets are read from files; set ${variableName(path)}`;
    return { path, shape, fromFile: true };
  }
  return { path, shape, fromFile: false };
}

function findKey(keys: ReadonlyMap<string, Schema>, part: string): [string, Schema] | undefined {
  const plain = part.replaceAll("_", "").toLowerCase();
  return [...keys].find(([key]) => key.toLowerCase() === plain);
}

function unknownVariable(variable: string, root: Schema): string {
  const near = nearestName(variable, variableNames(root));
  return `no such setting; ${near === undefined ? "config.example.yaml has them all" : `did you mean ${near}?`}`;
}

type Read = { readonly value: unknown } | { readonly problem: string };

function readValue(text: string, shape: Shape): Read {
  if (shape.kind === "text") return { value: shape.nullable && text === "null" ? null : text };
  if (text.trim() === "") return { problem: "is empty; give a value or unset it" };
  let value: unknown;
  try {
    value = parse(text, { logLevel: "error", maxAliasCount: 0 });
  } catch {
    return { problem: "is not valid YAML or JSON; a list looks like [a, b], a section like {key: value}" };
  }
  return { value };
}

function readSecretFile(file: string): Read {
  try {
    return { value: readFileSync(file, "utf8").replace(/[\r\n]+$/, "") };
  } catch {
    // The text is not shown: someone may have put the secret itself where its file belongs.
    return { problem: "names a file that cannot be read; name one that exists and that this user may read" };
  }
}

/** The test suite is steered by variables of this beginning. */
const TEST_PREFIX = "PGRCP_TEST_";

/** Kubernetes and Docker describe a service called pgrcp in variables that look like settings. They are theirs. */
function isNoSetting(variable: string, text: string): boolean {
  if (variable === CONFIG_FILE_VARIABLE || variable.startsWith(TEST_PREFIX)) return true;
  if (variable.includes("__")) return false;
  if (/_SERVICE_(HOST|PORT)(_[A-Z0-9_]+)?$/.test(variable)) return true;
  if (/_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(variable)) return true;
  return variable.endsWith("_PORT") && /^(tcp|udp|sctp):\/\//.test(text);
}

function compareIndexes(a: readonly (string | number)[], b: readonly (string | number)[]): number {
  for (const [at, part] of a.entries()) {
    const other = b[at];
    if (typeof part === "number" && typeof other === "number" && part !== other) return part - other;
  }
  return 0;
}
