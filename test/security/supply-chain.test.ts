import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { runCli, startCli } from "../cli/run-cli.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const read = (file: string) => readFile(join(ROOT, file), "utf8");

const versions = z.record(z.string(), z.string());
const lockFile = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.string().optional(),
      integrity: z.string().optional(),
      license: z.string().optional(),
      dev: z.boolean().optional(),
      dependencies: versions.optional(),
      devDependencies: versions.optional(),
    }),
  ),
});
const manifest = z.object({ dependencies: versions, devDependencies: versions });

const { dependencies, devDependencies } = manifest.parse(JSON.parse(await read("package.json")));
const { packages } = lockFile.parse(JSON.parse(await read("package-lock.json")));
const locked = Object.entries(packages).filter(([path]) => path !== "");
const shipped = locked.filter(([, { dev }]) => dev !== true);
const nameOf = (path: string) => path.replace(/^.*node_modules\//, "");

describe("dependencies", () => {
  test("are named by exact versions, the Node that runs the tests too", () => {
    const loose = Object.entries({ ...dependencies, ...devDependencies }).filter(
      ([, version]) => !/^\d+\.\d+\.\d+$/.test(version),
    );

    expect(loose).toEqual([]);
    expect(devDependencies.node).toBe(process.versions.node);
  });

  test("are those of the lock file, which pins each package's bytes", () => {
    expect(packages[""]).toMatchObject({ dependencies, devDependencies });
    for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
      expect([name, packages[`node_modules/${name}`]?.version]).toEqual([name, version]);
    }
    expect(locked.filter(([, { integrity }]) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ""))).toEqual([]);
  });

  /** Let anybody use and pass on the program under its own licence. */
  const PERMISSIVE = ["Apache-2.0", "MIT", "BSD-2-Clause", "BSD-3-Clause", "ISC", "0BSD", "(MIT OR CC0-1.0)"];
  /** Packages of another licence that somebody has read. */
  const READ: readonly string[] = [];

  test("that are shipped have permissive licences", () => {
    const others = shipped.filter(([, { license }]) => !PERMISSIVE.includes(license ?? ""));

    expect(others.map(([path, { license }]) => `${nameOf(path)}: ${license}`)).toEqual(READ);
    expect(shipped.length).toBeGreaterThan(50);
  });

  test("are listed in the release's bill of materials", async () => {
    const { scripts } = z.object({ scripts: versions }).parse(JSON.parse(await read("package.json")));
    const command = /&& npm (sbom .*) > dist\/sbom\.cdx\.json$/.exec(scripts.sbom ?? "")?.[1] ?? "";
    const { stdout } = await promisify(execFile)("npm", command.split(" "), { cwd: ROOT, maxBuffer: 64_000_000 });

    // `--omit dev` would leave out what the release shares with the tools that test it.
    const properties = z.array(z.object({ name: z.string(), value: z.string() }));
    const component = z.object({ name: z.string(), version: z.string(), properties });
    const bill = z
      .object({ bomFormat: z.literal("CycloneDX"), components: z.array(component) })
      .parse(JSON.parse(stdout));
    const isForTests = ({ properties }: z.infer<typeof component>) =>
      properties.some(({ name, value }) => name === "cdx:npm:package:development" && value === "true");
    const listed = new Set(
      bill.components.filter((one) => !isForTests(one)).map(({ name, version }) => `${name}@${version}`),
    );
    expect(listed).toEqual(new Set(shipped.map(([path, { version }]) => `${nameOf(path)}@${version}`)));
    expect(scripts.prepack).toBe("npm run sbom");
  }, 60_000);
});

test("every image is named by a tag that says its major version, and can be named by its bytes instead", async () => {
  const [dockerfile, compose] = [await read("Dockerfile"), await read("docker-compose.yml")];
  const named = [...compose.matchAll(/^ +(?:image|NODE_IMAGE): (\S+)$/gm)].map(([, image = ""]) => image);
  const replaceable = named
    .filter((image) => image !== "pgrcp:local")
    .map((image) => /^\$\{(\w+):-(\S+)\}$/.exec(image));
  const base = /^ARG NODE_IMAGE=(\S+)$/m.exec(dockerfile)?.[1];

  const tags = new Map(replaceable.map((found) => [found?.[1], found?.[2]]));
  expect([...tags.keys()].toSorted()).toEqual(["RCP_CADDY_IMAGE", "RCP_NODE_IMAGE", "RCP_POSTGRES_IMAGE"]);
  expect([...tags.values()].filter((image) => !/^[\w./-]+:(?:pg)?\d+[\w.-]*$/.test(image ?? ""))).toEqual([]);
  expect(base).toBe(tags.get("RCP_NODE_IMAGE"));
  expect(dockerfile).not.toMatch(/^FROM (?!\$\{NODE_IMAGE\})/m);
  const readme = await read("deploy/README.md");
  for (const [name, image] of tags) expect(readme).toContain(`\n${name}=${image}@sha256:<digest>\n`);
});

describe("the built-in model", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "pgrcp-supply-"));
    for (const part of ["bin", "src", "migrations", "models", "package.json"]) {
      await cp(join(ROOT, part), join(folder, part), { recursive: true });
    }
    await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
    const weights = join(folder, "models/all-minilm-l6-v2-int8/model.onnx");
    const bytes = await readFile(weights);
    const middle = bytes.length >> 1;
    bytes.writeUInt8(bytes.readUInt8(middle) ^ 1, middle);
    await writeFile(weights, bytes);
  });
  afterAll(() => rm(folder, { recursive: true }));

  test("whose weights differ in one bit stops a start with one line and one remedy", async () => {
    const { result } = startCli(["serve"], folder, { PGRCP_SERVER__PORT: "0" }, join(folder, "bin/pgrcp.mjs"));

    const { code, stderr } = await result;
    expect(code).toBe(6);
    expect(stderr).toMatch(/^error: [^\n]*model\.onnx[^\n]*\nremedy: restore the models folder [^\n]*\n$/);
  }, 60_000);

  test("that is the pinned one is found so by doctor", async () => {
    const { stdout } = await runCli(["doctor"], folder, { PGRCP_SERVER__PORT: "0" });

    expect(stdout).toMatch(/^embedding model +ok$/m);
  }, 60_000);
});
