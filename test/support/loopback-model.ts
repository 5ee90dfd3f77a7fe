import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished } from "vitest";
import { RpcError } from "../../src/protocol/errors.ts";

/** A request as a model server got it. */
export interface Received<Body> {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: Body;
}

/** Answers one request; `call` counts them from 1. */
export type Answer<Body> = (request: Received<Body>, response: ServerResponse, call: number) => void;

export interface LoopbackModel<Body> {
  readonly url: string;
  readonly received: readonly Received<Body>[];
  /** Closes every connection and listens no more. */
  close(): Promise<void>;
}

/** A real HTTP server on loopback in a model server's place. */
export async function loopbackModel<Body>(answer: Answer<Body>): Promise<LoopbackModel<Body>> {
  const received: Received<Body>[] = [];
  const server = createServer(async (request, response) => {
    const entry = await read<Body>(request);
    received.push(entry);
    answer(entry, response, received.length);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** One that is gone after the test that asks for it. */
export async function testModel<Body>(answer: Answer<Body>): Promise<LoopbackModel<Body>> {
  const model = await loopbackModel(answer);
  onTestFinished(() => model.close());
  return model;
}

async function read<Body>(request: IncomingMessage): Promise<Received<Body>> {
  let text = "";
  for await (const chunk of request) text += chunk;
  return { path: request.url ?? "", authorization: request.headers.authorization, body: JSON.parse(text) };
}

export const json = (response: ServerResponse, body: unknown, status = 200): void =>
  void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));

/** Answers that no model server should give, and that say nothing about a text. */
export const WRONG_ANSWERS: readonly (readonly [string, Answer<unknown>])[] = [
  ["a web page", (_, response) => void response.end("<html>welcome</html>")],
  ["nothing", (_, response) => void response.end()],
  ["null", (_, response) => json(response, null)],
  ["an object of another kind", (_, response) => json(response, { data: [] })],
  ["a list of another kind", (_, response) => json(response, ["x"])],
  ["NaN, which is no JSON", (_, response) => void response.end('[{"index":0,"score":NaN}]')],
  ["an answer without an end", (_, response) => void response.end(`[${" ".repeat(1_200_000)}]`)],
  ["HTTP 400", (_, response) => json(response, { error: { message: "no" } }, 400)],
  ["HTTP 401", (_, response) => json(response, { error: { message: "no" } }, 401)],
  ["a redirect", (_, response) => void response.writeHead(307, { location: "http://127.0.0.1:9/elsewhere" }).end()],
];

/** Failures that pass. */
export const FLAKY_ANSWERS: readonly (readonly [string, Answer<unknown>])[] = [
  ["HTTP 500", (_, response) => json(response, {}, 500)],
  ["HTTP 503", (_, response) => json(response, {}, 503)],
  ["HTTP 429", (_, response) => json(response, {}, 429)],
  ["a cut connection", (_, response) => void response.destroy()],
  [
    "an answer that breaks off",
    (_, response) => {
      response.writeHead(200, { "content-length": "1000" });
      response.write("[");
      setTimeout(() => response.destroy(), 20);
    },
  ],
  ["silence", () => {}],
];

/** The RpcError that `promise` fails with. */
export async function failureOf(promise: Promise<unknown>): Promise<RpcError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof RpcError)) throw new Error("no RpcError was thrown", { cause: error });
  return error;
}

/** Neither the error nor any of its causes may name an address, a key or a text. */
export function expectNoSecrets(error: Error, secrets: readonly string[]): void {
  for (let link: unknown = error; link instanceof Error; link = link.cause) {
    const shown = `${link.message} ${JSON.stringify(link)}`;
    for (const secret of ["127.0.0.1", ...secrets]) expect(shown).not.toContain(secret);
  }
}
