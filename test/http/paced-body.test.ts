import { once } from "node:events";
import http from "node:http";
import net from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type PacedBody, pacedBody } from "../../src/http/paced-body.ts";

const PACE = { maxBufferedBytes: 262_144, stallMs: 400 };
/** More than the kernel keeps for a reader that reads nothing. */
const ANSWER = Buffer.alloc(20_000_000, "y");

interface Sending {
  readonly body: PacedBody;
  readonly raw: http.ServerResponse;
}

let sending = Promise.withResolvers<Sending>();
const server = http.createServer((_request, raw) => {
  const body = pacedBody(raw, PACE);
  body.stream.pipe(raw);
  sending.resolve({ body, raw });
});
beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(() => server.close());

/** A reader of one answer that reads nothing yet. */
async function ask(): Promise<Sending & { readonly reader: net.Socket }> {
  sending = Promise.withResolvers();
  const { port } = server.address() as net.AddressInfo;
  const reader = net.connect(port, "127.0.0.1");
  reader.on("error", () => {});
  reader.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  return { reader, ...(await sending.promise) };
}

test("no more of an answer waits in the connection than may, and a reader of nothing is cut off", async () => {
  const { body, raw, reader } = await ask();
  let most = 0;
  // With each piece that is handed on, all that waits.
  body.stream.on("data", () => {
    most = Math.max(most, body.stream.readableLength + raw.writableLength);
  });
  const startedAt = performance.now();
  body.end(ANSWER);
  await once(raw, "close");
  reader.destroy();

  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(PACE.maxBufferedBytes);
  expect(performance.now() - startedAt).toBeGreaterThan(390);
});

test("a reader that takes a little all the time, but less than it must, is cut off", async () => {
  const { body, raw, reader } = await ask();
  body.end(ANSWER);
  reader.pause();
  let received = 0;
  const trickle = setInterval(() => {
    received += reader.read(1_000)?.length ?? 0;
  }, 20);
  await once(raw, "close");
  clearInterval(trickle);
  reader.destroy();

  expect(raw.writableFinished).toBe(false);
  expect(received).toBeGreaterThan(1_000);
});

test("what is offered beyond the room is left out, and the rest follows whole", async () => {
  const { body, raw, reader } = await ask();
  const offered = Array.from({ length: 400 }, () => body.offer("x".repeat(30_000)));
  const accepted = offered.filter(Boolean).length;
  body.end(Buffer.from("the end"));
  expect(body.offer("too late")).toBe(false);
  let text = "";
  for await (const piece of reader.setEncoding("utf8")) text += piece;

  expect(accepted).toBe(8); // 8 × 30,000 ≤ 262,144 < 9 × 30,000, and nothing is taken within one turn
  expect(text.split("x").length - 1).toBe(8 * 30_000);
  expect(text).toContain("the end");
  expect(raw.writableFinished).toBe(true);
});
