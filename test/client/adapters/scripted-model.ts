import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** The model's side of a maker's HTTP API: answers in turn what a test has written, and keeps what it was asked. */
export interface ScriptedModel {
  readonly url: string;
  readonly requests: { readonly path: string; readonly body: Record<string, unknown> }[];
  close(): Promise<void>;
}

export async function startScriptedModel(answers: readonly object[]): Promise<ScriptedModel> {
  const requests: ScriptedModel["requests"] = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const piece of request.setEncoding("utf8")) text += piece;
    const answer = answers[requests.length];
    requests.push({ path: request.url ?? "", body: JSON.parse(text) });
    response
      .writeHead(answer === undefined ? 400 : 200, { "content-type": "application/json" })
      .end(JSON.stringify(answer ?? { error: { message: "the script is over" } }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
