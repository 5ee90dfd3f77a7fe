import { isObject, type Params } from "../../protocol/params.ts";
import type { Client } from "../client.ts";
import { type Frame, isAnswer, readFrame } from "../frame.ts";
import { ensure, need, show } from "../outcome.ts";
import { check, clientRule, rule, section } from "../rule.ts";
import type { ServerUnderTest } from "../server-under-test.ts";

const SSE = { accept: "text/event-stream, application/json" };

/** A retrieve that may be answered with progress frames. @returns its frames, after checking that the last one is the answer */
async function stream(client: Client, params: Params, optedIn: boolean): Promise<readonly Frame[]> {
  const { frames } = await client.exchange([client.request("retrieve", params)], 1, { headers: SSE, optedIn });
  const answers = frames.filter(isAnswer);
  ensure(answers.length === 1, `one request has ${answers.length} final frames`);
  const last = frames.at(-1);
  ensure(last !== undefined && isAnswer(last), "a frame came after the final one");
  ensure(isObject(last.value) && isObject(last.value.result), `the final frame is no result: ${show(last.value)}`);
  return frames;
}

const progressOf = (frames: readonly Frame[]): readonly Params[] =>
  frames.flatMap(({ value }) =>
    isObject(value) && value.method === "notifications/progress" && isObject(value.params) ? [value.params] : [],
  );

async function streamingClient(server: ServerUnderTest): Promise<Client> {
  await server.capability("streaming");
  await server.capability("retrieve");
  return server.shared();
}

export const streaming = section(
  "9",
  "Streaming and progress",
  [
    rule("echo-token", "MUST", "echo the progressToken verbatim in every frame"),
    rule("no-token", "MUST NOT", "send progress for a request without a token"),
    rule("range", "MUST", "keep progress in 0 to 1"),
    rule("final", "MUST", "send exactly one response, last (§5.2)"),
    clientRule("advisory", "MUST", "work when no frame comes"),
    clientRule("unknown-token", "MUST", "ignore a frame with an unknown token"),
  ],
  [
    check(
      "echo-token final range 5.2/one-final-frame",
      "frames echo a string or an integer as their token, and one response ends them",
      async (server) => {
        const client = await streamingClient(server);
        for (const progressToken of ["token ✓", "", 0, 7, "7"]) {
          const frames = await stream(client, { query: "the harbour", k: 5, _meta: { progressToken } }, true);
          for (const progress of progressOf(frames))
            ensure(
              progress.progressToken === progressToken,
              `the token ${show(progressToken)} came back as ${show(progress.progressToken)}`,
            );
        }
      },
    ),
    check("range", "progress does not go back", async (server) => {
      const client = await streamingClient(server);
      const frames = await stream(client, { query: "the harbour", k: 5, _meta: { progressToken: "p" } }, true);
      const values = progressOf(frames).flatMap(({ progress }) => (typeof progress === "number" ? [progress] : []));
      ensure(
        values.every((value, index) => index === 0 || value >= (values[index - 1] ?? 0)),
        `progress went ${show(values)}`,
      );
    }),
    check("no-token", "without a token there is no progress frame", async (server) => {
      const client = await streamingClient(server);
      for (const params of [{}, { _meta: {} }, { _meta: { progressToken: null } }]) {
        const frames = await stream(client, { query: "the harbour", k: 5, ...params }, false);
        ensure(progressOf(frames).length === 0, `${progressOf(frames).length} progress frames came without a token`);
      }
    }),
    check("echo-token", "two requests in flight have frames of their own token each", async (server) => {
      const client = await streamingClient(server);
      const requests = ["left", "right"].map((progressToken) =>
        client.request("retrieve", { query: progressToken, k: 3, _meta: { progressToken } }, progressToken),
      );
      const { frames } = await client.exchange(requests, 2, { headers: SSE, optedIn: true });
      for (const { progressToken } of progressOf(frames))
        ensure(progressToken === "left" || progressToken === "right", `a frame has the token ${show(progressToken)}`);
      for (const id of ["left", "right"]) {
        const end = frames.findIndex(({ value }) => isObject(value) && value.id === id);
        const late = frames.slice(end + 1).some((frame) => progressOf([frame])[0]?.progressToken === id);
        ensure(end >= 0 && !late, `progress of ${id} came after its answer`);
      }
    }),
    check("final", "an error ends the stream as a result does", async (server) => {
      const client = await streamingClient(server);
      const { frames } = await client.exchange(
        [client.request("retrieve", { query: "x", k: 0, _meta: { progressToken: 1 } })],
        1,
        { headers: SSE, optedIn: true },
      );
      const { value } = frames.at(-1) ?? {};
      ensure(
        frames.filter(isAnswer).length === 1 && isObject(value) && isObject(value.error),
        `k 0 was streamed as ${show(value)}`,
      );
    }),
    check(
      "final 5.2/one-final-frame",
      "over HTTP, a stream is text/event-stream, and its last frame is the answer",
      async (server) => {
        await streamingClient(server);
        const client = server.openHttp();
        await client.initialize();
        const params = { query: "the harbour", k: 5, _meta: { progressToken: "sse" } };
        const { http } = await client.exchange([client.request("retrieve", params)], 1, {
          headers: { accept: "text/event-stream" },
          optedIn: true,
        });
        const type = http[0]?.headers["content-type"] ?? "";
        need(type.startsWith("text/event-stream"), "the server answers without a stream, which it may");
        ensure(http[0]?.status === 200, `a stream came with HTTP ${http[0]?.status}`);
      },
      { transport: "http" },
    ),
    check(
      "5.2/buffered",
      "a client that does not ask for a stream gets one JSON response",
      async (server) => {
        await streamingClient(server);
        const client = server.openHttp();
        await client.initialize();
        const { http } = await client.exchange(
          [client.request("retrieve", { query: "x", k: 1, _meta: { progressToken: 1 } })],
          1,
        );
        const answer = http[0];
        ensure(
          answer !== undefined && String(answer.headers["content-type"]).startsWith("application/json"),
          "the answer is no JSON",
        );
        readFrame(answer.body);
      },
      { transport: "http" },
    ),
  ],
);
