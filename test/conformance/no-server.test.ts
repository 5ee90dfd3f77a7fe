import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { ServerUnderTest } from "../../src/conformance/server-under-test.ts";

/** What is no RCP server is told so and let go, in the time of one answer. */

const TIMEOUT_MS = 500;

let http: Server | undefined;
afterEach(() => {
  http?.closeAllConnections();
  http?.close();
  http = undefined;
});

async function identityOf(server: ServerUnderTest): Promise<unknown> {
  try {
    return await server.identity();
  } finally {
    await server.close();
  }
}

async function overHttp(answer: (response: ServerResponse) => void): Promise<unknown> {
  const listening = createServer((_request, response) => answer(response));
  http = listening;
  await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;
  return identityOf(new ServerUnderTest({ kind: "http", url }, { timeoutMs: TIMEOUT_MS }));
}

const overStdio = (script: string, timeoutMs = TIMEOUT_MS): Promise<unknown> =>
  identityOf(new ServerUnderTest({ kind: "stdio", command: [process.execPath, "-e", script] }, { timeoutMs }));

function forever(response: ServerResponse, type: string, piece: string, everyMs: number): void {
  response.writeHead(200, { "content-type": type });
  const timer = setInterval(() => response.write(piece), everyMs);
  response.on("close", () => clearInterval(timer));
}

describe("over HTTP", () => {
  test("a stream of comments without an answer is no answer in time", async () => {
    const asking = overHttp((response) => forever(response, "text/event-stream", ": \n\n", 50));
    await expect(asking).rejects.toThrow("no whole answer within 500 ms");
  });

  test("an answer without an end is let go for its time or its length", async () => {
    const asking = overHttp((response) => forever(response, "application/json", "x".repeat(1_000_000), 1));
    await expect(asking).rejects.toThrow(/no whole answer within 500 ms|an answer has more than 16777216 bytes/);
  });
});

describe("over stdio", () => {
  test("a program that never answers is ended", async () => {
    await expect(overStdio("setInterval(() => {}, 1000)")).rejects.toThrow("did not come within 500 ms");
  });

  test("a program that repeats what it reads is ended", async () => {
    await expect(overStdio("process.stdin.pipe(process.stdout)")).rejects.toThrow("did not come within 500 ms");
  });

  test("a program that writes lines of something else without end is ended", async () => {
    const yes =
      "const more = () => { while (process.stdout.write('y\\n'.repeat(5000))); }; process.stdout.on('drain', more); more();";
    await expect(overStdio(yes, 20_000)).rejects.toThrow("the server wrote 1000 lines that are no message");
  });

  test("a program that writes one line without end is ended", async () => {
    const zero =
      "const more = () => { while (process.stdout.write('0'.repeat(65536))); }; process.stdout.on('drain', more); more();";
    await expect(overStdio(zero)).rejects.toThrow(
      /wrote a line of more than 16777216 bytes|did not come within 500 ms/,
    );
  });
});
