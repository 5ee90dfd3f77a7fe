import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import tls from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";
import { freePort, REDIS_SERVER, TestRedis } from "../support/redis.ts";
import { selfSigned } from "../support/self-signed.ts";
import { testIssuer } from "../support/test-issuer.ts";

/** A `rediss:` URL, at a Redis with TLS and a password whose certificate signs itself. */
describe.runIf(REDIS_SERVER !== undefined)("rate limits shared over TLS", () => {
  const { cert, key } = selfSigned();
  const trusted = tls.getCACertificates("default");
  const servers: RcpServer[] = [];
  let folder: string;
  let redis: TestRedis;
  let url: string;
  let issuer: Awaited<ReturnType<typeof testIssuer>>;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "pgrcp-rediss-"));
    const [certFile, keyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
    await Promise.all([writeFile(certFile, cert), writeFile(keyFile, key)]);
    const port = String(await freePort());
    const files = ["--tls-cert-file", certFile, "--tls-key-file", keyFile, "--tls-ca-cert-file", certFile];
    const login = ["--user", "rates", "on", ">hidden-word", "~*", "&*", "+@all"];
    redis = await TestRedis.start(["--tls-port", port, "--tls-auth-clients", "no", ...files, ...login]);
    url = `rediss://rates:hidden-word@127.0.0.1:${port}/0`;
    issuer = await testIssuer();
  });
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.close()));
    tls.setDefaultCACertificates(trusted);
  });
  afterAll(async () => {
    await redis.close();
    await rm(folder, { recursive: true });
  });

  async function serve(): Promise<RcpServer> {
    const window = { max: 3, windowMs: 60_000 };
    const rateLimit = { principal: window, address: { ...window, max: 1_000 }, redis: { url, timeoutMs: 2_000 } };
    const server = await startRcpServer({ issuer, config: { rateLimit } });
    servers.push(server);
    return server;
  }
  const ping = async (server: RcpServer, token: string) => (await server.call("ping", {}, { token })).status;
  const warnings = ({ observations }: RcpServer) => observations.filter(({ kind }) => kind === "warning");

  test("are shared with a Redis whose certificate is trusted, by the URL's user", async () => {
    tls.setDefaultCACertificates([...trusted, cert]);
    const [one, two] = [await serve(), await serve()];
    const token = await issuer.mint();

    const statuses = [await ping(one, token), await ping(two, token), await ping(one, token), await ping(two, token)];

    expect(statuses).toEqual([200, 200, 200, 429]);
    expect([...warnings(one), ...warnings(two)]).toEqual([]);
    expect(await redis.command("CLIENT LIST")).toMatch(/user=rates/);
  });

  test("are counted alone beside one whose certificate is not, which is told no password", async () => {
    await redis.command("CONFIG RESETSTAT");
    const [one, two] = [await serve(), await serve()];
    const token = await issuer.mint();

    const statuses = [...(await several(one, token)), ...(await several(two, token))];

    expect(statuses).toEqual([200, 200, 200, 429, 200, 200, 200, 429]);
    expect(warnings(one)).toEqual([expect.objectContaining({ text: expect.stringContaining("does not answer") })]);
    expect(await redis.command("INFO commandstats")).not.toMatch(/cmdstat_(auth|hello)/);
  });

  async function several(server: RcpServer, token: string): Promise<number[]> {
    const statuses: number[] = [];
    for (let call = 0; call < 4; call += 1) statuses.push(await ping(server, token));
    return statuses;
  }
});
