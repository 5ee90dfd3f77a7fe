import { chmod, lstat, unlink } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join, relative, resolve } from "node:path";
import type { Config } from "../config/config.ts";
import type { OperatorDatabase } from "../db/database.ts";
import { runningModel } from "../maintenance/configured-model.ts";
import { utf8Bytes } from "../protocol/text.ts";
import { CommandFailure, ExitCode, toFailure } from "./exit.ts";
import { readLines } from "./lines.ts";
import { type OperatorContext, type OperatorRows, runOperatorCommand } from "./operator-commands.ts";
import { databaseFailure } from "./operator-failure.ts";

/**
 * The embedded database can be opened by one process only, so operator commands reach the running server through a socket that only
 * its owner may open. One request for each connection: a line `{"command", "args"}`, answered by lines `{"row"}` and a last line
 * `{"done": true, "exitCode"}`, with `"error"` when the exit code is not 0.
 */

const MAX_REQUEST_BYTES = 65_536;
const REQUEST_TIMEOUT_MS = 10_000;
const MAX_CONNECTIONS = 16;
/** What the kernel takes as the name of a socket, on Linux 107 bytes and on macOS 103. */
const MAX_PATH_BYTES = 103;

/** Where the socket of a data directory lies, in the shortest spelling. */
export function controlSocketPath({ database }: Config): string {
  const path = resolve(database.embeddedDir, "control.sock");
  const fromHere = join(".", relative(process.cwd(), path));
  return utf8Bytes(path) > MAX_PATH_BYTES ? fromHere : path;
}

export interface ControlSocket {
  readonly path: string;
  /** Ends the connections that are open and removes the socket. */
  close(): Promise<void>;
}

/**
 * Answers operator commands with the server's own database.
 *
 * @throws CommandFailure when another server answers at the same place, or the path is too long for a socket
 */
export async function startControlSocket(
  config: Config,
  database: OperatorDatabase,
  { embedding }: { readonly embedding: Parameters<typeof runningModel>[0] },
): Promise<ControlSocket> {
  const path = controlSocketPath(config);
  const context: OperatorContext = { database, config, withModel: runningModel(embedding) };
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => open.delete(socket));
    answer(socket, context).catch(() => socket.destroy());
  });
  server.maxConnections = MAX_CONNECTIONS;
  await listen(server, path);
  await chmod(path, 0o600);
  return {
    path,
    async close() {
      const closed = new Promise((done) => server.close(done));
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}

async function listen(server: Server, path: string): Promise<void> {
  if (utf8Bytes(path) > MAX_PATH_BYTES) {
    const message = `the path of the control socket is longer than ${MAX_PATH_BYTES} bytes`;
    throw new CommandFailure(ExitCode.usage, message, "choose a shorter database.embeddedDir");
  }
  if ((await tryListen(server, path)) === "listening") return;
  if (!(await isStale(path)) || (await unlinkAndListen(server, path)) !== "listening") {
    const remedy = "stop it, or choose another database.embeddedDir";
    throw new CommandFailure(ExitCode.database, `another server answers at ${path}`, remedy);
  }
}

async function unlinkAndListen(server: Server, path: string): Promise<"listening" | "taken"> {
  await unlink(path);
  return await tryListen(server, path);
}

function tryListen(server: Server, path: string): Promise<"listening" | "taken"> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => (error.code === "EADDRINUSE" ? resolve("taken") : reject(error));
    server.once("error", onError);
    // The socket is made within this call: nobody else may open it, not even before its mode is set.
    const before = process.umask(0o177);
    server.listen(path, () => {
      server.off("error", onError);
      resolve("listening");
    });
    process.umask(before);
  });
}

/** A socket file that nobody answers at was left by a server that was killed. */
async function isStale(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined) return true;
  if (!found.isSocket()) return false;
  const socket = await open(path);
  if (socket instanceof CommandFailure) return false;
  socket?.destroy();
  return socket === undefined;
}

/** Reads the request, runs it and writes what comes. Never throws for what a client sends or does. */
async function answer(socket: Socket, context: OperatorContext): Promise<void> {
  socket.setTimeout(REQUEST_TIMEOUT_MS, () => socket.destroy());
  const request = await readRequest(socket);
  if (socket.destroyed) return;
  socket.setTimeout(0);
  let last: object = { done: true, exitCode: ExitCode.ok };
  try {
    if (request instanceof CommandFailure) throw request;
    for await (const row of runOperatorCommand(context, request.command, request.args)) {
      if (!(await writeLine(socket, { row }))) return; // the client has gone
    }
  } catch (error) {
    const { exitCode, message, remedy } = toFailure(databaseFailure(error));
    last = { done: true, exitCode, error: { message, remedy } };
  }
  await writeLine(socket, last);
  socket.end();
}

interface OperatorRequest {
  readonly command: string;
  readonly args: unknown;
}

async function readRequest(socket: Socket): Promise<OperatorRequest | CommandFailure> {
  const bad = new CommandFailure(
    ExitCode.usage,
    "a request is one line of JSON with command and args",
    "use pgrcp itself",
  );
  for await (const { bytes } of readLines(pieces(socket), MAX_REQUEST_BYTES)) {
    if (bytes === undefined) return bad;
    const request = parseLine(bytes);
    return typeof request?.command === "string" ? { command: request.command, args: request.args } : bad;
  }
  return bad;
}

/** The bytes of a socket, which stays open when the reader has enough. Ends early where no line could be so long. */
async function* pieces(socket: Socket): AsyncIterable<Uint8Array> {
  let bytes = 0;
  for await (const piece of socket.iterator({ destroyOnReturn: false })) {
    yield piece as Uint8Array;
    bytes += (piece as Uint8Array).length;
    if (bytes > MAX_REQUEST_BYTES) return;
  }
}

function parseLine(bytes: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}

/** False when the connection is gone. Waits while the client is slower than the database. */
async function writeLine(socket: Socket, value: object): Promise<boolean> {
  if (socket.destroyed) return false;
  if (!socket.write(`${JSON.stringify(value)}\n`)) {
    await new Promise<void>((resolve) => {
      const done = () => {
        socket.off("drain", done).off("close", done);
        resolve();
      };
      socket.on("drain", done).on("close", done);
    });
  }
  return !socket.destroyed;
}

/** Undefined when nobody listens; a failure when this user may not ask. */
function open(path: string): Promise<Socket | CommandFailure | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.removeAllListeners("error");
      resolve(socket);
    });
    socket.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" || error.code === "ECONNREFUSED") return resolve(undefined);
      const message = `the control socket ${path} cannot be opened (${error.code ?? "unknown"})`;
      resolve(new CommandFailure(ExitCode.connection, message, "run the command as the user that runs the server"));
    });
  });
}

/**
 * Has the running server carry out an operator command.
 *
 * @returns undefined when no server runs on this data directory
 * @throws CommandFailure, while rows are read, when the command fails or the server goes away
 */
export async function askServer(config: Config, command: string, args: object): Promise<OperatorRows | undefined> {
  const path = controlSocketPath(config);
  if (utf8Bytes(path) > MAX_PATH_BYTES) return undefined;
  const socket = await open(path);
  if (socket instanceof CommandFailure) throw socket;
  return socket && readAnswer(socket, { command, args });
}

async function* readAnswer(socket: Socket, request: OperatorRequest): OperatorRows {
  const gone = new CommandFailure(
    ExitCode.connection,
    "the server ended the connection before it was done",
    "see the server's log, then run the same command again",
  );
  try {
    socket.write(`${JSON.stringify(request)}\n`);
    for await (const { bytes } of readLines(socket, Number.POSITIVE_INFINITY)) {
      const line = bytes && parseLine(bytes);
      if (line?.done === true) return throwFailure(line);
      if (typeof line?.row === "object" && line.row !== null) yield line.row;
    }
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure(gone.exitCode, gone.message, gone.remedy, { cause: error });
  } finally {
    socket.destroy();
  }
  throw gone;
}

function throwFailure({ exitCode, error }: Readonly<Record<string, unknown>>): void {
  if (exitCode === ExitCode.ok) return;
  const { message, remedy } = (error ?? {}) as { readonly message?: unknown; readonly remedy?: unknown };
  const code = Object.values(ExitCode).find((known) => known === exitCode) ?? ExitCode.failure;
  throw new CommandFailure(code, String(message), typeof remedy === "string" ? remedy : undefined);
}
