import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";

const LAUNCHER = fileURLToPath(new URL("../../bin/pgrcp.mjs", import.meta.url));

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "pgrcp-launcher-"));
  await mkdir(join(folder, "bin"));
  await cp(LAUNCHER, join(folder, "bin", "pgrcp.mjs"));
});
afterEach(() => rm(folder, { recursive: true }));

/** Runs the launcher of the folder as if by another version of Node. */
async function launch(nodeVersion = process.versions.node): Promise<{ code: number; stdout: string; stderr: string }> {
  const pretend = join(folder, "version.cjs");
  await writeFile(
    pretend,
    `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${nodeVersion}" } });`,
  );
  return await new Promise((resolve) => {
    execFile(
      process.execPath,
      ["-r", pretend, join(folder, "bin", "pgrcp.mjs"), "one", "two"],
      (error, stdout, stderr) => resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr }),
    );
  });
}

async function program(place: "src/cli/main.ts" | "dist/cli/main.js", text: string): Promise<void> {
  await mkdir(join(folder, place, ".."), { recursive: true });
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
  await writeFile(join(folder, place), text);
}

const echo = (name: string) => `export const main = (args) => console.log(${JSON.stringify(name)}, args.join(","));`;

test("a checkout runs its source, even beside an older build; a package runs what was built", async () => {
  await program("dist/cli/main.js", echo("dist"));
  expect((await launch()).stdout).toBe("dist one,two\n");

  await program("src/cli/main.ts", `const typed: string = "x"; void typed; ${echo("src")}`);
  expect((await launch()).stdout).toBe("src one,two\n");
});

test.each(["18.20.0", "20.20.2", "22.17.1", "23.5.0"])(
  "Node %s cannot run a checkout, and is told what can",
  async (version) => {
    await program("src/cli/main.ts", echo("src"));

    const { code, stdout, stderr } = await launch(version);

    expect(code).toBe(6);
    expect(stdout).toBe("");
    expect(stderr).toBe(
      `error: pgrcp in a checkout needs Node 22.18 or newer; this is Node ${version}\n` +
        "remedy: run it through npm, which brings its own Node 24: npm install, then npm run -s pgrcp -- <command>\n",
    );
  },
);

test.each(["22.18.0", "23.6.0", "24.0.0", "30.1.0"])("Node %s runs a checkout", async (version) => {
  await program("src/cli/main.ts", echo("src"));

  expect((await launch(version)).stdout).toBe("src one,two\n");
});

test("Node 22.0 runs a package, Node 20 does not", async () => {
  await program("dist/cli/main.js", echo("dist"));

  expect((await launch("22.0.0")).stdout).toBe("dist one,two\n");
  expect(await launch("20.20.2")).toMatchObject({
    code: 6,
    stderr: expect.stringMatching(/^error: pgrcp needs Node 22 .*\nremedy: install Node 24/),
  });
});

test("a checkout without its dependencies and a package without its program say so", async () => {
  expect(await launch()).toMatchObject({ code: 6, stderr: expect.stringContaining("neither src nor dist") });

  await program("src/cli/main.ts", 'import "commander";');
  expect(await launch()).toMatchObject({
    code: 6,
    stderr: "error: the dependencies are not installed\nremedy: npm install\n",
  });
});
