import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CommandFailure, ExitCode, formatFailure, toFailure } from "../../src/cli/exit.ts";
import { ENTRIES } from "../../src/cli/main.ts";
import { runCli } from "./run-cli.ts";

let cwd: string;
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), "pgrcp-main-"));
});
afterAll(() => rm(cwd, { recursive: true }));

describe("the program", () => {
  test("help names every command and says what exit codes mean", async () => {
    const { code, stdout } = await runCli(["--help"], cwd);

    expect(code).toBe(0);
    for (const { name } of ENTRIES) expect(stdout).toContain(`  ${name}`);
    expect(stdout).toContain("Exit codes: 0 done");
  });

  test("no command, an unknown one and an unknown option are usage errors", async () => {
    const results = await Promise.all([
      runCli([], cwd),
      runCli(["improt"], cwd),
      runCli(["import", "x", "--nope"], cwd),
      runCli(["import"], cwd),
      runCli(["tenants"], cwd),
    ]);

    expect(results.map(({ code }) => code)).toEqual([2, 2, 2, 2, 2]);
    expect(results.every(({ stdout }) => stdout === "")).toBe(true);
    expect(results[1]?.stderr).toContain("Did you mean import?");
  });

  test("the version is the package's", async () => {
    const { code, stdout } = await runCli(["--version"], cwd);

    expect(code).toBe(0);
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  test("a broken configuration ends with its keys and exit code 2", async () => {
    const file = join(cwd, "broken.yaml");
    await writeFile(file, "server:\n  prot: 1\n");

    const { code, stderr } = await runCli(["tenants", "list", "--config", file], cwd);

    expect(code).toBe(2);
    expect(stderr).toMatch(/^error: the configuration has 1 problem:\n {2}- server\.prot/);
    expect(stderr).toMatch(/\nremedy: /);
  });
});

test.each(ENTRIES.map((entry) => [entry.name, entry] as const))(
  "%s describes itself as the overview does",
  async (name, entry) => {
    const program = new Command();

    (await entry.load())(program);

    expect(program.commands.map((command) => command.name())).toEqual([name]);
    expect(program.commands[0]?.description()).toBe(entry.summary);
  },
);

describe("failures", () => {
  test("are one line and one remedy", () => {
    expect(formatFailure(new CommandFailure(ExitCode.usage, "wrong", "do this"))).toBe(
      "error: wrong\nremedy: do this\n",
    );
    expect(formatFailure(new CommandFailure(ExitCode.partial, "half"))).toBe("error: half\n");
  });

  test("of other folders keep their remedy, and their exit code when it is one", () => {
    const error = (exitCode: unknown) => Object.assign(new Error("locked"), { remedy: "stop it", exitCode });

    expect(toFailure(error(4))).toMatchObject({ exitCode: 4, message: "locked", remedy: "stop it" });
    expect(toFailure(error(77))).toMatchObject({ exitCode: 1, remedy: "stop it" });
  });

  test("that nobody foresaw say so, whatever was thrown", () => {
    expect(toFailure(new Error("boom"))).toMatchObject({ exitCode: 1, message: "unexpected: boom" });
    expect(toFailure("text")).toMatchObject({ exitCode: 1, message: "unexpected: text" });
  });
});
