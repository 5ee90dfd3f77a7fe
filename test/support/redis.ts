import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import net, { type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

/** `PGRCP_TEST_REDIS`, or what stands on the path; undefined where there is none. */
export const REDIS_SERVER: string | undefined = [process.env.PGRCP_TEST_REDIS ?? "redis-server"].find(
  (binary) => spawnSync(binary, ["--version"]).status === 0,
);

/** A redis-server of the test's own on a free port, which can be frozen, stopped and started again. */
export class TestRedis {
  readonly port: number;
  readonly #folder: string;
  readonly #options: readonly string[];
  #process: ChildProcess | undefined;

  private constructor(port: number, folder: string, options: readonly string[]) {
    this.port = port;
    this.#folder = folder;
    this.#options = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder, ...options];
  }

  /** @param options settings beside its own, as redis-server's command line has them */
  static async start(options: readonly string[] = []): Promise<TestRedis> {
    const redis = new TestRedis(await freePort(), await mkdtemp(path.join(tmpdir(), "pgrcp-redis-")), options);
    await redis.restart();
    return redis;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}/0`;
  }

  async restart(): Promise<void> {
    this.#process = spawn(REDIS_SERVER ?? "redis-server", this.#options, { stdio: "ignore" });
    while (!(await this.command("PING")).startsWith("+PONG")) {
      if (this.#process.exitCode !== null) throw new Error("redis-server does not start with these options");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  signal(name: NodeJS.Signals): void {
    this.#process?.kill(name);
  }

  async stop(): Promise<void> {
    const process = this.#process;
    this.#process = undefined;
    if (process === undefined) return;
    const ended = once(process, "exit");
    process.kill("SIGKILL");
    await ended;
  }

  async close(): Promise<void> {
    await this.stop();
    await rm(this.#folder, { recursive: true });
  }

  /** The raw answer to an inline command; empty when nobody answers. */
  command(text: string): Promise<string> {
    return new Promise((resolve) => {
      const socket = net.connect(this.port, "127.0.0.1", () => socket.write(`${text}\r\nQUIT\r\n`));
      let answer = "";
      socket.on("data", (bytes) => (answer += bytes)).on("error", () => {});
      socket.on("close", () => resolve(answer));
    });
  }
}

/** One that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
