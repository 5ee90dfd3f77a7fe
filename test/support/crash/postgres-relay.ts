import net from "node:net";
import type { CommitPoint } from "./deployment.ts";

const TYPE_BYTES = 1;
const LENGTH_BYTES = 4;
const ADDER_START = Buffer.from("user\0pgrcp_adder\0");
const PARSE_COMMIT = Buffer.from("\0commit\0");
const PARSE = "P".charCodeAt(0);
const SYNC = "S".charCodeAt(0);

interface KillOrder {
  readonly point: CommitPoint;
  readonly kill: () => void;
}

/**
 * Stands between a server and Postgres and reads what the server says, so that it knows when a commit of the adder's login is under way.
 *
 * @see PostgreSQL, Frontend/Backend Protocol, Message Formats
 */
export class PostgresRelay {
  readonly port: number;
  readonly #listener: net.Server;
  readonly #sockets = new Set<net.Socket>();
  #order: KillOrder | undefined;

  private constructor(listener: net.Server, upstream: { readonly host: string; readonly port: number }) {
    this.#listener = listener;
    this.port = (listener.address() as net.AddressInfo).port;
    listener.on("connection", (client) => this.#relay(client, net.connect(upstream)));
  }

  static async open(upstream: { readonly host: string; readonly port: number }): Promise<PostgresRelay> {
    const listener = net.createServer();
    await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
    return new PostgresRelay(listener, upstream);
  }

  /** The adder's next commit calls `kill` at this point. */
  killAtCommit(point: CommitPoint, kill: () => void): void {
    this.#order = { point, kill };
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#listener.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #relay(client: net.Socket, database: net.Socket): void {
    for (const [socket, other] of [
      [client, database],
      [database, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#sockets.delete(socket);
        other.end();
      });
    }
    let isAdder = false;
    /** Set while a commit is to kill the server. */
    let order: KillOrder | undefined;
    const onMessage = (message: Buffer, isFirst: boolean) => {
      if (isFirst) isAdder = message.includes(ADDER_START);
      else if (isAdder && message[0] === PARSE && message.includes(PARSE_COMMIT)) {
        order = this.#order;
        this.#order = undefined;
        if (order?.point === "before") order.kill();
      }
      if (order?.point === "before") return;
      database.write(message);
      if (order?.point === "midway" && message[0] === SYNC) order.kill();
    };
    client.on("data", splitMessages(onMessage));
    database.on("data", (bytes) => {
      if (order === undefined) client.write(bytes);
      else if (order.point === "after") order.kill();
    });
  }
}

/** Gives each whole message of a stream to `take`. The first of a connection has no type byte. */
function splitMessages(take: (message: Buffer, isFirst: boolean) => void): (bytes: Buffer) => void {
  let rest = Buffer.alloc(0);
  let isFirst = true;
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    for (;;) {
      const head = isFirst ? 0 : TYPE_BYTES;
      if (rest.length < head + LENGTH_BYTES) return;
      const length = head + rest.readInt32BE(head);
      if (rest.length < length) return;
      const message = rest.subarray(0, length);
      rest = rest.subarray(length);
      take(message, isFirst);
      isFirst = false;
    }
  };
}
