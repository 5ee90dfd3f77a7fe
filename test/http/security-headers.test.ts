import { afterAll, beforeAll, expect, test } from "vitest";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";

let server: RcpServer;
beforeAll(async () => {
  server = await startRcpServer();
});
afterAll(() => server.close());

test("every answer says the same of how to treat it, whether it is a result, a refusal or of no route", async () => {
  const json = ["content-type", "application/json"] as const;
  const authorization = ["authorization", `Bearer ${await server.token()}`] as const;
  const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
  const answers = {
    200: await server.send({ path: "/rcp/ping", headers: [authorization, json], body }),
    400: await server.send({ path: "/rcp/ping", headers: [authorization, json, ["host", "a"], ["host", "b"]], body }),
    401: await server.send({ path: "/rcp/ping", headers: [json], body }),
    404: await server.send({ method: "GET", path: "/nowhere" }),
    405: await server.send({ method: "PUT", path: "/rcp/ping", headers: [authorization, json], body }),
  };
  for (const [status, answer] of Object.entries(answers)) {
    expect(answer.status).toBe(Number(status));
    expect(answer.headers).toMatchObject({
      "cache-control": "no-store",
      "content-security-policy": "default-src 'none'",
      "cross-origin-resource-policy": "same-origin",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      "x-frame-options": "SAMEORIGIN",
    });
    // Not over TLS, nor behind it.
    expect(answer.headers).not.toHaveProperty("strict-transport-security");
  }
});
