import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdtemp, readdir, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type CliResult, type RunningCli, runCli, startCli } from "./run-cli.ts";

/** What a newcomer does in an empty folder. The steps build on each other, as they do for a newcomer. */

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const PACKAGE = fileURLToPath(new URL("../../", import.meta.url));
const TOKENS = ["add", "all", "delete", "read"] as const;
/** A free port, so that nothing else on the machine is met; no file of this user's is read. */
const ENV = { PGRCP_SERVER__PORT: "0", PGRCP_CONFIG: undefined, NODE_DEBUG: undefined };

let folder: string;
let server: RunningCli;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pgrcp-first-run-"));
  server = startCli(["serve"], folder, ENV);
});
afterAll(async () => {
  server.kill("SIGKILL");
  await server.result;
  await rm(folder, { recursive: true });
});

const serve = (env: NodeJS.ProcessEnv = {}, launcher?: string) =>
  runCli(["serve"], folder, { ...ENV, ...env }, launcher);

/** Runs a printed command as it would be pasted. */
async function paste(command: string): Promise<unknown> {
  const { stdout } = await promisify(execFile)("sh", ["-c", command], { cwd: folder });
  return JSON.parse(stdout);
}

/** Standard error of a failure: one line that says what was wrong, one that says what to do. */
const failure = (line: string, remedy: string) => new RegExp(`^error: ${line}\nremedy: ${remedy}\n$`);

/** The texts of the log's warnings, and the `ready` line, in their order. */
const told = (stdout: string): string[] =>
  stdout.split("\n").flatMap((line) => {
    if (line.startsWith("ready ")) return ["ready"];
    const { event, text } = line.startsWith("{") ? JSON.parse(line) : { event: "", text: "" };
    return event === "warning" ? [text] : [];
  });

describe("the first start", () => {
  test("prints where it listens, and a command that finds passages when it is pasted", async () => {
    expect(await server.line("ready ")).toMatch(
      /^ready http:\/\/127\.0\.0\.1:\d+\/rcp \(embedded database in \.pgrcp\)$/,
    );
    const answer = await paste(await server.line("curl "));

    expect(answer).toMatchObject({ id: 1, result: { hits: expect.any(Array) } });
    const { hits } = (answer as { result: { hits: { id: string; text: string; citation: { source: string } }[] } })
      .result;
    expect(hits).toHaveLength(3);
    expect(hits[0]?.id).toBe("tenancy/isolation");
    for (const { text, citation } of hits) {
      expect(text).not.toBe("");
      expect(citation.source).toBe("samples");
    }
  });

  test("says before that what this database and these tokens are not for", async () => {
    expect(told(server.stdout())).toEqual([
      expect.stringMatching(/one connection.*roles are kept apart by settings.*a query that runs cannot be stopped/),
      expect.stringMatching(/tokens in \.pgrcp\/dev are for this machine only.*all\.token may read, add and delete/),
      "ready",
    ]);
  });

  test("leaves four tokens that only their owner can read", async () => {
    const files = (await readdir(join(folder, ".pgrcp", "dev"))).filter((name) => name.endsWith(".token"));
    const modes = await Promise.all(files.map(async (name) => (await stat(join(folder, ".pgrcp", "dev", name))).mode));

    expect(files.sort()).toEqual(TOKENS.map((name) => `${name}.token`));
    expect(modes.map((mode) => mode & 0o777)).toEqual([0o600, 0o600, 0o600, 0o600]);
  });
});

describe("beside the running server", () => {
  test("a second one on the same folder ends with exit code 4", async () => {
    const { code, stderr } = await serve();

    expect(code).toBe(4);
    expect(stderr).toMatch(failure("the data directory .pgrcp is in use by process \\d+ on .+", "stop that process.+"));
  });

  test("doctor looks at all but the database, and says that the server has it", async () => {
    const [, port = ""] = /:(\d+)\//.exec(await server.line("ready ")) ?? [];

    const { code, stdout } = await runCli(["doctor"], folder, { ...ENV, PGRCP_SERVER__PORT: port });

    expect(code).toBe(0);
    expect(stdout).toMatch(/^embedding model +ok$/m);
    expect(stdout).toMatch(/^port +warning\n {2}a pgrcp server answers on port \d+\n {2}remedy: stop it/m);
    expect(stdout).toMatch(/^database +warning\n {2}a server has the database in \.pgrcp open: it checked it when it/m);
  });
});

test("Ctrl-C ends it with exit code 0, and leaves no lock", async () => {
  server.kill("SIGINT");

  expect((await server.result).code).toBe(0);
  expect(existsSync(join(folder, ".pgrcp", "lock"))).toBe(false);
});

describe("what keeps the next start from happening is one line and one remedy:", () => {
  test("a port that is taken, exit code 6", async () => {
    // One that speaks another protocol: it takes what is sent and says nothing.
    const other = createServer((socket) => socket.resume());
    const port = await new Promise<string>((resolve) => {
      other.listen(0, "127.0.0.1", () => {
        const address = other.address();
        resolve(String(typeof address === "object" ? address?.port : ""));
      });
    });

    const { code, stderr } = await serve({ PGRCP_SERVER__PORT: port });
    const doctor = await runCli(["doctor"], folder, { ...ENV, PGRCP_SERVER__PORT: port });

    expect(code).toBe(6);
    expect(stderr).toMatch(failure(`port ${port} is taken by another program`, "stop it, or choose another port: .+"));
    expect(doctor.code).toBe(6);
    expect(doctor.stdout).toMatch(/^port +error\n {2}port \d+ is taken by another program\n {2}remedy: stop it/m);
    await new Promise((resolve) => other.close(resolve));
  });

  test("a key that no setting has, exit code 2", async () => {
    await writeFile(join(folder, "typo.yaml"), "server:\n  prot: 8787\n");

    const { code, stdout, stderr } = await serve({ PGRCP_CONFIG: "typo.yaml" });

    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(
      failure("the configuration has 1 problem:\n.*server\\.prot \\(typo\\.yaml line 2\\): unknown key.*", ".+"),
    );
  });

  test("weights that are not there, exit code 6", async () => {
    const copy = await copyOfProgram();
    await rm(join(copy, "models", "all-minilm-l6-v2-int8", "model.onnx"));
    const launcher = join(copy, "bin", "pgrcp.mjs");

    const { code, stderr } = await serve({}, launcher);
    const doctor = await runCli(["doctor"], folder, ENV, launcher);

    expect(code).toBe(6);
    expect(stderr).toMatch(failure("the model file model\\.onnx cannot be read", "restore the models folder .+"));
    expect(doctor.code).toBe(6);
    expect(doctor.stdout).toMatch(/^embedding model +error\n {2}the model file model\.onnx cannot be read\n/m);
    await rm(copy, { recursive: true });
  });

  test("documents of another embedding model, exit code 4", async () => {
    const { code, stderr } = await serve({
      PGRCP_MODELS__EMBEDDING__PROVIDER: "openai",
      PGRCP_MODELS__EMBEDDING__URL: "http://127.0.0.1:9/v1",
      PGRCP_MODELS__EMBEDDING__MODEL: "other",
      PGRCP_MODELS__EMBEDDING__DIMENSION: "768",
    });
    expect(code).toBe(4);
    expect(stderr).toMatch(
      failure("corpus default of tenant demo was embedded with .+", "set models.embedding back; .+"),
    );
  });

  test("a file where its folder of tokens should be, exit code 6", async () => {
    const dev = join(folder, ".pgrcp", "dev");
    await rename(dev, `${dev}.kept`);
    await writeFile(dev, "");

    const { code, stderr } = await serve();

    await rm(dev);
    await rename(`${dev}.kept`, dev);
    expect(code).toBe(6);
    expect(stderr).toMatch(failure("\\.pgrcp/dev cannot be made: a file is where a folder is needed", "move that .+"));
  });
});

test("the second start has the documents of the first and indexes nothing", async () => {
  const second = startCli(["serve"], folder, ENV);
  await second.line("ready ");
  const answer = await paste(await second.line("curl "));
  second.kill("SIGTERM");
  const { code, stderr } = await second.result;

  expect(answer).toMatchObject({ result: { hits: [{}, {}, {}] } });
  expect([code, stderr]).toEqual([0, ""]);
});

test("Ctrl-C before it is ready ends a first start cleanly, whenever it comes", async () => {
  const stopped: CliResult[] = [];
  for (const file of ["lock", "engine"]) {
    const empty = await mkdtemp(join(tmpdir(), "pgrcp-first-run-"));
    const start = startCli(["serve"], empty, ENV);
    // The lock is there before the database is made, the engine's version when it is and samples come next.
    await expect.poll(() => existsSync(join(empty, ".pgrcp", file)), { timeout: 120_000, interval: 20 }).toBe(true);
    await sleep(50);
    start.kill("SIGINT");
    stopped.push(await start.result);
    expect(existsSync(join(empty, ".pgrcp", "lock"))).toBe(false);
    await rm(empty, { recursive: true });
  }

  expect(stopped.map(({ code, stdout }) => [code, told(stdout).includes("ready")])).toEqual([
    [0, false],
    [0, false],
  ]);
  expect(stopped.map(({ stderr }) => stderr).join("")).not.toContain("error:");
});

/** The program in a folder of its own, with the dependencies of this one. */
async function copyOfProgram(): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), "pgrcp-copy-"));
  for (const part of ["bin", "src", "models", "migrations", "samples", "package.json"]) {
    await cp(join(PACKAGE, part), join(copy, part), { recursive: true });
  }
  await symlink(join(PACKAGE, "node_modules"), join(copy, "node_modules"));
  return copy;
}
