import { readFileSync } from "node:fs";
import path from "node:path";
import vm from "node:vm";
import { build } from "vite";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { type Answer, sendResult, startRcpServer } from "./rcp-server.ts";

/** What somebody installs who imports `pgrcp/client`, on Node or on a runtime that has little more than fetch. */

const ROOT = new URL("../../", import.meta.url).pathname;
const ENTRY = path.join(ROOT, "src/client/index.ts");
const MAX_MINIFIED_BYTES = 30_000;

/** Everything but `import type` and `export type`, which are gone at run time. */
const STATEMENT =
  /^(?:import|export)\s+(?!type\s)(?:[^;"']*?\sfrom\s+)?["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']/gm;

function graphFrom(entry: string, seen = new Map<string, string[]>()): Map<string, string[]> {
  if (seen.has(entry)) return seen;
  const targets = [...readFileSync(entry, "utf8").matchAll(STATEMENT)].map(
    ([, from, dynamic]) => from ?? dynamic ?? "",
  );
  seen.set(
    entry,
    targets.filter((target) => !target.startsWith(".")),
  );
  for (const target of targets.filter((one) => one.startsWith(".")))
    graphFrom(path.resolve(path.dirname(entry), target), seen);
  return seen;
}

describe("the import graph of the client", () => {
  const graph = graphFrom(ENTRY);

  test("stays in client and protocol, and is found", () => {
    const folders = [...graph.keys()].map((file) => path.relative(path.join(ROOT, "src"), path.dirname(file)));
    expect([...new Set(folders)].sort()).toEqual(["client", "protocol"]);
    expect(graph.size).toBeGreaterThan(8);
  });

  test("names no package and nothing of Node", () => {
    expect([...graph.values()].flat()).toEqual([]);
  });
});

test("a federation has an entry point of its own, with as little behind it", () => {
  const graph = graphFrom(path.join(ROOT, "src/client/federation/federation.ts"));
  const folders = [...graph.keys()].map((file) => path.relative(path.join(ROOT, "src"), path.dirname(file)));
  expect([...new Set(folders)].sort()).toEqual(["client", "client/federation", "protocol"]);
  expect([...graph.values()].flat()).toEqual([]);
});

describe("each adapter", () => {
  const { exports, peerDependencies, peerDependenciesMeta } = z
    .object({
      exports: z.record(z.string(), z.union([z.string(), z.object({ default: z.string() })])),
      peerDependencies: z.record(z.string(), z.string()),
      peerDependenciesMeta: z.record(z.string(), z.object({ optional: z.literal(true) })),
    })
    .parse(JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8")));

  test.each([
    ["openai", []],
    ["anthropic", []],
    ["ai-sdk", ["ai"]],
    ["langchain", ["@langchain/core"]],
  ])("%s imports at run time no package but its own, which is an optional peer: %j", (name, packages) => {
    const entry = exports[`./client/${name}`];
    const built = typeof entry === "object" ? entry.default : "";
    const source = path.join(ROOT, built.replace("./dist/", "src/").replace(/\.js$/, ".ts"));

    const imported = [...graphFrom(source).values()].flat();

    const packageOf = (target: string) =>
      target
        .split("/")
        .slice(0, target.startsWith("@") ? 2 : 1)
        .join("/");
    expect([...new Set(imported.map(packageOf))]).toEqual(packages);
    for (const one of packages) expect([peerDependencies[one], peerDependenciesMeta[one]]).not.toContain(undefined);
  });
});

describe("the bundle of the client", () => {
  let code: string;
  beforeAll(async () => {
    const bundled = await build({
      configFile: false,
      logLevel: "silent",
      build: {
        write: false,
        minify: true,
        target: "es2024",
        lib: { entry: ENTRY, formats: ["iife"], name: "pgrcp" },
      },
    });
    const { output } = z.array(z.object({ output: z.array(z.object({ code: z.string() })) })).parse(bundled)[0] ?? {};
    code = output?.[0]?.code ?? "";
  });

  test(`is at most ${MAX_MINIFIED_BYTES} bytes minified`, () => {
    expect(code).toContain("RcpCapabilityError");
    expect(Buffer.byteLength(code)).toBeLessThanOrEqual(MAX_MINIFIED_BYTES);
  });

  test("calls a server with nothing but what every web runtime has", async () => {
    const answer: Answer = (call, response) => sendResult(call, response, { hits: [] });
    const server = await startRcpServer(answer);
    const web = { fetch, URL, AbortController, AbortSignal, TextDecoder, TextEncoder, atob, crypto, performance };
    const context = vm.createContext({ ...web, setTimeout, clearTimeout });
    try {
      vm.runInContext(code, context);
      const asked = vm.runInContext(
        `new pgrcp.RcpClient({ url: ${JSON.stringify(server.url)} }).retrieve({ query: "q" }, { deadlineMs: 60000 })`,
        context,
      );
      expect(await asked).toMatchObject({ hits: [] });
    } finally {
      await server.close();
    }
  });
});
