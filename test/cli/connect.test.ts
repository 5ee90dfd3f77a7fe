import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import {
  type Answer,
  event,
  type FakeServer,
  INITIALIZED,
  sendError,
  sendResult,
  sendText,
  startFakeServer,
  startStream,
  withSessions,
} from "../bridge/fake-server.ts";
import { sendRequest } from "../support/raw-http.ts";
import { TLS_CERT } from "../support/tls-pair.ts";
import { runCli } from "./run-cli.ts";

const LAUNCHER = fileURLToPath(new URL("../../bin/pgrcp.mjs", import.meta.url));
const folder = mkdtempSync(path.join(tmpdir(), "pgrcp-connect-"));
const caFile = path.join(folder, "ca.pem");
const tokenFile = path.join(folder, "token");
writeFileSync(caFile, TLS_CERT);
writeFileSync(tokenFile, "first-token\n");
afterAll(() => rmSync(folder, { recursive: true }));

interface RunningBridge {
  readonly server: FakeServer;
  readonly child: ChildProcessWithoutNullStreams;
  /** Writes to its standard input as it is. */
  write(text: string | Uint8Array): void;
  /** The frames on standard output, once there are so many. */
  frames(count: number): Promise<unknown[]>;
  stdout(): string;
  stderr(): string;
  readonly exit: Promise<number | null>;
}

async function start(
  answer: Answer,
  args: readonly string[] = ["--token-file", tokenFile],
  env: NodeJS.ProcessEnv = {},
  launcher: { readonly cwd: string; readonly env: NodeJS.ProcessEnv } = { cwd: folder, env: process.env },
): Promise<RunningBridge> {
  const server = await startFakeServer(answer);
  const all = [LAUNCHER, "connect", "--url", server.base.href, "--ca-file", caFile, ...args];
  const child = spawn(process.execPath, all, { cwd: launcher.cwd, env: { ...launcher.env, ...env } });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  child.stdin.on("error", () => {});
  const exit = new Promise<number | null>((resolve) => child.once("close", resolve));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await server.close();
  });
  const lines = () => stdout.split("\n").slice(0, -1);
  return {
    server,
    child,
    write: (text) => void child.stdin.write(text),
    frames: async (count) => {
      await expect.poll(() => lines().length).toBeGreaterThanOrEqual(count);
      return lines().map((line) => JSON.parse(line));
    },
    stdout: () => stdout,
    stderr: () => stderr,
    exit,
  };
}

const line = (id: unknown, method: string, params: object = {}): string =>
  `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`;
const INITIALIZE = line("init", "initialize", { protocolVersion: 1, client: { name: "test", version: "1" } });
const echo = () => withSessions((call, response) => sendResult(call, response, { method: call.body.method }));

describe("§5.1 connect on stdio", () => {
  test("tolerates a byte order mark, blank lines, CRLF and lines that come in pieces, and writes no mark", async () => {
    const bridge = await start(echo());
    bridge.write(Buffer.from(`\ufeff\r\n\n  \n${INITIALIZE.trim()}\r\n`));
    await bridge.frames(1);
    for (const piece of Buffer.from(line("é", "retrieve"))) {
      bridge.write(Uint8Array.of(piece));
      await pause(1);
    }
    bridge.write(`${line(2, "ping").trim()}\n\n\n${line(3, "info")}`);
    expect(await bridge.frames(4)).toHaveLength(4);
    bridge.child.stdin.end();
    expect(await bridge.exit).toBe(0);

    const frames = (await bridge.frames(4)) as { id: unknown }[];
    expect(frames.map(({ id }) => id).slice(0, 2)).toEqual(["init", "é"]);
    expect(bridge.stdout().startsWith('{"jsonrpc"')).toBe(true);
    expect(bridge.stdout()).not.toContain("session");
    expect(bridge.stderr()).toBe("");
  });

  test("at EOF finishes what runs, answers it, ends the session and exits", async () => {
    const bridge = await start(
      withSessions(async (call, response) => {
        await pause(400);
        sendResult(call, response, { late: true });
      }),
    );
    bridge.write(INITIALIZE + line(1, "retrieve") + line(2, "retrieve").trim());
    bridge.child.stdin.end();
    expect(await bridge.exit).toBe(0);
    expect(await bridge.frames(3)).toMatchObject([
      { id: "init" },
      { id: expect.anything(), result: { late: true } },
      { id: expect.anything(), result: { late: true } },
    ]);
    expect(bridge.server.methods()).toEqual(["initialize", "retrieve", "retrieve", "shutdown"]);
  });

  test("answers shutdown last, reads nothing after it and exits though its input stays open", async () => {
    const bridge = await start(echo());
    bridge.write(INITIALIZE + line(1, "retrieve") + line(2, "shutdown") + line(3, "retrieve"));
    expect(await bridge.exit).toBe(0);
    const frames = (await bridge.frames(3)) as { id: unknown }[];
    expect(frames.map(({ id }) => id)).toEqual(["init", 1, 2]);
    expect(bridge.server.methods()).toEqual(["initialize", "retrieve", "shutdown"]);
  });

  test("answers what is no JSON, no UTF-8 or too long with an id of null, and reads on", async () => {
    const bridge = await start(echo());
    bridge.write("nonsense\n");
    bridge.write(Buffer.from([0x22, 0xff, 0x22, 0x0a]));
    bridge.write(`"${"x".repeat(17 * 1024 * 1024)}"\n`);
    bridge.write(line("after", "ping"));
    const frames = await bridge.frames(4);
    expect(frames).toContainEqual({ jsonrpc: "2.0", id: "after", result: { method: "ping" } });
    expect(frames.slice(0, 3)).toMatchObject([
      { id: null, error: { code: -32700 } },
      { id: null, error: { code: -32700 } },
      { id: null, error: { code: -32013 } },
    ]);
  });

  test("answers an array with one line", async () => {
    const bridge = await start(echo());
    bridge.write(`[${line(1, "ping").trim()},${line("b", "retrieve").trim()}]\n`);
    expect(await bridge.frames(1)).toMatchObject([
      [
        { id: 1, result: {} },
        { id: "b", error: { code: -32001 } },
      ],
    ]);
  });

  test("§9 writes progress before the answer", async () => {
    const progress = { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 1, progress: 0.5 } };
    const bridge = await start(
      withSessions(async (call, response) => {
        startStream(response)(`:\n\n${event(progress)}`);
        await pause(100);
        response.end(event({ jsonrpc: "2.0", id: call.body.id, result: { hits: [] } }));
      }),
    );
    bridge.write(INITIALIZE + line("r", "retrieve", { _meta: { progressToken: 1 } }));
    expect((await bridge.frames(3)).slice(1)).toEqual([progress, { jsonrpc: "2.0", id: "r", result: { hits: [] } }]);
  });

  test("§7.14 passes a cancel on and answers -32006", async () => {
    const bridge = await start(
      withSessions((call, response) => {
        if (call.body.method === "notifications/cancel") response.writeHead(204).end();
      }),
    );
    bridge.write(INITIALIZE + line("r", "retrieve"));
    await expect.poll(() => bridge.server.methods()).toContain("retrieve");
    bridge.write('{"jsonrpc":"2.0","method":"notifications/cancel","params":{"id":"r"}}\n');
    expect((await bridge.frames(2))[1]).toMatchObject({ id: "r", error: { code: -32006 } });
    await expect.poll(() => bridge.server.calls.at(-1)?.body.params.id).toBe(bridge.server.calls[1]?.body.id);
  });

  test("ends quietly when nobody reads its output any more", async () => {
    const bridge = await start(echo());
    bridge.write(INITIALIZE);
    await bridge.frames(1);
    bridge.child.stdout.destroy();
    bridge.write(line(1, "retrieve"));
    expect(await bridge.exit).toBe(0);
    expect(bridge.stderr()).toBe("");
  });

  test("answers -32010 for a dead server, and exits 0 at EOF all the same", async () => {
    const bridge = await start(() => {});
    await bridge.server.close();
    bridge.write(line(1, "ping"));
    expect(await bridge.frames(1)).toMatchObject([{ id: 1, error: { code: -32010, data: { retryable: true } } }]);
    bridge.child.stdin.end();
    expect(await bridge.exit).toBe(0);
    expect(bridge.stderr()).toBe("pgrcp connect: no answer from the server: connection refused\n");
  });

  test("§13.2 exits with 3 when the server's capabilities have changed", async () => {
    let opened = 0;
    const bridge = await start((call, response) => {
      if (call.body.method !== "initialize") return sendError(call, response, -32001);
      opened += 1;
      sendResult(call, response, { ...INITIALIZED, capabilities: { n: opened }, _meta: { session: `s${opened}` } });
    });
    bridge.write(INITIALIZE + line(1, "retrieve"));
    expect(await bridge.exit).toBe(3);
    expect((await bridge.frames(2))[1]).toMatchObject({ id: 1, error: { code: -32010, data: { retryable: false } } });
    expect(bridge.stderr()).toContain("no longer those that the client was told");
  });

  test("a signal ends it soon, with an answer to what still runs", async () => {
    const bridge = await start(withSessions(() => {}));
    bridge.write(INITIALIZE + line(1, "retrieve"));
    await expect.poll(() => bridge.server.methods()).toContain("retrieve");
    const startedAt = performance.now();
    bridge.child.kill("SIGTERM");
    expect(await bridge.exit).toBe(0);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    expect((await bridge.frames(2))[1]).toMatchObject({ id: 1, error: { code: -32014 } });
    expect(bridge.server.methods().at(-1)).toBe("shutdown");
  });
});

test("§15.1 connect needs nothing of its launcher but a URL and a token: no variable, and it leaves its folder empty", async () => {
  const cwd = path.join(folder, "empty");
  mkdirSync(cwd);
  const bridge = await start(echo(), ["--token-file", tokenFile], {}, { cwd, env: {} });
  bridge.write(INITIALIZE + line(1, "retrieve"));
  expect((await bridge.frames(2))[1]).toMatchObject({ id: 1, result: { method: "retrieve" } });
  bridge.child.stdin.end();
  expect(await bridge.exit).toBe(0);
  expect(bridge.stderr()).toBe("");
  expect(readdirSync(cwd)).toEqual([]);
});

describe("the token of connect", () => {
  const tokens = (server: FakeServer) => server.calls.map(({ headers }) => headers.authorization);

  test("is read anew when its file changes, and kept while the file is gone or holds none", async () => {
    const file = path.join(folder, "changing");
    writeFileSync(file, "token-one");
    const bridge = await start(echo(), ["--token-file", file]);
    const ping = async (n: number) => {
      bridge.write(line(n, "ping"));
      await bridge.frames(n);
    };
    await ping(1);
    writeFileSync(file, "token-two\n");
    await ping(2);
    writeFileSync(file, "");
    await ping(3);
    rmSync(file);
    await ping(4);
    writeFileSync(file, "token-three");
    await ping(5);
    expect(tokens(bridge.server)).toEqual(
      ["one", "two", "two", "two", "three"].map((token) => `Bearer token-${token}`),
    );
    expect(bridge.stderr()).toContain("the last token stays in use");
    expect(bridge.stdout() + bridge.stderr()).not.toMatch(/token-/);
  });

  test("comes from the environment when no file is named", async () => {
    for (const env of [{ RCP_TOKEN: "first-token" }, { RCP_TOKEN_FILE: tokenFile }]) {
      const bridge = await start(echo(), [], env);
      bridge.write(line(1, "ping"));
      await bridge.frames(1);
      expect(tokens(bridge.server)).toEqual(["Bearer first-token"]);
    }
  });

  test("that is refused is -32012, and the next one may be right", async () => {
    const file = path.join(folder, "expired");
    writeFileSync(file, "old");
    const bridge = await start(
      (call, response) =>
        call.headers.authorization === "Bearer old" ? sendText(response, 401, "") : sendResult(call, response, {}),
      ["--token-file", file],
    );
    bridge.write(line("a", "ping"));
    expect(await bridge.frames(1)).toMatchObject([{ id: "a", error: { code: -32012 } }]);
    writeFileSync(file, "new");
    bridge.write(line("b", "ping"));
    expect((await bridge.frames(2))[1]).toMatchObject({ id: "b", result: {} });
  });
});

describe("connect --listen", () => {
  async function listen(answer: Answer) {
    const bridge = await start(answer, ["--token-file", tokenFile, "--listen", "127.0.0.1:0"]);
    const url = () => /http:\/\/127\.0\.0\.1:(\d+)\/rcp/.exec(bridge.stderr());
    await expect.poll(url).not.toBeNull();
    const port = Number(url()?.[1]);
    const post = async (text: string, method: string) => {
      const headers = [["content-type", "application/json"]] as const;
      return JSON.parse((await sendRequest(port, { path: `/rcp/${method}`, headers, body: text })).text);
    };
    return { ...bridge, port, post };
  }

  test("serves http on loopback, writes nothing to standard output and ends after shutdown", async () => {
    const bridge = await listen(echo());
    expect(await bridge.post(INITIALIZE, "initialize")).toMatchObject({ id: "init", result: { protocolVersion: 1 } });
    expect(await bridge.post(line(1, "retrieve"), "retrieve")).toMatchObject({ id: 1, result: { method: "retrieve" } });
    expect(await bridge.post(line(2, "shutdown"), "shutdown")).toMatchObject({ id: 2, result: {} });
    expect(await bridge.exit).toBe(0);
    expect(bridge.stdout()).toBe("");
    expect(bridge.server.calls.map(({ headers }) => headers["rcp-session"])).toEqual([undefined, "s1", "s1"]);
  });

  test("is bound to that address alone", async () => {
    const { port } = await listen(echo());
    const connects = await new Promise<boolean>((resolve) => {
      const socket = net.connect(port, "127.0.0.2");
      socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    });
    expect(connects).toBe(false);
  });

  test("ends at a signal, with its session", async () => {
    const bridge = await listen(echo());
    await bridge.post(INITIALIZE, "initialize");
    bridge.child.kill("SIGTERM");
    expect(await bridge.exit).toBe(0);
    expect(bridge.server.methods()).toEqual(["initialize", "shutdown"]);
  });

  test("says so when the port is taken", async () => {
    const { port, server } = await listen(echo());
    const { code, stderr } = await runCli(
      ["connect", "--url", server.base.href, "--listen", `127.0.0.1:${port}`],
      folder,
    );
    expect(code).toBe(6);
    expect(stderr).toContain("EADDRINUSE");
  });
});

describe("connect refuses, with exit code 2,", () => {
  const refuse = async (...args: string[]) => {
    const { code, stdout, stderr } = await runCli(["connect", ...args], folder);
    expect(stdout).toBe("");
    expect(code).toBe(2);
    return stderr;
  };
  const url = ["--url", "https://127.0.0.1:1/rcp"];

  test.each(["0.0.0.0:80", "[::]:80", "10.0.0.1:80", "localhost:80", "example.org:80", "8080", "127.0.0.1:70000"])(
    "to listen on %s",
    async (address) => {
      expect(await refuse(...url, "--listen", address)).toContain("only this machine can reach");
    },
  );

  test("a URL over which the token could be read, and one that is none", async () => {
    expect(await refuse("--url", "http://rcp.example.org/rcp")).toContain("must begin with https://");
    expect(await refuse("--url", "https://rcp.example.org/other")).toContain("must end in /rcp");
  });

  test("a token or certificate file of no use", async () => {
    expect(await refuse(...url, "--token-file", "none")).toContain("cannot be read");
    expect(await refuse(...url, "--ca-file", "none")).toContain("cannot be read");
    expect(await refuse(...url, "--ca-file", tokenFile)).toContain("holds no certificate");
  });
});
