import { readFileSync } from "node:fs";
import net from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import { countEntries } from "../support/count-entries.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { sendBytes } from "../support/raw-http.ts";
import { type RcpServer, type RpcAnswer, startRcpServer } from "../support/rcp-server.ts";
import { expectAlive, expectStanding } from "../support/standing-assertions.ts";

interface Entry {
  readonly id: string;
  readonly tag: string;
  readonly request?: {
    readonly method: string;
    readonly path: string;
    readonly auth: boolean;
    readonly headers: readonly (readonly [string, string])[];
    readonly body?: string;
    readonly bodyBase64?: string;
  };
  readonly rawRequest?: string;
  readonly expect: {
    readonly http?: number;
    readonly httpAnyOf?: readonly number[];
    readonly code?: number;
    readonly responseId?: null;
    readonly headers?: Readonly<Record<string, string>>;
    readonly absent?: readonly string[];
    readonly allow?: string;
    readonly contentType?: string;
    readonly closes?: boolean;
    readonly sequence?: readonly { readonly http: number; readonly code: number }[];
    /** In prose: what else must be true of the answer, in time, or of the server after it. */
    readonly check?: string;
    readonly timeout?: string;
    readonly afterwards?: string;
  };
  readonly note?: string;
}

const file = new URL("../vectors/data/http.json", import.meta.url);
const { entries, fixture }: { entries: readonly Entry[]; fixture: { corsOrigins: readonly string[] } } = JSON.parse(
  readFileSync(file, "utf8"),
);

/** Entries whose bytes have to be made while they are sent; each has a test of its own below. */
const SENT_BY_HAND = new Set(["HTTP-085", "HTTP-087", "HTTP-089", "HTTP-090"]);

/** What `check` says in prose. */
const CHECKS: Readonly<Record<string, (answer: RpcAnswer) => void>> = {
  "HTTP-091": ({ headers, text }) => {
    expect(headers["content-type"]).toBe("text/event-stream");
    const events = text.split("\n\n");
    expect(events.pop()).toBe("");
    for (const event of events) expect(event).toMatch(/^data: \{.*\}$/);
    const frames = events.map((event) => JSON.parse(event.slice("data: ".length)));
    expect(frames.at(-1)).toMatchObject({ id: 1, result: { hits: [] } });
    for (const { params } of frames.slice(0, -1)) expect(params.progressToken).toBe("t\ndata: evil");
  },
  "HTTP-093": (answer) => {
    expectBuffered(answer);
    expect(answer.body).toMatchObject({ jsonrpc: "2.0", id: 1, result: { hits: [] } });
  },
  "HTTP-094": (answer) => {
    expectBuffered(answer);
    expect(answer.body).toEqual([{ jsonrpc: "2.0", id: 1, result: {} }]);
  },
};

const structured = entries.filter(({ request }) => request !== undefined);
const raw = entries.filter(({ id, rawRequest }) => rawRequest !== undefined && !SENT_BY_HAND.has(id));

let database: TestDatabase;
let server: RcpServer;
let good: string;
beforeAll(async () => {
  database = await openTestDatabase();
  server = await startRcpServer({
    handlers: HANDLERS,
    database: database.database,
    corpora: new CachedCorpusStore(database.database),
    config: {
      server: {
        maxBodyBytes: 1_048_576,
        maxHeaderBytes: 16_384,
        receiveTimeoutMs: 1_500,
        headersTimeoutMs: 1_500,
      },
      rateLimit: { enabled: false },
      cors: { origins: fixture.corsOrigins },
    },
  });
  good = await server.token();
});
afterAll(async () => {
  await server.close();
  await database.close();
});
afterEach(() => expectAlive(server, good));
countEntries("http.json", entries);

describe("the shared HTTP vectors", () => {
  test("are 75, and each is sent", () => {
    expect(entries).toHaveLength(75);
    expect(structured.length + raw.length + SENT_BY_HAND.size).toBe(75);
  });

  test("say nothing in prose that is asserted nowhere", () => {
    const inProse = entries.filter(({ expect: { check, timeout, afterwards } }) => check ?? timeout ?? afterwards);
    const asserted = [...Object.keys(CHECKS), ...SENT_BY_HAND];
    expect(inProse.length).toBeGreaterThan(0);
    expect(asserted).toEqual(expect.arrayContaining(inProse.map(({ id }) => id)));
  });

  test.each(structured.map((entry) => [entry.id, entry.note ?? entry.tag, entry] as const))(
    "%s %s",
    async (id, _note, { request, expect: expected }) => {
      if (request === undefined) throw new Error("a structured entry has a request");
      const { method, path, auth, headers, body, bodyBase64 } = request;
      const answer = await server.send({
        method,
        path: path.replace("{{good}}", good),
        headers: [...(auth ? [["Authorization", `Bearer ${good}`] as const] : []), ...headers],
        ...(body !== undefined && { body }),
        ...(bodyBase64 !== undefined && { body: Buffer.from(bodyBase64, "base64") }),
      });

      expect(expected.httpAnyOf ?? [expected.http]).toContain(answer.status);
      expectBody(answer, expected);
      expectStanding(answer.text, { payload: [path, headers.map(([, value]) => value), body], token: good });
      if (expected.allow !== undefined) expect(answer.headers.allow).toBe(expected.allow);
      if (expected.contentType !== undefined) expect(answer.headers["content-type"]).toBe(expected.contentType);
      for (const name of expected.absent ?? []) expect(answer.headers).not.toHaveProperty(name);
      for (const [name, value] of Object.entries(expected.headers ?? {})) expect(answer.headers[name]).toBe(value);
      CHECKS[id]?.(answer);
    },
  );

  test.each(raw.map((entry) => [entry.id, entry.note ?? entry.tag, entry] as const))(
    "%s %s",
    async (_id, _note, { rawRequest = "", expect: expected }) => {
      const answer = await sendBytes(
        server.port,
        fill(rawRequest),
        expected.closes ? "closed" : expected.sequence?.length,
      );

      if (expected.sequence !== undefined) {
        expect(answer.statuses).toEqual(expected.sequence.map((one) => one.http));
        const codes = [...answer.text.matchAll(/"code":(-\d+)|"result"/g)].map((match) => Number(match[1] ?? 0));
        expect(codes).toEqual(expected.sequence.map((one) => one.code));
        return;
      }
      expect(answer.statuses).toHaveLength(1);
      expect(expected.httpAnyOf ?? [expected.http]).toContain(answer.statuses[0]);
      if (expected.closes) expect(answer.closed).toBe(true);
      if (expected.code === 0) expect(answer.text).toContain('"result":{}');
      else if (expected.code !== undefined) expect(answer.text).toContain(`"id":null,"error":{"code":${expected.code}`);
      expect(answer.text).not.toMatch(/FST_|statusCode|Bad Request"/);
      expectStanding(answer.text, { token: good });
    },
  );

  test("HTTP-085 an endless body is cut at the cap", async () => {
    const head = headOf("Transfer-Encoding: chunked");
    const chunk = `10000\r\n${" ".repeat(65_536)}\r\n`;
    const { text, sent } = await sendForever(server.port, head, chunk);
    expect(text).toMatch(/^HTTP\/1\.1 413 /);
    expect(text).toContain('"id":null,"error":{"code":-32013');
    // The cap, what the kernel holds for both ends, and no more.
    expect(sent).toBeLessThan(16 * 1_048_576);
  });

  test("HTTP-087 a body that stops short is closed with 408", async () => {
    const startedAt = performance.now();
    const answer = await sendBytes(server.port, headOf("Content-Length: 62") + PING, "closed");
    expect(answer).toMatchObject({ statuses: [408], closed: true });
    expect(performance.now() - startedAt).toBeLessThan(10_000); // and not after the 15 s of a server without such a limit
  });

  test("HTTP-089 a body that trickles in is closed with 408", async () => {
    const text = await new Promise<string>((resolve) => {
      const socket = net.connect(server.port, "127.0.0.1");
      let received = "";
      socket.write(headOf("Content-Length: 52"));
      const trickle = setInterval(() => socket.writable && socket.write(" "), 300);
      socket.on("data", (chunk) => {
        received += chunk;
      });
      socket.on("error", () => {});
      socket.on("close", () => {
        clearInterval(trickle);
        resolve(received);
      });
    });
    expect(text).toMatch(/^HTTP\/1\.1 408 /);
  });

  test("HTTP-090 silent connections keep nobody waiting and are reaped", async () => {
    const silent = Array.from({ length: 2_000 }, () => net.connect(server.port, "127.0.0.1"));
    for (const socket of silent) socket.on("error", () => {}).on("data", () => {});
    const closed = Promise.all(
      silent.map((socket) => new Promise<void>((resolve) => socket.on("close", () => resolve()))),
    );
    await Promise.all(silent.map((socket) => new Promise<void>((resolve) => socket.on("connect", () => resolve()))));

    const tookMs: number[] = [];
    for (let attempt = 0; attempt < 3; attempt++) {
      const startedAt = performance.now();
      expect((await server.call("ping", {}, { token: good })).status).toBe(200);
      tookMs.push(performance.now() - startedAt);
    }
    // The quickest of three: the machine may be busy with something else, silent connections would slow all of them.
    expect(Math.min(...tookMs)).toBeLessThan(1_000);
    await closed;
  });
});

const PING = '{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}';

const headOf = (header: string) =>
  `POST /rcp/ping HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${good}\r\nContent-Type: application/json\r\n${header}\r\n\r\n`;

const fill = (text: string): string =>
  text
    .replaceAll("{{good}}", good)
    .replace(/\{\{headers (\d+)\}\}/, (_, count) =>
      Array.from({ length: Number(count) }, (_, index) => `X-Filler-${index}: x\r\n`).join(""),
    )
    .replace(/\{\{repeat space (\d+)\}\}/, (_, count) => " ".repeat(Number(count)));

function expectBody(answer: RpcAnswer, expected: Entry["expect"]): void {
  if (expected.code === undefined) {
    if (expected.http !== undefined && expected.http !== 200) expect(answer.text).toBe("");
    return;
  }
  if (expected.code === 0) expect(answer.body?.result).toBeTypeOf("object");
  else expect(answer.body?.error?.code).toBe(expected.code);
  if (expected.responseId === null) expect(answer.body?.id).toBeNull();
}

/** One piece of JSON, whose length was known before it was sent: no stream of events. */
function expectBuffered({ headers, text }: RpcAnswer): void {
  expect(headers["transfer-encoding"]).toBeUndefined();
  expect(headers["content-length"]).toBe(String(Buffer.byteLength(text)));
  expect(text).not.toMatch(/^(event|data):/m);
}

/** Writes chunks until the server closes the connection. */
function sendForever(port: number, head: string, chunk: string): Promise<{ text: string; sent: number }> {
  return new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1");
    let text = "";
    let sent = 0;
    const write = () => {
      while (socket.writable) {
        sent += chunk.length;
        if (!socket.write(chunk)) return;
      }
    };
    socket.on("data", (data) => {
      text += data;
    });
    socket.on("drain", write);
    socket.on("error", () => {});
    socket.on("close", () => resolve({ text, sent }));
    socket.write(head);
    write();
  });
}
