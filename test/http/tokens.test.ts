import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTokenVerifier } from "../../src/auth/jwt-verifier.ts";
import { configSchema } from "../../src/config/config.ts";
import { type KeyServer, keyServer, serveKeys } from "../auth/key-server.ts";
import { ISSUER, issuerKey } from "../auth/own-tokens.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";

const COOLDOWN = 30_000;
const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
const k1 = issuerKey("k1");
const k2 = issuerKey("k2");

/** A server whose issuer is asked for its keys, and its clock. */
let keys: KeyServer;
let server: RcpServer;
const clock = { ahead: 0 };
beforeAll(async () => {
  keys = await keyServer(serveKeys(k1.jwk));
  const { auth } = configSchema.parse({ auth: { issuers: [{ issuer: ISSUER, jwksUri: keys.url }] } });
  server = await startRcpServer({ verifier: createTokenVerifier(auth, { now: () => Date.now() + clock.ahead }) });
});
afterAll(() => Promise.all([server.close(), keys.close()]));

const ping = (...tokens: readonly string[]) =>
  server.send({
    path: "/rcp/ping",
    body: PING,
    headers: [
      ["content-type", "application/json"],
      ...tokens.map((token) => ["authorization", `Bearer ${token}`] as const),
    ],
  });

test("one Authorization header is enough, and two are refused whichever of them is good", async () => {
  const [good, other] = [await k1.sign(), await k1.sign({ sub: "mallory" })];

  expect((await ping(good)).status).toBe(200);
  for (const pair of [
    [good, good],
    [good, "x"],
    ["x", good],
    [good, other],
  ]) {
    expect(await ping(...pair)).toMatchObject({ status: 401, body: { id: null, error: { code: -32012 } } });
  }
});

describe("while the server runs", () => {
  test("a new key is taken, and its issuer's outage is felt only by keys that nobody has seen", async () => {
    expect((await ping(await k1.sign())).status).toBe(200);

    keys.answer = serveKeys(k1.jwk, k2.jwk);
    clock.ahead += COOLDOWN;
    expect((await ping(await k2.sign())).status).toBe(200);

    keys.answer = (_, response) => response.writeHead(503).end();
    clock.ahead += COOLDOWN;
    const unseen = await ping(await issuerKey("k3").sign());
    expect(unseen).toMatchObject({
      status: 503,
      body: { id: null, error: { code: -32010, data: { retryable: true } } },
    });
    expect(Number(unseen.headers["retry-after"])).toBeGreaterThan(0);
    for (const key of [k1, k2]) expect((await ping(await key.sign())).status).toBe(200);
  });
});
