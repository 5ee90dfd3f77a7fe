import { type ExecFileException, execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { request } from "node:https";
import { createServer } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const READY_WITHIN_MS = 120_000;

export type Credential = "read" | "add" | "delete";

/** A docker compose project of its own: other ports, networks and volumes than one that may be running here. */
export class ComposeStack {
  readonly #project = `pgrcp-test-${randomBytes(4).toString("hex")}`;
  readonly #environment: NodeJS.ProcessEnv;
  #files: readonly string[] = ["docker-compose.yml"];
  readonly serverPort: number;
  readonly tlsPort: number;

  constructor(ports: { server: number; http: number; tls: number }) {
    this.serverPort = ports.server;
    this.tlsPort = ports.tls;
    this.#environment = {
      ...process.env,
      RCP_PORT: String(ports.server),
      RCP_HTTP_PORT: String(ports.http),
      RCP_HTTPS_PORT: String(ports.tls),
    };
  }

  /** From the next `up` on, the stack runs with the settings of this file, too. */
  override(file: string): void {
    this.#files = [...this.#files, file];
  }

  /** @returns standard output */
  compose(...args: readonly string[]): Promise<string> {
    return this.#compose(args);
  }

  #compose(args: readonly string[], input?: string): Promise<string> {
    const files = this.#files.flatMap((file) => ["--file", file]);
    const project = ["--project-name", this.#project, ...files, "--profile", "tls"];
    return run(["compose", ...project, ...args], this.#environment, input);
  }

  /** `docker build`, because `docker compose build` needs BuildKit, which not every engine has. */
  build(): Promise<string> {
    return run(["build", "--quiet", "--tag", "pgrcp:local", "."], this.#environment);
  }

  /** Starts everything and waits until the server is ready. */
  async up(): Promise<void> {
    await this.compose("up", "--detach");
    const deadline = Date.now() + READY_WITHIN_MS;
    while (!(await this.#isReady())) {
      if (Date.now() > deadline) throw new Error(`not ready in time:\n${await this.compose("logs", "server")}`);
      await sleep(500);
    }
  }

  async #isReady(): Promise<boolean> {
    return fetch(`http://127.0.0.1:${this.serverPort}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  }

  async token(credential: Credential, tenant = "demo"): Promise<string> {
    const args = ["--tenant", tenant, "--credential", credential, "--subject", "compose-test"];
    return (await this.compose("run", "--rm", "-T", "token", ...args)).trim();
  }

  /** What the engine says about a service's container. */
  async inspect(service: string): Promise<ContainerFacts> {
    const id = (await this.compose("ps", "--all", "--quiet", service)).trim();
    const [facts] = JSON.parse(await run(["inspect", id], this.#environment)) as [ContainerFacts];
    return facts;
  }

  /** What psql prints of a script, as the superuser: values alone, one row a line. */
  psql(script: string): Promise<string> {
    const psql = ["psql", "-qAtX", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-d", "pgrcp"];
    return this.#compose(["exec", "-T", "database", ...psql], script);
  }

  /** The certificate of the ingress's own authority. */
  authority(): Promise<string> {
    return this.compose("exec", "-T", "caddy", "cat", "/data/caddy/pki/authorities/local/root.crt");
  }
}

export interface ContainerFacts {
  readonly Config: {
    readonly User: string;
    readonly Env: readonly string[];
    readonly Healthcheck?: { readonly Test: readonly string[] };
  };
  readonly State: { readonly ExitCode: number };
  readonly HostConfig: {
    readonly ReadonlyRootfs: boolean;
    /** A port that is exposed but not published may stand here with null. */
    readonly PortBindings: Readonly<Record<string, readonly { readonly HostIp: string }[] | null>> | null;
  };
  readonly Mounts: readonly { readonly Destination: string; readonly RW: boolean }[];
}

/** The addresses of this machine that lead to the container. */
export function publishedOn({ HostConfig }: ContainerFacts): string[] {
  return Object.values(HostConfig.PortBindings ?? {}).flatMap((bindings) =>
    (bindings ?? []).map(({ HostIp }) => HostIp),
  );
}

/** Calls a method through the TLS ingress, which must show a certificate for localhost that the authority has signed. */
export async function callOverTls(
  stack: ComposeStack,
  { authority, token, method, params }: { authority: string; token: string; method: string; params: object },
): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  return await new Promise((resolve, reject) => {
    const call = request(`https://localhost:${stack.tlsPort}/rcp/${method}`, {
      method: "POST",
      ca: authority,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    });
    call.on("error", reject);
    call.on("response", (response) => text(response).then((answer) => resolve(JSON.parse(answer)), reject));
    call.end(body);
  });
}

/** Ports that were free a moment ago. */
export async function freePorts(): Promise<{ server: number; http: number; tls: number }> {
  const listeners = [createServer(), createServer(), createServer()];
  const [server = 0, http = 0, tls = 0] = await Promise.all(
    listeners.map(
      (listener) =>
        new Promise<number>((resolve) => {
          listener.listen(0, "127.0.0.1", () => {
            const address = listener.address();
            resolve(typeof address === "object" && address !== null ? address.port : 0);
          });
        }),
    ),
  );
  await Promise.all(listeners.map((listener) => new Promise((resolve) => listener.close(resolve))));
  return { server, http, tls };
}

function run(args: readonly string[], env: NodeJS.ProcessEnv, input?: string): Promise<string> {
  const options = { cwd: ROOT, env, maxBuffer: 64 * 1024 * 1024 };
  return new Promise((resolve, reject) => {
    const child = execFile("docker", args, options, (error: ExecFileException | null, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else
        reject(new Error(`docker ${args.join(" ")} ended with ${error.code}:\n${stdout}${stderr}`, { cause: error }));
    });
    child.stdin?.end(input);
  });
}
