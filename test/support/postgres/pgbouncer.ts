import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

const LOGINS = ["pgrcp_reader", "pgrcp_adder", "pgrcp_deleter", "pgrcp_state", "pgrcp_operator"];

export interface Pooler {
  /** The same database as the URL that was given, through the pooler. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Starts pgbouncer in transaction mode before a cluster: a connection is a client's for one transaction, then another's.
 *
 * @param url a superuser's, over TCP
 * @param password of every login of the server
 */
export async function startPgbouncer(url: string, password: string): Promise<Pooler> {
  const target = new URL(url);
  const folder = await mkdtemp(path.join(tmpdir(), "pgrcp-pgbouncer-"));
  const port = await freePort();
  const users = [[target.username, target.password], ...LOGINS.map((login) => [login, password])];
  await writeFile(
    path.join(folder, "users.txt"),
    users.map((user) => user.map((each) => `"${each}"`).join(" ")).join("\n"),
  );
  await writeFile(
    path.join(folder, "pgbouncer.ini"),
    `[databases]
* = host=${target.hostname} port=${target.port || 5432}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${folder}/users.txt
pool_mode = transaction
default_pool_size = 20
max_client_conn = 1000
log_connections = 0
log_disconnections = 0
`,
  );
  // It refuses to be root, and then becomes somebody else before it reads a file.
  await chmod(folder, 0o755);
  const asUser = process.getuid?.() === 0 ? ["-u", "postgres"] : [];
  const pooler = spawn("pgbouncer", [...asUser, path.join(folder, "pgbouncer.ini")], {
    // Where Debian puts it is not in everybody's path.
    env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = once(pooler, "exit");
  await new Promise<void>((resolve, reject) => {
    let log = "";
    pooler.stderr.on("data", (chunk: Buffer) => {
      log += chunk;
      if (log.includes("process up")) resolve();
    });
    pooler.once("error", reject);
    pooler.once("exit", () => reject(new Error(`pgbouncer has ended: ${log}`)));
  });
  target.host = `127.0.0.1:${port}`;
  return {
    url: target.href,
    async close() {
      pooler.kill("SIGTERM");
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
