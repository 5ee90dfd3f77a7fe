import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import http from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** A peer's server as a child process, and calls of it. */
export interface PeerProcess {
  /** What it prints as the group of a pattern. */
  printed(pattern: RegExp): Promise<string>;
  /** Resolves when a URL answers. */
  answers(url: string): Promise<void>;
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 60_000;
const POLL_MS = 50;

export async function startPeerProcess(command: string, args: readonly string[]): Promise<PeerProcess> {
  const child = spawn(command, args, {
    // Chroma writes a line for each request otherwise.
    env: { ...process.env, RUST_LOG: "error" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  void ended.then(() => process.off("exit", kill));
  let output = "";
  child.once("error", ({ message }) => {
    output += message;
  });
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output = (output + text).slice(-4_000);
    });
  const until = async <Value>(look: () => Promise<Value | undefined> | Value | undefined): Promise<Value> => {
    for (let waited = 0; waited < START_TIMEOUT_MS && isRunning(child); waited += POLL_MS) {
      const found = await look();
      if (found !== undefined) return found;
      await sleep(POLL_MS);
    }
    throw new Error(`${basename(command)} does not get ready:\n${output}`);
  };
  return {
    printed: (pattern) => until(() => pattern.exec(output)?.[1]),
    answers: (url) =>
      until(() =>
        fetch(url).then(
          ({ ok }) => ok || undefined,
          () => undefined,
        ),
      ).then(() => {}),
    async stop() {
      // None of them has anything to lose, and one that is asked waits for its connections.
      kill();
      await ended;
    },
  };
}

const isRunning = ({ exitCode, signalCode, pid }: ChildProcess): boolean =>
  pid !== undefined && exitCode === null && signalCode === null;

/** For a server that cannot choose one itself. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}

const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });

export const postJson = (url: string, body: object): Promise<unknown> => requestJson("POST", url, body);

/** @throws Error for any answer but a 2xx */
export function requestJson(method: string, url: string, body: object): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const request = http.request(
      url,
      { method, agent, headers: { "content-type": "application/json" } },
      (response) => {
        const pieces: Buffer[] = [];
        response.on("data", (piece: Buffer) => pieces.push(piece));
        response.on("error", reject);
        response.on("end", () => {
          const text = Buffer.concat(pieces).toString("utf8");
          const { statusCode = 0 } = response;
          if (statusCode >= 300) reject(new Error(`${method} ${url} answered ${statusCode}: ${text.slice(0, 200)}`));
          else resolve(text === "" ? undefined : JSON.parse(text));
        });
      },
    );
    request.on("error", reject);
    request.end(JSON.stringify(body));
  });
}
