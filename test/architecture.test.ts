import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";

const SOURCE = new URL("../src/", import.meta.url).pathname;

/** Which folder may import which, in request order: the table of the style guide. `app` is the files at the top of src. */
const TABLE = {
  cli: ["app", "bridge", "client", "conformance", "config", "db", "fetch", "hijack", "maintenance"],
  app: "everything",
  bridge: ["client"],
  http: ["adapters", "rpc", "auth", "config", "load"],
  adapters: ["rpc"],
  rpc: ["methods", "auth", "load"],
  methods: [
    ...["retrieval", "indexing", "graph", "memory", "trust", "plan", "sql", "db", "models", "fetch", "catalog", "auth"],
  ],
  maintenance: ["indexing", "trust", "sql", "db", "models", "catalog", "config"],
  memory: ["retrieval", "plan", "sql", "db", "models", "catalog"],
  retrieval: ["trust", "plan", "sql", "db", "models", "catalog"],
  indexing: ["trust", "plan", "sql", "db", "models", "fetch", "catalog", "load"],
  graph: ["trust", "plan", "sql", "db", "models", "catalog"],
  trust: ["sql", "db", "catalog"],
  db: ["sql", "catalog", "config", "load"],
  models: ["config"],
  fetch: ["config", "load"],
  sql: ["plan", "catalog"],
  plan: ["catalog"],
  catalog: [],
  auth: ["config"],
  config: [],
  load: [],
  observability: [],
  client: [],
  hijack: ["conformance"],
  conformance: [],
  protocol: [],
} as const satisfies Readonly<Record<string, readonly string[] | "everything">>;

/** What the table does not say and the code needs. */
const BESIDE_TABLE: Readonly<Record<string, readonly string[]>> = {
  // The capabilities that a session stores, and the corpus that a path names.
  rpc: ["catalog"],
  // The corpus that an argument names; and what the library knows of texts for a prompt, which is the same for who reads none of it.
  adapters: ["catalog", "client"],
  // `token mint` signs what auth verifies, and `token inspect` tells which check fails; `migrate` and `doctor` read the filter
  // fields of the configuration as planning does.
  cli: ["auth", "plan"],
  // `explain` asks which path a retrieve would take.
  maintenance: ["plan", "retrieval"],
};

const PURE: readonly string[] = ["protocol", "catalog", "plan", "sql", "client", "hijack", "conformance"];
const ORDER = Object.keys(TABLE);

/** Packages that one folder alone may import. */
const OWNERS: Readonly<Record<string, string>> = {
  pg: "db",
  "@electric-sql/pglite": "db",
  "@electric-sql/pglite-pgvector": "db",
  "html-to-text": "fetch",
  fastify: "http",
  "@fastify/cors": "http",
  "@fastify/helmet": "http",
  "@fastify/rate-limit": "http",
  ioredis: "http",
  pino: "observability",
  "onnxruntime-node": "models",
  // `pgrcp mcp` needs none: it forwards messages as they are.
  "@modelcontextprotocol/server": "adapters",
  ai: "client",
  "@langchain/core/documents": "client",
  "@langchain/core/retrievers": "client",
  "@langchain/core/tools": "client",
};

interface Import {
  readonly file: string;
  readonly from: string;
  /** A folder under src, or a package. */
  readonly to: string;
  readonly isPackage: boolean;
  readonly isTypeOnly: boolean;
}

const STATEMENT = /^(?:import|export)\s+(type\s)?(?:[^;"']*?\sfrom\s+)?["']([^"']+)["']/gm;
const DYNAMIC = /\bimport\(\s*["']([^"']+)["']\s*\)/g;

function folderOf(file: string): string {
  const parts = path.relative(SOURCE, file).split(path.sep);
  return parts.length > 1 ? (parts[0] ?? "") : "app";
}

function importsOf(file: string): Import[] {
  const text = readFileSync(file, "utf8");
  const found = [
    ...[...text.matchAll(STATEMENT)].map(([, type, target = ""]) => ({ target, isTypeOnly: type !== undefined })),
    ...[...text.matchAll(DYNAMIC)].map(([, target = ""]) => ({ target, isTypeOnly: false })),
  ];
  return found.map(({ target, isTypeOnly }) => {
    const isPackage = !target.startsWith(".");
    const to = isPackage ? target : folderOf(path.resolve(path.dirname(file), target));
    return { file: path.relative(SOURCE, file), from: folderOf(file), to, isPackage, isTypeOnly };
  });
}

const imports = readdirSync(SOURCE, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .flatMap((name) => importsOf(path.join(SOURCE, name)));

function isAllowed({ from, to, isTypeOnly }: Import): boolean {
  if (from === to) return true;
  if (!isFolder(from)) return false;
  const row = TABLE[from];
  if (row === "everything") return true;
  const rows: readonly string[] = [...row, ...(BESIDE_TABLE[from] ?? [])];
  if (rows.includes(to)) return true;
  if (to === "protocol") return true;
  if (to === "observability") return !PURE.includes(from);
  // A type is gone at run time, so it may come from anything that stands later; and a branded id from catalog to anywhere.
  return isTypeOnly && (to === "catalog" || ORDER.indexOf(to) > ORDER.indexOf(from));
}

const isFolder = (name: string): name is keyof typeof TABLE => Object.hasOwn(TABLE, name);

const line = ({ file, to, isTypeOnly }: Import): string => `${file} imports ${isTypeOnly ? "a type of " : ""}${to}`;

describe("the folders of src", () => {
  test("are all in the table", () => {
    const folders = new Set(imports.map(({ from }) => from));
    expect([...folders].filter((folder) => !isFolder(folder))).toEqual([]);
  });

  test("import only what stands later in the table", () => {
    expect(imports.filter((one) => !one.isPackage && !isAllowed(one)).map(line)).toEqual([]);
  });

  test("leave each outside package to its owner", () => {
    const strays = imports.filter((one) => one.isPackage && (OWNERS[one.to] ?? one.from) !== one.from);
    expect(strays.map(line)).toEqual([]);
  });

  test("the reader of imports sees every form of one", () => {
    const seen = importsOf(new URL("support/import-forms.txt", import.meta.url).pathname);
    expect(seen.map(({ to, isTypeOnly }) => [to, isTypeOnly])).toEqual([
      ["node:fs", false],
      ["pg", true],
      ["pg", false],
      ["pino", false],
      ["jose", true],
      ["fastify", false],
    ]);
  });
});
