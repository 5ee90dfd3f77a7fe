import { isObject, type Params } from "../protocol/params.ts";
import { type Client, INITIALIZE, type Seen } from "./client.ts";
import { HttpClient } from "./http-client.ts";
import { HttpEndpoint } from "./http-endpoint.ts";
import { ensure, need, show } from "./outcome.ts";
import { StdioClient } from "./stdio-client.ts";
import { StdioProcess } from "./stdio-process.ts";
import { TestCorpus } from "./test-corpus.ts";

export type Credential = "read" | "add" | "delete";

/** How to reach a server. */
export type Target =
  | { readonly kind: "stdio"; readonly command: readonly string[] }
  | {
      readonly kind: "http";
      /** The base that method names are appended to. */
      readonly url: string;
      /** PEM of the authority that signed the server's certificate. */
      readonly ca?: string;
      /** Bearer tokens; none for a server that asks for none. */
      readonly tokens?: Readonly<Partial<Record<Credential, string>>>;
    };

export interface ServerOptions {
  /** How long one answer may take. */
  readonly timeoutMs: number;
}

/** The server that the checks are run against, whatever carries the messages. */
export class ServerUnderTest {
  readonly target: Target;
  readonly seen: Seen = { errorCodes: new Set(), notifications: [], nulls: new Set() };
  /** What processes wrote to standard output beside frames, and to standard error. */
  readonly strays: string[] = [];
  readonly stderr: string[] = [];
  readonly corpus: TestCorpus;
  readonly #timeoutMs: number;
  readonly #shared = new Map<Credential, Promise<Client>>();
  readonly #opened = new Set<Client>();

  constructor(target: Target, { timeoutMs }: ServerOptions) {
    this.target = target;
    this.#timeoutMs = timeoutMs;
    this.corpus = new TestCorpus(this);
  }

  get kind(): Target["kind"] {
    return this.target.kind;
  }

  /** A client that has not initialized: a new process over stdio. It is closed when the check ends. */
  open(credential: Credential = "read"): Client {
    const client = this.#newClient(credential);
    this.#opened.add(client);
    return client;
  }

  /** `open` as the process that it starts. @throws Skipped over HTTP */
  openProcess(): StdioClient {
    const client = this.open();
    need(client instanceof StdioClient, "stdio only");
    return client;
  }

  /** `open` with its headers and its endpoint. @param token instead of the credential's; null = none @throws Skipped over stdio */
  openHttp(token?: string | null): HttpClient {
    const { target } = this;
    need(target.kind === "http", "HTTP only");
    const client = new HttpClient(
      this.#endpoint(target),
      token === undefined ? target.tokens?.read : (token ?? undefined),
      this.seen,
    );
    this.#opened.add(client);
    return client;
  }

  /** A client of its own that has initialized. */
  async session(credential: Credential = "read", params: Params = INITIALIZE): Promise<Client> {
    const client = this.open(credential);
    await handshake(client, params);
    return client;
  }

  /**
   * The client that checks share when they leave it as it was. Over stdio it is one for all credentials: a process may keep its corpus
   * to itself.
   */
  shared(credential: Credential = "read"): Promise<Client> {
    const key = this.kind === "stdio" ? "read" : credential;
    const known = this.#shared.get(key);
    if (known !== undefined) return known;
    const client = this.#newClient(key);
    const opening = handshake(client, INITIALIZE).then(
      () => client,
      async (error: unknown) => {
        await this.#close(client);
        throw error;
      },
    );
    this.#shared.set(key, opening);
    return opening;
  }

  /** What the server advertises to a reader. */
  async capabilities(): Promise<Params> {
    const { capabilities } = await this.identity();
    return isObject(capabilities) ? capabilities : {};
  }

  /** The result of the shared client's `initialize`, or of `info` where that was refused. */
  async identity(): Promise<Params> {
    const client = await this.shared();
    return client.initialized ?? (await client.result("info"));
  }

  /** @returns the capability's value @throws Skipped when it is not advertised */
  async capability(key: string): Promise<Params> {
    const capabilities = await this.capabilities();
    need(Object.hasOwn(capabilities, key), `${key} is not advertised`);
    const value = capabilities[key];
    return isObject(value) ? value : {};
  }

  /** Ends what the last check opened. */
  async closeOpened(): Promise<void> {
    const clients = [...this.#opened];
    this.#opened.clear();
    await Promise.all(clients.map((client) => this.#close(client)));
  }

  /** Takes its documents away and ends everything. */
  async close(): Promise<void> {
    await this.corpus.cleanUp();
    await this.closeOpened();
    const shared = await Promise.allSettled(this.#shared.values());
    await Promise.all(shared.map((one) => (one.status === "fulfilled" ? this.#close(one.value) : undefined)));
  }

  #newClient(credential: Credential): Client {
    const { target } = this;
    if (target.kind === "stdio") return new StdioClient(new StdioProcess(target.command, this.#timeoutMs), this.seen);
    return new HttpClient(this.#endpoint(target), target.tokens?.[credential], this.seen);
  }

  #endpoint({ url, ca }: Extract<Target, { kind: "http" }>): HttpEndpoint {
    return new HttpEndpoint(new URL(url.replace(/\/+$/, "")), this.#timeoutMs, ca);
  }

  async #close(client: Client): Promise<void> {
    await client.close();
    if (!(client instanceof StdioClient)) return;
    this.strays.push(...client.process.strays);
    this.stderr.push(client.process.stderr);
  }
}

/** An HTTP server with one lifecycle for all its callers refuses the second; the other rules can still be tried on it. */
async function handshake(client: Client, params: Params): Promise<void> {
  const { error } = await client.initialize(params);
  const isShared = client.kind === "http" && isObject(error) && error.code === -32600;
  ensure(client.initialized !== undefined || isShared, `initialize was refused: ${show(error)}`);
}
