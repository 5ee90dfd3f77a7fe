import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { askServer, type ControlSocket, controlSocketPath, startControlSocket } from "../../src/cli/control-socket.ts";
import { type Config, configSchema } from "../../src/config/config.ts";
import type { OperatorDatabase } from "../../src/db/database.ts";
import { backendUnavailable } from "../../src/protocol/errors.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { testEmbeddingModel } from "../support/test-embedding.ts";
import { runCli } from "./run-cli.ts";

const model = { embedding: testEmbeddingModel() };

let db: TestDatabase;
let folder: string;
let config: Config;
const sockets: ControlSocket[] = [];

beforeAll(async () => {
  db = await openTestDatabase();
});
afterAll(() => db.close());
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "pgrcp-socket-"));
  config = configSchema.parse({ database: { embeddedDir: folder } });
});
afterEach(async () => {
  await Promise.all(sockets.splice(0).map((socket) => socket.close()));
  await rm(folder, { recursive: true });
});

async function start(database: OperatorDatabase = db.operator): Promise<ControlSocket> {
  const socket = await startControlSocket(config, database, model);
  sockets.push(socket);
  return socket;
}

async function ask(command: string, args: object): Promise<readonly object[]> {
  const rows = await askServer(config, command, args);
  if (rows === undefined) throw new Error("no server answers");
  return await Array.fromAsync(rows);
}

/** What the server answers to raw bytes, until it ends the connection. */
async function send(path: string, bytes: string | Uint8Array): Promise<readonly Record<string, unknown>[]> {
  const socket = connect(path);
  socket.end(bytes);
  let text = "";
  for await (const piece of socket.setEncoding("utf8")) text += piece;
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

/** An operator's database whose stream never ends on its own. */
function endless(onReturn: () => void): OperatorDatabase {
  return {
    read: (statement) => db.operator.read(statement),
    write: (work) => db.operator.write(work),
    async *stream(statement) {
      try {
        for (;;) {
          yield [statement.decode({ doc_id: "x", title: null, meta: {}, body: "y".repeat(10_000) })];
          await new Promise((resolve) => setImmediate(resolve));
        }
      } finally {
        onReturn();
      }
    },
    close: async () => {},
  };
}

async function corpus(tenant: string): Promise<void> {
  await ask("tenants.create", { tenant });
  await ask("corpora.create", { tenant, corpus: "default" });
}

test("only the owner may open the socket", async () => {
  const { path } = await start();

  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test("commands run in the server and their rows come back", async () => {
  await start();

  expect(await ask("tenants.create", { tenant: "acme" })).toEqual([{ tenant: "acme", created: true }]);
  expect(await ask("tenants.create", { tenant: "acme" })).toEqual([{ tenant: "acme", created: false }]);
  expect(await ask("corpora.create", { tenant: "acme", corpus: "papers", screening: "refuse" })).toMatchObject([
    { tenant: "acme", corpus: "papers", model: "test-bag-of-words@32", dimension: 32, screening: "refuse" },
  ]);
  expect(await ask("tenants.list", {})).toMatchObject([{ tenant: "acme", corpora: 1 }]);
});

test("a refusal crosses the socket with its line, remedy and exit code", async () => {
  await start();

  await expect(ask("corpora.list", { tenant: "nobody" })).rejects.toMatchObject({
    name: "CommandFailure",
    exitCode: 2,
    message: "there is no such tenant",
    remedy: expect.stringContaining("pgrcp tenants list"),
  });
});

test("a database that is away is a failure of the database", async () => {
  const away = async () => {
    throw backendUnavailable({ retryable: true, detail: "the database is out of reach" });
  };
  await start({ ...db.operator, read: away } as OperatorDatabase);

  await expect(ask("tenants.list", {})).rejects.toMatchObject({ exitCode: 4, message: "the database is out of reach" });
});

test("without a server there is nobody to ask, whether or not a socket was left behind", async () => {
  expect(await askServer(config, "tenants.list", {})).toBeUndefined();
  await leaveStaleSocket(controlSocketPath(config));
  expect(await askServer(config, "tenants.list", {})).toBeUndefined();
});

/** A socket file whose server was killed: Node would remove it on a clean close, so a child process leaves it. */
async function leaveStaleSocket(path: string): Promise<void> {
  const { spawn } = await import("node:child_process");
  const script = `require("node:net").createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, "SIGKILL"))`;
  await new Promise((resolve) => spawn(process.execPath, ["-e", script]).on("exit", resolve));
  expect(existsSync(path)).toBe(true);
}

describe("starting", () => {
  test("a socket that a killed server left is replaced", async () => {
    await leaveStaleSocket(controlSocketPath(config));

    await start();

    expect(await ask("tenants.list", {})).toBeInstanceOf(Array);
  });

  test("a second server refuses and leaves the first one alone", async () => {
    await start();

    await expect(startControlSocket(config, db.operator, model)).rejects.toMatchObject({ exitCode: 4 });
    expect(await ask("tenants.list", {})).toBeInstanceOf(Array);
  });

  test("a file that is no socket is not removed", async () => {
    const path = controlSocketPath(config);
    await writeFile(path, "mine");

    await expect(startControlSocket(config, db.operator, model)).rejects.toMatchObject({ exitCode: 4 });
    expect(existsSync(path)).toBe(true);
  });

  test("a path that no socket can have is refused with a remedy, and asking there finds nobody", async () => {
    const deep = join(folder, "d".repeat(120));
    await mkdir(deep);
    const longConfig = configSchema.parse({ database: { embeddedDir: deep } });

    await expect(startControlSocket(longConfig, db.operator, model)).rejects.toMatchObject({
      exitCode: 2,
      remedy: expect.stringContaining("embeddedDir"),
    });
    expect(await askServer(longConfig, "tenants.list", {})).toBeUndefined();
  });

  test("closing ends open connections and removes the socket", async () => {
    const { path, close } = await startControlSocket(config, db.operator, model);
    const idle = connect(path);
    const ended = new Promise((resolve) => idle.on("close", resolve));
    await new Promise((resolve) => idle.on("connect", resolve));

    await close();

    await ended;
    expect(existsSync(path)).toBe(false);
  });
});

describe("bad input", () => {
  const ADDRESS = { tenant: "a", corpus: "default" };

  test.each<[string, string | Uint8Array]>([
    ["nothing", ""],
    ["a line that is no JSON", "hello\n"],
    ["JSON that is no object", "[1]\n"],
    ["null", "null\n"],
    ["an object without a command", '{"args":{}}\n'],
    ["a command that is no text", '{"command":1}\n'],
    ["bytes that are no text", new Uint8Array([0xff, 0xfe, 0x0a])],
    ["a line without an end", "x".repeat(200_000)],
    ["a line that is too long", `${JSON.stringify({ command: "tenants.list", args: { x: "x".repeat(200_000) } })}\n`],
  ])("%s gets a clear error and harms nobody", async (_name, bytes) => {
    const { path } = await start();

    expect(await send(path, bytes)).toEqual([
      {
        done: true,
        exitCode: 2,
        error: { message: "a request is one line of JSON with command and args", remedy: expect.any(String) },
      },
    ]);
    expect(await ask("tenants.list", {})).toBeInstanceOf(Array);
  });

  test.each([
    ["an unknown command", { command: "tenants.drop", args: {} }, /knows no such operator command/],
    ["a name of every object", { command: "constructor", args: {} }, /knows no such operator command/],
    ["no arguments", { command: "tenants.create" }, /arguments/],
    ["a missing argument", { command: "documents.list", args: { tenant: "a" } }, /arguments .*: corpus/],
    ["an unknown argument", { command: "tenants.list", args: { sql: "select 1" } }, /arguments/],
    ["an argument of another type", { command: "tenants.create", args: { tenant: 7 } }, /arguments .*: tenant/],
    ["a tenant with U+0000", { command: "tenants.create", args: { tenant: "a\0b" } }, /: tenant must be .* U\+0000$/],
    ["a tenant to look for with U+0000", { command: "corpora.list", args: { tenant: "\0" } }, /: tenant must be/],
    ["a corpus with U+0000", { command: "documents.export", args: { tenant: "a", corpus: "\0" } }, /: corpus must be/],
    ["an id with U+0000", { command: "documents.show", args: { ...ADDRESS, id: "a\0b" } }, /: id must be/],
    [
      "half a surrogate pair",
      { command: "documents.show", args: { ...ADDRESS, id: "\ud83d" } },
      /: id must be well-formed/,
    ],
    ["a source with U+0000", { command: "documents.list", args: { ...ADDRESS, source: "\0" } }, /: source must be/],
  ])("%s is refused", async (_name, request, message) => {
    const { path } = await start();

    expect(await send(path, `${JSON.stringify(request)}\n`)).toMatchObject([
      { done: true, exitCode: 2, error: { message: expect.stringMatching(message) } },
    ]);
  });
});

describe("connections that break", () => {
  test("a client that leaves in the middle ends the work", async () => {
    const { promise: returned, resolve } = Promise.withResolvers<void>();
    await start(endless(resolve));
    await corpus("leaver");
    const rows = await askServer(config, "documents.export", { tenant: "leaver", corpus: "default" });

    for await (const _row of rows ?? []) break;

    await returned;
    expect(await ask("tenants.list", {})).toBeInstanceOf(Array);
  });

  /** Rows of 100 kB that may wait in the buffers of the two ends and of the kernel. */
  const MOST_HELD = 100;

  test("a client that does not read holds the work back instead of filling memory", async () => {
    let rows = 0;
    const counting: OperatorDatabase = {
      ...endless(() => {}),
      async *stream(statement) {
        for (; rows < 10 * MOST_HELD; rows += 1)
          yield [statement.decode({ doc_id: "x", title: null, meta: {}, body: "y".repeat(100_000) })];
      },
    };
    const { path } = await start(counting);
    await corpus("sleeper");
    const socket: Socket = connect(path);
    socket.pause();
    socket.write(
      `${JSON.stringify({ command: "documents.export", args: { tenant: "sleeper", corpus: "default" } })}\n`,
    );

    // Until nothing has come for a while, or for too many rows to lie in buffers.
    let held = 0;
    await expect
      .poll(
        () => {
          const stands = (rows > 0 && rows === held) || rows > MOST_HELD;
          held = rows;
          return stands;
        },
        { interval: 300, timeout: 20_000 },
      )
      .toBe(true);

    expect(held).toBeLessThanOrEqual(MOST_HELD);
    socket.resume();
    await expect.poll(() => rows).toBeGreaterThan(MOST_HELD);
    socket.destroy();
  });

  test("a server that goes away in the middle is a failure, not a short answer", async () => {
    const path = controlSocketPath(config);
    const server = createServer((socket) => socket.resume().end('{"row":{"id":"a"}}\n'));
    await new Promise<void>((resolve) => server.listen(path, resolve));
    const rows = await askServer(config, "documents.export", { tenant: "t", corpus: "default" });
    const seen: object[] = [];

    await expect(
      (async () => {
        for await (const row of rows ?? []) seen.push(row);
      })(),
    ).rejects.toMatchObject({ exitCode: 3 });

    expect(seen).toEqual([{ id: "a" }]);
    await new Promise((resolve) => server.close(resolve));
  });
});

describe("the commands themselves", () => {
  // Each is a process of its own, which a busy machine takes seconds to start.
  const pgrcp = (...args: readonly string[]) => runCli(args, folder, { PGRCP_DATABASE__EMBEDDEDDIR: folder });

  test("reach the running server", async () => {
    await start();

    const created = await pgrcp("tenants", "create", "shop");
    const again = await pgrcp("tenants", "create", "shop");
    const corpora = await pgrcp("corpora", "create", "shop", "manuals", "--language", "german");
    const changed = await pgrcp("corpora", "language", "shop", "manuals", "french");
    const listed = await pgrcp("corpora", "list", "shop", "--json");
    const refused = await pgrcp("documents", "list", "shop", "nothing");

    expect([created.code, created.stdout]).toEqual([0, "created\n"]);
    expect([again.code, again.stdout]).toEqual([0, "was there already\n"]);
    expect(corpora.stdout).toMatch(/^tenant {2}corpus {3}language .*\nshop {4}manuals {2}german /);
    expect(changed.stdout).toMatch(/\nshop {4}manuals {2}french /);
    expect(JSON.parse(listed.stdout)).toMatchObject({ tenant: "shop", corpus: "manuals", language: "french" });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/^error: the tenant has no such corpus\nremedy: .*\n$/);
  }, 120_000);

  test("say so when there is no database, and make none", async () => {
    const { code, stderr } = await pgrcp("tenants", "list");

    expect(code).toBe(4);
    expect(stderr).toBe(
      `error: there is no database in ${folder}\nremedy: start the server once (npm start), or set database.url or database.embeddedDir\n`,
    );
    expect(existsSync(join(folder, "data"))).toBe(false);
  });
});
