import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";

const ORIGIN = "https://app.example.org";
const PREFLIGHT = [
  ["access-control-request-method", "POST"],
  ["access-control-request-headers", "authorization,content-type,rcp-session"],
] as const;

let server: RcpServer;
let closed: RcpServer;
let token: string;
beforeAll(async () => {
  server = await startRcpServer({ config: { cors: { origins: [ORIGIN, "http://localhost:5173"] } } });
  closed = await startRcpServer();
  token = await server.token();
});
afterAll(() => Promise.all([server.close(), closed.close()]));

const ping = (
  origin: string,
  headers: readonly (readonly [string, string])[] = [["authorization", `Bearer ${token}`]],
) =>
  server.send({
    path: "/rcp/ping",
    headers: [["origin", origin], ["content-type", "application/json"], ...headers],
    body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
  });
const preflight = (to: RcpServer, origin: string) =>
  to.send({ method: "OPTIONS", path: "/rcp/retrieve", headers: [["origin", origin], ...PREFLIGHT] });

describe("RCP §5.2, CORS", () => {
  test("lets a listed origin ask, with what a call needs and without cookies", async () => {
    const { status, headers } = await preflight(server, ORIGIN);

    expect(status).toBe(204);
    expect(headers).toMatchObject({
      "access-control-allow-origin": ORIGIN,
      "access-control-allow-methods": "POST",
      "access-control-allow-headers":
        "authorization, content-type, accept, rcp-session, mcp-protocol-version, mcp-method, mcp-name",
      "access-control-max-age": "600",
      vary: "Origin",
    });
    expect(headers).not.toHaveProperty("access-control-allow-credentials");
  });

  test("lets its page read every answer, refusals included", async () => {
    const good = await ping(ORIGIN);
    const refused = await ping(ORIGIN, []);

    expect(good).toMatchObject({ status: 200, headers: { "access-control-allow-origin": ORIGIN, vary: "Origin" } });
    expect(good.headers["access-control-expose-headers"]).toContain("retry-after");
    expect(refused).toMatchObject({ status: 401, headers: { "access-control-allow-origin": ORIGIN } });
  });

  test("lets its page read a manifest, too", async () => {
    const asked = await server.send({
      method: "OPTIONS",
      path: "/manifest",
      headers: [
        ["origin", ORIGIN],
        ["access-control-request-method", "GET"],
        ["access-control-request-headers", "authorization"],
      ],
    });
    const read = await server.send({
      method: "GET",
      path: "/manifest",
      headers: [
        ["origin", ORIGIN],
        ["authorization", `Bearer ${token}`],
      ],
    });

    // A browser asks for no leave to GET (Fetch §2.2.1), only for the header.
    expect(asked).toMatchObject({
      status: 204,
      headers: { "access-control-allow-headers": expect.stringContaining("authorization") },
    });
    expect(read).toMatchObject({ status: 200, headers: { "access-control-allow-origin": ORIGIN } });
  });

  test.each([
    ["null"],
    ["https://app.example.org.evil.example"],
    ["https://evilapp.example.org"],
    ["http://app.example.org"],
    ["https://app.example.org:8443"],
    ["https://APP.example.org"],
    ["*"],
  ])("never names the origin %s", async (origin) => {
    const answer = await ping(origin);
    const asked = await preflight(server, origin);

    expect(answer.status).toBe(200);
    for (const { headers } of [answer, asked]) {
      expect(headers).not.toHaveProperty("access-control-allow-origin");
      expect(headers.vary).toBe("Origin");
    }
  });

  test("is off unless origins are listed", async () => {
    const { status, headers } = await preflight(closed, ORIGIN);
    expect(status).toBe(204);
    expect(Object.keys(headers).filter((name) => name.startsWith("access-control-"))).toEqual([]);
  });
});
