import { afterEach, describe, expect, test } from "vitest";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";
import { expectValidError } from "../support/validate-response.ts";

const FAR = 1_000_000;
let server: RcpServer;
afterEach(() => server.close());

const limited = async (address: number, principal: number, settings: Readonly<Record<string, unknown>> = {}) => {
  const window = (max: number) => ({ max, windowMs: 60_000 });
  server = await startRcpServer({
    config: { rateLimit: { address: window(address), principal: window(principal) }, ...settings },
  });
  return server;
};

describe("the rate of a principal", () => {
  test("is shown on every answer, and over it the answer is 429 with -32011 and a wait", async () => {
    const { call } = await limited(FAR, 2);
    const token = await server.token();
    const answers = [
      await call("ping", {}, { token }),
      await call("ping", {}, { token }),
      await call("ping", {}, { token }),
    ];

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    const refused = answers[2];
    const wait = Number(refused?.headers["retry-after"]);
    const left = answers.map(({ headers }) => String(headers.ratelimit));
    expect(left.map((field) => field.replace(/\d+$/, ""))).toEqual([1, 0, 0].map((r) => `"principal";r=${r};t=`));
    expect(left[2]).toBe(`"principal";r=0;t=${wait}`);
    expect(wait).toBe(Math.ceil(Number(refused?.body?.error?.data?.retryAfterMs) / 1000));
    for (const { headers } of answers) expect(headers["ratelimit-policy"]).toBe('"principal";q=2;w=60');
    expectValidError(refused?.body);
    expect(refused?.body).toMatchObject({ id: null, error: { code: -32011, data: { retryable: true } } });
    expect(Number(refused?.body?.error?.data?.retryAfterMs)).toBeGreaterThan(50_000);
    expect(Number(refused?.headers["retry-after"])).toBeGreaterThan(50);
    expect(server.observations).toContainEqual({ kind: "rate-limited", bucket: "principal" });
  });

  test("is one for all tokens of a subject and client, and another for another's", async () => {
    const { call } = await limited(FAR, 2);
    const statusFor = async (claims = {}) => (await call("ping", {}, { token: await server.token(claims) })).status;

    expect([await statusFor(), await statusFor(), await statusFor()]).toEqual([200, 200, 429]);
    expect(await statusFor({ tenant: "globex" })).toBe(200);
    expect(await statusFor({ subject: "bob" })).toBe(200);
    expect(await statusFor({ client: "other" })).toBe(200);
  });

  test("is not stretched by a made-up X-Forwarded-For", async () => {
    const { send } = await limited(FAR, 2);
    const token = await server.token();
    const statuses: number[] = [];
    for (const hop of ["1.1.1.1", "2.2.2.2", "3.3.3.3"]) {
      const headers = [
        ["authorization", `Bearer ${token}`],
        ["content-type", "application/json"],
        ["x-forwarded-for", hop],
      ] as const;
      statuses.push(
        (await send({ path: "/rcp/ping", body: '{"jsonrpc":"2.0","id":1,"method":"ping"}', headers })).status,
      );
    }
    expect(statuses).toEqual([200, 200, 429]);
  });

  test("counts each call of a batch: with 10 units left, 90 of 100 get -32011 on their own id", async () => {
    const { post } = await limited(FAR, 10);
    const batch = Array.from({ length: 100 }, (_, id) => ({ jsonrpc: "2.0", id, method: "ping" }));

    const { status, body, headers } = await post("/rcp", JSON.stringify(batch));

    expect(headers.ratelimit).toMatch(/^"principal";r=0;t=(60|59)$/);
    const answers = body as unknown as { id: number; result?: object; error?: { code: number; data: object } }[];
    expect(status).toBe(200);
    expect(answers.map(({ id }) => id)).toEqual(batch.map(({ id }) => id));
    expect(answers.filter(({ result }) => result !== undefined)).toHaveLength(10);
    const refused = answers.filter(({ error }) => error !== undefined);
    expect(refused).toHaveLength(90);
    for (const { error } of refused)
      expect(error).toMatchObject({ code: -32011, data: { retryAfterMs: expect.any(Number) } });
  });
});

describe("the rate of an address", () => {
  test("is judged before the token, with an empty 429", async () => {
    const { send } = await limited(2, FAR);
    const request = { path: "/rcp/ping", body: "{}", headers: [["authorization", "Bearer bad"]] } as const;
    const answers = [await send(request), await send(request), await send(request)];

    expect(answers.map(({ status }) => status)).toEqual([401, 401, 429]);
    expect(answers[2]?.text).toBe("");
    const wait = Number(answers[2]?.headers["retry-after"]);
    expect(wait).toBeGreaterThan(50);
    // Others may be behind the same address: how many requests they made is told to nobody.
    expect(answers.map(({ headers }) => headers.ratelimit)).toEqual([undefined, undefined, `"address";r=0;t=${wait}`]);
    for (const { headers } of answers) expect(headers["ratelimit-policy"]).toBe('"address";q=2;w=60');
    expect(server.observations).toContainEqual({ kind: "rate-limited", bucket: "address" });
  });

  test("is the last one that no trusted proxy stands for, whatever the client put before it", async () => {
    const { send } = await limited(1, FAR, { server: { trustedProxies: ["127.0.0.0/8", "10.0.0.0/8"] } });
    const from = async (hops: string) =>
      (await send({ path: "/rcp/ping", body: "{}", headers: [["x-forwarded-for", hops]] })).status;

    expect(await from("203.0.113.9, 192.0.2.1, 10.1.2.3")).toBe(401);
    expect(await from("203.0.113.10, 192.0.2.1, 10.1.2.4")).toBe(429);
    expect(await from("192.0.2.1, 192.0.2.2")).toBe(401);
  });

  test("is the client's behind a proxy that is trusted", async () => {
    const { send } = await limited(1, FAR, { server: { trustedProxies: ["127.0.0.1"] } });
    const from = async (address: string) =>
      (await send({ path: "/rcp/ping", body: "{}", headers: [["x-forwarded-for", address]] })).status;

    expect([await from("192.0.2.1"), await from("192.0.2.1"), await from("192.0.2.2")]).toEqual([401, 429, 401]);
  });

  // Each line: one client, as its proxies write it at two connections.
  test.each([
    ["192.0.2.1:50000", "192.0.2.1:50001"],
    ["[2001:db8::1]:50000", "2001:db8::1"],
    ["192.0.2.1, 127.0.0.2:50000", "192.0.2.1"],
    ["unknown", "_hidden"],
  ])("is one for %s and %s: a port makes no other client, and what is no address is the proxy's", async (one, two) => {
    const { send } = await limited(1, FAR, { server: { trustedProxies: ["127.0.0.0/8"] } });
    const from = async (hops: string) =>
      (await send({ path: "/rcp/ping", body: "{}", headers: [["x-forwarded-for", hops]] })).status;

    expect([await from(one), await from(two), await from("198.51.100.1")]).toEqual([401, 429, 401]);
  });
});

test("no limit holds when limits are switched off", async () => {
  server = await startRcpServer({
    config: { rateLimit: { enabled: false, principal: { max: 1 }, address: { max: 1 } } },
  });
  const answers = [await server.call("ping"), await server.call("ping")];
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(answers[0]?.headers).not.toHaveProperty("ratelimit-policy");
});
