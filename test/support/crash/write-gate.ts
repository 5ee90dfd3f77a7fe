import http from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { SentDocument } from "./generated-corpus.ts";

/** One `index/add` as it went over the wire. Moments are numbers that only grow. */
export interface Write {
  readonly documents: ReadonlyMap<string, SentDocument>;
  readonly sentAt: number;
  /** When it was answered, or when its connection broke. */
  endedAt: number;
  /** The version that the server acknowledged. Without one it was refused or lost, and nobody knows whether it was written. */
  token: string | undefined;
}

interface Answer {
  readonly status: number;
  readonly body: Buffer;
}

interface AddBody {
  readonly params: {
    readonly documents: readonly {
      readonly id: string;
      readonly text: string;
      readonly meta: { readonly title: string };
    }[];
  };
}

/**
 * Stands between an import and the server, at an address that outlives the server. It passes requests on, keeps a record of every
 * write, and makes requests wait while there is no server. A connection that breaks behind it breaks before it too.
 */
export class WriteGate {
  readonly url: string;
  /** Every write sent so far. */
  readonly writes: Write[] = [];
  readonly #server: http.Server;
  #clock = 0;
  #inFlight = new Set<Promise<void>>();
  #upstream = Promise.withResolvers<URL>();
  #onWrite: () => void = () => {};

  private constructor(server: http.Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/rcp`;
    server.on("request", (request, response) => {
      // An import that is killed may leave half a request.
      this.#pass(request, response).catch(() => response.destroy());
    });
  }

  static async open(): Promise<WriteGate> {
    const server = http.createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new WriteGate(server);
  }

  /** Lets requests through to this server, first those that wait. */
  openTo(url: string): void {
    this.#upstream.resolve(new URL(url));
  }

  /** Makes later requests wait. Resolves when those on their way have ended. */
  async hold(): Promise<void> {
    this.#upstream = Promise.withResolvers();
    await Promise.all(this.#inFlight);
  }

  /** Resolves when so many more writes have been sent. */
  moreWrites(count: number): Promise<void> {
    const enough = this.writes.length + count;
    return new Promise((resolve) => {
      this.#onWrite = () => {
        if (this.writes.length >= enough) resolve();
      };
    });
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #pass(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const body = await buffer(request);
    const upstream = await this.#upstream.promise;
    // The import was killed while its request waited here.
    if (response.destroyed) return;
    const done = this.#exchange(request, body, upstream, response);
    this.#inFlight.add(done);
    await done.finally(() => this.#inFlight.delete(done));
  }

  async #exchange(
    request: http.IncomingMessage,
    body: Buffer,
    upstream: URL,
    response: http.ServerResponse,
  ): Promise<void> {
    const write = request.url?.endsWith("/index/add") ? this.#record(body) : undefined;
    try {
      const { status, body: answer } = await send(request, body, upstream);
      if (write !== undefined) write.token = tokenIn(answer);
      response.writeHead(status, { "content-type": "application/json" }).end(answer);
    } catch {
      response.destroy();
    } finally {
      if (write !== undefined) write.endedAt = ++this.#clock;
    }
  }

  #record(body: Buffer): Write {
    const { params } = JSON.parse(body.toString("utf8")) as AddBody;
    const documents = new Map(
      params.documents.map(({ id, text, meta }) => [id, { id, text, title: meta.title }] as const),
    );
    const write: Write = { documents, sentAt: ++this.#clock, endedAt: Number.POSITIVE_INFINITY, token: undefined };
    this.writes.push(write);
    this.#onWrite();
    return write;
  }
}

function send(request: http.IncomingMessage, body: Buffer, { hostname, port }: URL): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { method, url: path, headers } = request;
    const sent = http.request(
      { hostname, port, method, path, headers: { ...headers, connection: "close" } },
      (response) => {
        buffer(response).then((answer) => resolve({ status: response.statusCode ?? 0, body: answer }), reject);
      },
    );
    sent.on("error", reject);
    sent.end(body);
  });
}

function tokenIn(answer: Buffer): string | undefined {
  const { result } = JSON.parse(answer.toString("utf8")) as {
    readonly result?: { readonly _meta: { readonly indexVersion: string } };
  };
  return result?._meta.indexVersion;
}
