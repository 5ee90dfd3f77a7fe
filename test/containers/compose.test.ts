import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ErrorCode } from "../../src/protocol/errors.ts";
import { runCli } from "../cli/run-cli.ts";
import { expectIsolation, printRun } from "../support/isolation/expect-run.ts";
import { type RunReport, runOperations } from "../support/isolation/run-operations.ts";
import { testSeed } from "../support/seeded-random.ts";
import { type ComposeDeployment, composeDeployment } from "./compose-deployment.ts";
import { ComposeStack, callOverTls, freePorts, publishedOn } from "./compose-stack.ts";

const MINUTE = 60_000;
const LIGHTHOUSE = { id: "lighthouse", text: "The lighthouse keeper climbs the stairs and lights the lamp." };
const BAKERY = { id: "bakery", text: "The baker kneads dough before dawn." };

/** Builds images and starts containers, so it runs only where that was asked for. */
describe.runIf(process.env.PGRCP_TEST_CONTAINERS === "1")("docker compose", { timeout: 5 * MINUTE }, () => {
  let stack: ComposeStack;
  let authority: string;
  let readToken: string;
  let deployment: ComposeDeployment;
  let isolation: RunReport;

  const retrieve = (token: string) =>
    callOverTls(stack, { authority, token, method: "retrieve", params: { query: "who lights the lamp", k: 1 } });
  const add = (token: string, documents: readonly object[]) =>
    callOverTls(stack, { authority, token, method: "index/add", params: { documents } });

  beforeAll(async () => {
    stack = new ComposeStack(await freePorts());
    await stack.build();
    await stack.up();
    authority = await stack.authority();
    readToken = await stack.token("read");
  }, 20 * MINUTE);

  afterAll(async () => {
    await deployment?.close();
    await stack.compose("down", "--volumes", "--remove-orphans");
  }, 5 * MINUTE);

  /** `pgrcp import` on this machine, as somebody who was given the authority's certificate and a token. */
  async function importOverTls(token: string, documents: readonly object[]) {
    const folder = await mkdtemp(join(tmpdir(), "pgrcp-compose-"));
    await writeFile(join(folder, "root.crt"), authority);
    await writeFile(join(folder, "token"), token);
    await writeFile(join(folder, "documents.jsonl"), documents.map((one) => `${JSON.stringify(one)}\n`).join(""));
    const server = ["--url", `https://localhost:${stack.tlsPort}/rcp`, "--token-file", "token"];
    const env = { NODE_EXTRA_CA_CERTS: join(folder, "root.crt") };
    const result = await runCli(["import", "documents.jsonl", ...server], folder, env);
    await rm(folder, { recursive: true });
    return result;
  }

  test("what is imported over TLS with an add token, a read token retrieves there", async () => {
    const imported = await importOverTls(await stack.token("add"), [LIGHTHOUSE, BAKERY]);
    const found = await retrieve(readToken);

    expect(imported).toMatchObject({ code: 0, stdout: expect.stringContaining("2 documents") });
    expect(found).toMatchObject({ result: { hits: [{ id: "lighthouse", text: LIGHTHOUSE.text }] } });
  });

  test("a read token may not add", async () => {
    expect(await add(readToken, [BAKERY])).toMatchObject({ error: { code: ErrorCode.Unauthorized } });
  });

  test("the operator sees what was written", async () => {
    const listed = await stack.compose("run", "--rm", "-T", "operator", "documents", "list", "demo", "default");

    expect(listed).toContain("lighthouse");
  });

  test("Postgres is published nowhere, and the server on this machine's loopback alone", async () => {
    const [database, server] = await Promise.all([stack.inspect("database"), stack.inspect("server")]);

    expect(publishedOn(database)).toEqual([]);
    expect(publishedOn(server)).toEqual(["127.0.0.1"]);
  });

  test("the server runs as a plain user who can write nothing and gain nothing", async () => {
    const { Config, HostConfig } = await stack.inspect("server");
    const status = await stack.compose("exec", "-T", "server", "cat", "/proc/1/status");
    const write = stack.compose("exec", "-T", "server", "node", "-e", 'fs.writeFileSync("/app/written", "")');

    expect(Config.User).toBe("1000:1000");
    expect(HostConfig.ReadonlyRootfs).toBe(true);
    expect(status).toMatch(/^Uid:\s+1000\s+1000\s+1000\s+1000$/m);
    expect(status).toMatch(/^CapBnd:\s+0{16}$/m);
    expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
    await expect(write).rejects.toThrow(/EROFS/);
  });

  test("the server holds the four logins and the public keys, and no other secret", async () => {
    const { Mounts } = await stack.inspect("server");
    const secrets = await stack.compose("exec", "-T", "server", "find", "/secrets", "-type", "f");

    expect(Mounts.filter(({ RW }) => RW).map(({ Destination }) => Destination)).toEqual([]);
    expect(secrets.trim().split("\n").sort()).toEqual([
      "/secrets/logins/adder",
      "/secrets/logins/deleter",
      "/secrets/logins/reader",
      "/secrets/logins/state",
      "/secrets/public/jwks.json",
    ]);
  });

  test("no secret stands in a container's environment", async () => {
    const files = ["superuser/password", "superuser/url", "operator/password", "logins/reader", "logins/adder"];
    const paths = files.map((file) => `/secrets/${file}`);
    const secrets = await Promise.all(
      paths.map((path) => stack.compose("run", "--rm", "-T", "--no-deps", "--entrypoint", "cat", "secrets", path)),
    );
    const containers = await Promise.all(["database", "migrate", "server", "caddy"].map((name) => stack.inspect(name)));
    const environment = containers.flatMap(({ Config }) => Config.Env).join("\n");

    expect(secrets.every((secret) => secret.length >= 40)).toBe(true);
    expect(secrets.filter((secret) => environment.includes(secret))).toEqual([]);
  });

  test("the image's health check passes while the server is ready", async () => {
    const { Config } = await stack.inspect("server");
    const [kind, ...command] = Config.Healthcheck?.Test ?? [];

    expect(kind).toBe("CMD");
    await expect(stack.compose("exec", "-T", "server", ...command)).resolves.toBe("");
  });

  test("new settings take the next up, and what was there stays", async () => {
    stack.override("test/containers/isolation.yml");
    await stack.up();

    expect(await retrieve(readToken)).toMatchObject({ result: { hits: [{ id: "lighthouse" }] } });
  });

  test(
    "three tenants with the same ids and texts meet nothing of each other through the TLS ingress",
    async () => {
      const seed = testSeed();
      deployment = await composeDeployment(stack);

      isolation = await runOperations(deployment, { seed, operations: 2_000, perPhase: 400 });

      printRun("through the TLS ingress", seed, isolation);
      expectIsolation(isolation, 2_000);
    },
    15 * MINUTE,
  );

  test("documents, logins and tokens outlive down and up, and a stop is a clean end", async () => {
    await stack.compose("stop", "server");
    const { State } = await stack.inspect("server");
    await stack.compose("down");
    await stack.up();

    expect(State.ExitCode).toBe(0);
    expect(await retrieve(readToken)).toMatchObject({ result: { hits: [{ id: "lighthouse" }] } });
  });

  test("and every tenant has what it had, in each mode, version and session", async () => {
    expect(await isolation.compareAgain()).toEqual([]);
  });
});
