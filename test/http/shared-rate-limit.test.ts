import { once } from "node:events";
import net, { type AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";
import { REDIS_SERVER, TestRedis } from "../support/redis.ts";
import { type TestIssuer, testIssuer } from "../support/test-issuer.ts";

/** Half of what all calls together take when each waits for Redis; far above what a busy machine adds. */
const SOON_MS = 10_000;
const servers: RcpServer[] = [];
let issuer: TestIssuer;
beforeEach(async () => {
  issuer = await testIssuer();
});
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));

async function serve(url: string, max = 3): Promise<RcpServer> {
  const window = { max, windowMs: 60_000 };
  const rateLimit = { principal: window, address: { ...window, max: 1_000 }, redis: { url, timeoutMs: 1_000 } };
  const server = await startRcpServer({ issuer, config: { rateLimit } });
  servers.push(server);
  return server;
}
const ping = async (server: RcpServer, token: string) => (await server.call("ping", {}, { token })).status;
const warnings = ({ observations }: RcpServer) =>
  observations.flatMap((one) => (one.kind === "warning" && one.text.startsWith("rate limits: ") ? [one.text] : []));

describe.runIf(REDIS_SERVER !== undefined)("servers that share a Redis", () => {
  let redis: TestRedis;
  beforeEach(async () => {
    redis = await TestRedis.start();
  });
  afterEach(() => redis.close());

  test("share each principal's bucket, and mix up no two", async () => {
    const [one, two] = [await serve(redis.url), await serve(redis.url)];
    const token = await issuer.mint();

    expect([await ping(one, token), await ping(two, token), await ping(one, token)]).toEqual([200, 200, 200]);
    expect([await ping(two, token), await ping(one, token)]).toEqual([429, 429]);
    for (const claims of [{ tenant: "globex" }, { subject: "bob" }, { client: "other" }])
      expect(await ping(two, await issuer.mint(claims))).toBe(200);
    expect([...warnings(one), ...warnings(two)]).toEqual([]);
  });

  test("keep keys that name nobody and that end with their window", async () => {
    const server = await serve(redis.url);
    await ping(server, await issuer.mint());

    const keys = [...(await redis.command("KEYS *")).matchAll(/^pgrcp:.*$/gm)].map(([key]) => key.trim());
    expect(keys).toHaveLength(2);
    expect(keys.join()).not.toMatch(/acme|alice|agent|issuer|127|ey/);
    for (const key of keys) {
      const left = Number((await redis.command(`PTTL ${key}`)).match(/^:(\d+)/)?.[1]);
      expect(left).toBeGreaterThan(50_000);
      expect(left).toBeLessThanOrEqual(60_000);
    }
  });

  test.each(["SIGKILL", "SIGSTOP"] as const)(
    "count alone after its %s, say so once, and share again when it is back",
    async (signal) => {
      const server = await serve(redis.url);
      const token = await issuer.mint();
      expect(await ping(server, token)).toBe(200);
      if (signal === "SIGKILL") await redis.stop();
      else redis.signal("SIGSTOP");

      const startedAt = performance.now();
      const statuses: number[] = [];
      for (let call = 0; call < 20; call += 1) statuses.push(await ping(server, token));

      expect(statuses).toEqual([200, 200, 200, ...Array.from({ length: 17 }, () => 429)]);
      // One call waited for Redis, and not each of them.
      expect(performance.now() - startedAt).toBeLessThan(SOON_MS);
      expect(warnings(server)).toEqual([expect.stringContaining("does not answer")]);

      if (signal === "SIGKILL") await redis.restart();
      else redis.signal("SIGCONT");
      const bob = await issuer.mint({ subject: "bob" });
      await expect
        .poll(() => ping(server, bob).then(() => warnings(server)), { timeout: 10_000, interval: 300 })
        .toEqual([expect.any(String), expect.stringContaining("answers again")]);
    },
    20_000,
  );
});

describe("a Redis that is not there", () => {
  test.each(["refuses", "takes connections and says nothing"])(
    "when it %s, neither start-up nor calls nor closing wait for it",
    async (how) => {
      const silent = net.createServer().listen(0, "127.0.0.1");
      await new Promise((resolve) => silent.once("listening", resolve));
      const { port } = silent.address() as AddressInfo;
      const sockets = new Set<net.Socket>();
      silent.on("connection", (socket) => sockets.add(socket.on("error", () => {})));
      if (how === "refuses") await new Promise((resolve) => silent.close(resolve));

      const startedAt = performance.now();
      const server = await serve(`redis://user:hidden-word@127.0.0.1:${port}`);
      const token = await issuer.mint();
      const statuses = await Promise.all([1, 2, 3, 4].map(() => ping(server, token)));
      await server.close();

      expect(statuses.sort()).toEqual([200, 200, 200, 429]);
      expect(performance.now() - startedAt).toBeLessThan(SOON_MS);
      expect(warnings(server)).toHaveLength(1);
      expect(JSON.stringify(server.observations)).not.toContain("hidden-word");
      for (const socket of sockets) socket.destroy();
      silent.close();
    },
  );
});

test("rediss: begins with a handshake of TLS, and no password crosses in the clear", async () => {
  const said: Buffer[] = [];
  const listener = net.createServer((socket) => socket.on("error", () => {}).on("data", (bytes) => said.push(bytes)));
  await once(listener.listen(0, "127.0.0.1"), "listening");
  const { port } = listener.address() as AddressInfo;

  const server = await serve(`rediss://user:hidden-word@127.0.0.1:${port}`);
  await server.close();
  listener.close();

  const all = Buffer.concat(said);
  expect(all[0]).toBe(0x16);
  expect(all.includes("hidden-word")).toBe(false);
});
