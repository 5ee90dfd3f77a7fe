import { expect, test } from "vitest";
import { EventTooLong, readEvents } from "../../src/client/event-stream.ts";

async function* pieces(...texts: (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield typeof text === "string" ? Buffer.from(text) : text;
}

const read = async (...texts: (string | Uint8Array)[]) => Array.fromAsync(readEvents(pieces(...texts), 1_000));

test("an event is the data up to a blank line; a comment is a sign of life", async () => {
  expect(await read('data: {"a":1}\n\n:heartbeat\n\ndata:{"b":2}\n\n')).toEqual(['{"a":1}', undefined, '{"b":2}']);
});

test("lines of data belong together, and other fields are passed over", async () => {
  expect(await read("event: x\nid: 7\ndata: one\ndata\ndata: two\nretry: 5\n\n")).toEqual(["one\n\ntwo"]);
});

test("LF, CRLF and CR end a line alike, wherever the pieces are cut", async () => {
  const text = "data: a\r\n\r\ndata: b\n\ndata: c\r\rdata: d\r\n\r\n";
  expect(await read(text)).toEqual(["a", "b", "c", "d"]);
  expect(await read(...text)).toEqual(["a", "b", "c", "d"]);
  expect(await read(..."data: a\r\ndata: b\r\n\r\n")).toEqual(["a\nb"]);
});

test("a letter that is cut in two, and a byte order mark, are read right", async () => {
  const bytes = Buffer.from("\ufeffdata: é\n\n");
  expect(await read(...[...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(["é"]);
});

test("an event that the stream does not finish is none", async () => {
  expect(await read("data: a\n\ndata: b\n")).toEqual(["a"]);
});

test("an event over the limit is refused, in one line or in many", async () => {
  await expect(read(`data: ${"x".repeat(2_000)}`)).rejects.toThrow(EventTooLong);
  await expect(read(`data: ${"x".repeat(300)}\n`.repeat(5))).rejects.toThrow(EventTooLong);
});
