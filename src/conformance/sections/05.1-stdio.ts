import { setTimeout as sleep } from "node:timers/promises";
import { isObject } from "../../protocol/params.ts";
import { INITIALIZE } from "../client.ts";
import { ensure, show } from "../outcome.ts";
import { check, rule, section } from "../rule.ts";
import type { StdioClient } from "../stdio-client.ts";

const STDIO = { transport: "stdio" } as const;

const answerTo = (client: StdioClient, id: unknown) =>
  client.process.until(`the answer to id ${show(id)}`, () =>
    client.process.frames.find(({ value }) => isObject(value) && value.id === id && !Object.hasOwn(value, "method")),
  );

export const stdio = section(
  "5.1",
  "stdio",
  [
    rule("no-bom", "MUST NOT", "send a byte order mark"),
    rule("blank-lines", "MUST", "ignore blank lines"),
    rule("partial-reads", "MUST NOT", "assume that a read gives one message"),
    rule("stdout", "MUST NOT", "write anything but frames to standard output"),
    rule("stderr", "MUST NOT", "write protocol messages to standard error"),
    rule("eof", "SHOULD", "answer what is in flight at end of file, then exit"),
  ],
  [
    check(
      "blank-lines",
      "blank lines before, between and after messages are ignored",
      async (server) => {
        const client = server.openProcess();
        client.process.write("\n\n  \n");
        await client.result("ping", { nonce: 1 });
        client.process.write("\n\n");
        await client.result("ping", { nonce: 2 });
      },
      STDIO,
    ),
    check(
      "partial-reads",
      "a message that arrives byte by byte, within a character too, is read whole",
      async (server) => {
        const client = server.openProcess();
        const bytes = Buffer.from(`${JSON.stringify(client.request("ping", { nonce: "日本 🧭" }, "slow"))}\n`);
        for (const byte of bytes) {
          client.process.write(Uint8Array.of(byte));
          await sleep(1);
        }
        const { value } = await answerTo(client, "slow");
        ensure(
          isObject(value) && isObject(value.result) && value.result.nonce === "日本 🧭",
          `a slow ping was answered with ${show(value)}`,
        );
      },
      STDIO,
    ),
    check(
      "partial-reads",
      "several messages in one write are each answered",
      async (server) => {
        const client = server.openProcess();
        const ids = ["one", "two", "three"];
        client.process.write(ids.map((id) => `${JSON.stringify(client.request("ping", {}, id))}\n`).join(""));
        for (const id of ids) await answerTo(client, id);
      },
      STDIO,
    ),
    check(
      "stdout no-bom",
      "nothing but frames came on standard output",
      async (server) => {
        const client = server.openProcess();
        await client.initialize(INITIALIZE);
        await client.call("rcp-conformance-no-such-method");
        await client.ask("this is not JSON");
        await client.result("ping", { nonce: "line\nbreak" });
        await client.close();
        const strays = [...server.strays, ...client.process.strays];
        ensure(
          strays.length === 0,
          `standard output had ${strays.length} lines that are no frames, such as ${strays[0]}`,
        );
      },
      { ...STDIO, last: true },
    ),
    check(
      "stderr",
      "no protocol message came on standard error",
      async (server) => {
        const lines = server.stderr.join("\n").split("\n");
        const frame = lines.find((line) => /^\s*\{.*"jsonrpc"\s*:/.test(line));
        ensure(frame === undefined, `standard error had ${show(frame)}`);
      },
      { ...STDIO, last: true },
    ),
    check(
      "eof",
      "end of file right after requests: all are answered, then the process exits by itself",
      async (server) => {
        const client = server.openProcess();
        const ids = Array.from({ length: 5 }, (_, index) => `last-${index}`);
        client.process.write(ids.map((id) => `${JSON.stringify(client.request("ping", {}, id))}\n`).join(""));
        client.process.endInput();
        for (const id of ids) await answerTo(client, id);
        const how = await client.process.exit();
        ensure(how !== undefined, "the process still runs long after end of file");
      },
      STDIO,
    ),
  ],
);
