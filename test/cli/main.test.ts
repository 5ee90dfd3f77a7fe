import { type StdioOptions, spawn } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FirstRunKeyUnusable } from "../../src/auth/first-run-keys.ts";
import { TokenNotIssued } from "../../src/auth/issue-token.ts";
import { CommandFailure, ExitCode, formatFailure, toFailure } from "../../src/cli/exit.ts";
import { ENTRIES } from "../../src/cli/main.ts";
import { ConfigError } from "../../src/config/config-error.ts";
import { StartupError } from "../../src/db/startup-error.ts";
import { Refusal } from "../../src/maintenance/refusal.ts";
import { ModelFilesError } from "../../src/models/model-files.ts";
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

describe("standard output", () => {
  const LAUNCHER = fileURLToPath(new URL("../../bin/pgrcp.mjs", import.meta.url));

  /** How a command ends with another standard output. */
  function endOf(args: readonly string[], stdout: number | "pipe", env: NodeJS.ProcessEnv = {}) {
    const stdio: StdioOptions = ["ignore", stdout, "pipe"];
    const child = spawn(process.execPath, [LAUNCHER, ...args], { cwd, stdio, env: { ...process.env, ...env } });
    child.stdout?.destroy();
    let stderr = "";
    child.stderr?.on("data", (piece: Buffer) => {
      stderr += piece.toString();
    });
    return new Promise((resolve) => child.on("close", (code) => resolve({ code, stderr })));
  }

  describe.runIf(existsSync("/dev/full"))("that has no room", () => {
    const ending = {
      code: 6,
      stderr:
        "error: standard output cannot be written (ENOSPC)\nremedy: make room where it goes, or send it elsewhere\n",
    };
    let full: number;
    beforeAll(() => {
      full = openSync("/dev/full", "w");
    });
    afterAll(() => closeSync(full));

    test("is a failure with a line and a remedy", async () => {
      expect(await endOf(["--help"], full)).toEqual(ending);
    });

    test("ends a server whose log goes there", async () => {
      // A warning is the first line of the log.
      const env = { PGRCP_LIMITS__MAX_TEXT_BYTES: "2000000", PGRCP_SERVER__PORT: "0", PGRCP_CONFIG: undefined };

      expect(await endOf(["serve"], full, env)).toEqual(ending);
    });
  });

  test("that nobody reads any more is a quiet end", async () => {
    expect(await endOf(["--help"], "pipe")).toEqual({ code: 0, stderr: "" });
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

test("config.example.yaml sends nobody to a command that there is not", async () => {
  const text = await readFile(new URL("../../config.example.yaml", import.meta.url), "utf8");
  const named = [...text.matchAll(/`pgrcp ([a-z-]+)/g)].map(([, name]) => name);

  expect(named.length).toBeGreaterThan(3);
  expect(named.filter((name) => ENTRIES.every((entry) => entry.name !== name))).toEqual([]);
});

describe("failures", () => {
  test("are one line and one remedy", () => {
    expect(formatFailure(new CommandFailure(ExitCode.usage, "wrong", "do this"))).toBe(
      "error: wrong\nremedy: do this\n",
    );
    expect(formatFailure(new CommandFailure(ExitCode.partial, "half"))).toBe("error: half\n");
  });

  test.each([
    ["a start", new StartupError("locked", "stop it"), 4],
    ["the configuration", new ConfigError(["server.port: must be at most 65535"]), 2],
    ["an operator's command", new Refusal("no such tenant", "make it"), 2],
    ["a token", new TokenNotIssued("too long-lived", "ask for less"), 2],
    ["the first run", new FirstRunKeyUnusable("dev/key.json"), 2],
    ["the model's files", new ModelFilesError("model.onnx", "missing"), 6],
  ])("of %s keep their line, remedy and exit code", (_name, error, exitCode) => {
    const { message, remedy } = error;

    expect(toFailure(error)).toMatchObject({ message, remedy, exitCode });
    expect(remedy).not.toBe("");
  });

  test("are known by their class, not by their members", () => {
    const lookalike = Object.assign(new Error("boom"), { remedy: "none", exitCode: 4 });

    expect(toFailure(lookalike)).toMatchObject({ exitCode: 1, message: "unexpected: Error" });
  });

  test.each([
    ["EACCES", "open", "this user may not use /data/lock"],
    ["EROFS", "mkdir", "this user may not use /data/lock"],
    ["ENOSPC", "write", "there is no room for /data/lock"],
    ["EEXIST", "mkdir", "/data/lock cannot be made: a file is where a folder is needed"],
  ])("%s of the file system is this machine's, with the path", (code, syscall, message) => {
    const error = Object.assign(new Error(`${code}: …, ${syscall}`), { code, syscall, path: "/data/lock" });

    expect(toFailure(error)).toMatchObject({ exitCode: 6, message, remedy: expect.any(String) });
  });

  test("a file that is not there, or is there already, may be a bug", () => {
    const error = (code: string) => Object.assign(new Error(code), { code, syscall: "open", path: "/data/lock" });

    expect(toFailure(error("ENOENT"))).toMatchObject({ exitCode: 1 });
    expect(toFailure(error("EEXIST"))).toMatchObject({ exitCode: 1 });
  });

  test("that nobody foresaw say so, whatever was thrown", () => {
    expect(toFailure(new Error("boom"))).toMatchObject({ exitCode: 1, message: "unexpected: Error" });
    expect(toFailure("text")).toMatchObject({ exitCode: 1, message: "unexpected: a string was thrown, not an error" });
  });
});
