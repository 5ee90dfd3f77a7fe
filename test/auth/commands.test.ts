import { spawn } from "node:child_process";
import { mkdtemp, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, test, vi } from "vitest";
import { parse } from "yaml";
import { mintFirstRunTokens } from "../../src/auth/first-run-keys.ts";
import { createTokenVerifier } from "../../src/auth/jwt-verifier.ts";
import { main } from "../../src/cli/main.ts";
import { configSchema } from "../../src/config/config.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { ISSUER, issuerKey } from "./own-tokens.ts";

/** `pgrcp token` and `pgrcp check-config`, run as a person would. */
const BIN = path.join(import.meta.dirname, "../../bin/pgrcp.mjs");
const freshDirectory = () => mkdtemp(path.join(tmpdir(), "pgrcp-command-"));

/** In a process of its own, with something on standard input. */
async function spawned(args: readonly string[], cwd: string, input: string) {
  const child = spawn(process.execPath, [BIN, ...args], { cwd, env: { PATH: process.env.PATH } });
  child.stdin.on("error", () => {}).end(input);
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((ended) => child.on("close", ended)),
  ]);
  return { code, stdout, stderr };
}

/** In this process, which spares a start. */
async function pgrcp(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}) {
  const written = { stdout: "", stderr: "" };
  const home = process.cwd();
  const capture = (name: "stdout" | "stderr") =>
    vi.spyOn(process[name], "write").mockImplementation((chunk) => {
      written[name] += String(chunk);
      return true;
    });
  const spies = [capture("stdout"), capture("stderr")];
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  process.chdir(cwd);
  process.exitCode = undefined;
  try {
    await main(args);
    return { code: Number(process.exitCode ?? 0), ...written };
  } finally {
    process.exitCode = undefined;
    process.chdir(home);
    vi.unstubAllEnvs();
    for (const spy of spies) spy.mockRestore();
  }
}

/** A directory with a key, and a configuration that trusts it. */
async function deployment(auth = "") {
  const cwd = await freshDirectory();
  const made = await pgrcp(["token", "keygen"], cwd);
  await writeFile(path.join(cwd, "config.yaml"), `${made.stdout.slice(made.stdout.indexOf("auth:"))}${auth}`);
  const mint = (...args: string[]) =>
    pgrcp(["token", "mint", "--key", "pgrcp-key.json", "--tenant", "acme", "--subject", "ci", ...args], cwd);
  return { cwd, made, mint };
}

describe("pgrcp token keygen", () => {
  test("makes a private key that only its owner reads, a public set, and a configuration that can be pasted", async () => {
    const { cwd, made } = await deployment();
    const privateKey = JSON.parse(await readFile(path.join(cwd, "pgrcp-key.json"), "utf8"));
    const { keys } = JSON.parse(await readFile(path.join(cwd, "pgrcp-jwks.json"), "utf8"));

    expect(made.code).toBe(0);
    expect((await stat(path.join(cwd, "pgrcp-key.json"))).mode & 0o777).toBe(0o600);
    expect((await stat(path.join(cwd, "pgrcp-jwks.json"))).mode & 0o777).toBe(0o644);
    expect(keys).toEqual([expect.objectContaining({ kid: privateKey.kid, alg: "ES256", use: "sig" })]);
    expect(Object.keys(keys[0])).not.toContain("d");
    expect(made.stdout).not.toContain(privateKey.d);
    expect(parse(await readFile(path.join(cwd, "config.yaml"), "utf8"))).toEqual({
      auth: {
        issuers: [{ issuer: "https://tokens.example.org/", jwksFile: "pgrcp-jwks.json", algorithms: ["ES256"] }],
      },
    });
  });

  test("keeps keys that are there and overwrites none", async () => {
    const { cwd } = await deployment();
    const again = await pgrcp(["token", "keygen"], cwd);
    const second = await pgrcp(["token", "keygen", "--private", "second.json", "--alg", "EdDSA"], cwd);
    const { keys } = JSON.parse(await readFile(path.join(cwd, "pgrcp-jwks.json"), "utf8"));

    expect(again).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("the private key's file exists"),
    });
    expect(second.code).toBe(0);
    expect(keys.map(({ alg }: { alg: string }) => alg)).toEqual(["ES256", "EdDSA"]);
  });

  test("does not write public keys into a file that holds something else", async () => {
    const cwd = await freshDirectory();
    await writeFile(path.join(cwd, "pgrcp-jwks.json"), "mine");
    const { code } = await pgrcp(["token", "keygen"], cwd);

    expect(code).toBe(2);
    expect(await readFile(path.join(cwd, "pgrcp-jwks.json"), "utf8")).toBe("mine");
    await expect(stat(path.join(cwd, "pgrcp-key.json"))).rejects.toThrow();
  });
});

describe("pgrcp token mint", () => {
  test("prints a token that the server accepts, and nothing else", async () => {
    const { cwd, mint } = await deployment();
    const { code, stdout, stderr } = await mint("--credential", "add", "--ttl", "15m");
    const { auth } = await loadConfig({ file: path.join(cwd, "config.yaml"), env: {} });
    const jwks = path.join(cwd, "pgrcp-jwks.json");
    const verifier = createTokenVerifier({
      ...auth,
      issuers: auth.issuers.map((each) => ({ ...each, jwksFile: jwks })),
    });
    const principal = await verifier.verify([`Bearer ${stdout.trim()}`]);

    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    expect(principal).toMatchObject({ tenantId: "acme", subject: "ci", credentials: new Set(["add"]) });
    expect(principal.expiresAt - Date.now() / 1000).toBeGreaterThan(890);
    expect(principal.expiresAt - Date.now() / 1000).toBeLessThanOrEqual(900);
  });

  test("keeps a token to corpora where the server does, and makes none where it does not", async () => {
    const bound = await deployment("  corporaClaim: corpora\n");
    const { stdout } = await bound.mint("--credential", "read", "--corpus", "docs", "--corpus", "notes");
    const everywhere = await bound.mint("--credential", "read");
    const unbound = await deployment();
    const refused = await unbound.mint("--credential", "read", "--corpus", "docs");

    const claims = (token: string) => JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
    expect(claims(stdout)).toMatchObject({ corpora: ["docs", "notes"] });
    expect(claims(everywhere.stdout)).toMatchObject({ corpora: ["*"] });
    expect(refused).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("set auth.corporaClaim") });
  });

  test("lets a reader see what is redacted where the server has a scope for it, and makes no token where it has none", async () => {
    const lifting = await deployment("  read: { unredactedScope: phi.read }\n");
    const { stdout } = await lifting.mint("--credential", "read", "--unredacted");
    const plain = await lifting.mint("--credential", "read");
    const refused = [
      await (await deployment()).mint("--credential", "read", "--unredacted"),
      await lifting.mint("--credential", "add", "--unredacted"),
    ];

    const scope = (token: string) => JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()).scope;
    expect([scope(stdout), scope(plain.stdout)]).toEqual(["rcp:read phi.read", "rcp:read"]);
    for (const { code, stdout, stderr } of refused)
      expect([code, stdout, stderr]).toEqual([2, "", expect.stringContaining("set auth.read.unredactedScope")]);
  });

  test("for a first run, with the key that the server keeps", async () => {
    const cwd = await freshDirectory();
    const { auth } = configSchema.parse({});
    const { issuer } = await mintFirstRunTokens(path.join(cwd, ".pgrcp"), auth);
    const args = ["token", "mint", "--tenant", "acme", "--subject", "me"];
    const { stdout } = await pgrcp([...args, "--credential", "read", "--credential", "add"], cwd);

    expect(await createTokenVerifier(auth, { dev: issuer }).verify([`Bearer ${stdout.trim()}`])).toMatchObject({
      tenantId: "acme",
      credentials: new Set(["read", "add"]),
    });
    expect(await pgrcp([...args, "--credential", "read"], await freshDirectory())).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("remedy: start the server once"),
    });
  });

  test("for an issuer with a shared secret, with that", async () => {
    const cwd = await freshDirectory();
    const secret = "0123456789abcdef0123456789abcdef";
    await writeFile(path.join(cwd, "config.yaml"), "auth: {issuers: [{issuer: a, algorithms: [HS256]}]}");
    const env = { PGRCP_AUTH__ISSUERS__0__SECRET: secret };
    const args = ["token", "mint", "--tenant", "acme", "--subject", "me", "--credential", "read"];
    const { code, stdout } = await pgrcp(args, cwd, env);
    const { auth } = await loadConfig({ file: path.join(cwd, "config.yaml"), env });

    expect(code).toBe(0);
    expect(await createTokenVerifier(auth).verify([`Bearer ${stdout.trim()}`])).toMatchObject({ tenantId: "acme" });
  });

  test.each([
    [["--credential", "read", "--credential", "add"], "a token with several credentials would be good for none"],
    [["--credential", "read", "--ttl", "2d"], "the token would live longer than the server accepts"],
    [["--credential", "read", "--ttl", "forever"], "It must look like 900, 15m, 12h or 1d."],
    [["--credential", "read", "--ttl", "0"], "It must look like 900, 15m, 12h or 1d."],
    [["--credential", "write"], "It must be one of read, add, delete."],
    [["--credential", "read", "--tenant", "ACME"], "the tenant id is not one that tokens may carry"],
    [["--credential", "read", "--subject", ""], "the subject cannot be kept"],
    [["--credential", "read", "--issuer", "https://other.test/"], "no such issuer is configured"],
    [["--credential", "read", "--key", "nowhere.json"], "the private key cannot be read"],
    [["--credential", "read", "--key", "pgrcp-jwks.json"], "the private key cannot be read"],
    [[], "required option '--credential <name>' not specified"],
  ])("%j is refused", async (args, message) => {
    const { mint } = await deployment();
    const { code, stdout, stderr } = await mint(...args);

    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(message);
  });

  test("a token that the server would refuse is not handed out", async () => {
    const { cwd, mint } = await deployment();
    await pgrcp(["token", "keygen", "--private", "other.json", "--jwks", "other-jwks.json"], cwd);
    const stranger = await mint("--credential", "read", "--key", "other.json");

    expect(stranger).toMatchObject({ code: 2, stdout: "" });
    expect(stranger.stderr).toContain("the server would refuse this token (kid)");
  });

  test("a credential that belongs to another issuer is not handed out", async () => {
    const other = "    - {issuer: b, jwksFile: pgrcp-jwks.json}\n  read: {issuer: b}\n";
    const { mint } = await deployment(other);

    expect(await mint("--credential", "read", "--issuer", "https://tokens.example.org/")).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("another issuer is configured for this credential"),
    });
    expect(await mint("--credential", "read")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--issuer: https://tokens.example.org/, b"),
    });
    expect(await mint("--credential", "read", "--issuer", "b")).toMatchObject({ code: 0, stderr: "" });
  });
});

describe("pgrcp token inspect", () => {
  test("says that every check passes, and never shows the token", async () => {
    const { cwd, mint } = await deployment();
    const token = (await mint("--credential", "read")).stdout;
    await writeFile(path.join(cwd, "t"), token);
    const fromFile = await pgrcp(["token", "inspect", "t"], cwd);

    expect(fromFile.code).toBe(0);
    expect(await spawned(["token", "inspect"], cwd, token)).toEqual(fromFile);
    expect(fromFile.stdout).toContain('tenant: "acme"');
    expect(fromFile.stdout).toContain("  pass  signature\n");
    expect(fromFile.stdout).toContain("good for: read\n");
    expect(fromFile.stdout).not.toContain("FAIL");
    for (const part of token.trim().split(".")) expect(fromFile.stdout + fromFile.stderr).not.toContain(part);
  });

  test("goes on after a check that fails and says what each wants", async () => {
    const { cwd } = await deployment();
    const token = await issuerKey("k", ISSUER).sign(
      { exp: 5, tenant: "\u001b[31mred\u202e", aud: "pgrcp:add", scope: ["rcp:index.add"] },
      { typ: "JWT" },
    );
    await writeFile(path.join(cwd, "t"), token);
    const { code, stdout } = await pgrcp(["token", "inspect", "t"], cwd);

    expect(code).toBe(3);
    const failed = [...stdout.matchAll(/^ {2}FAIL {2}(\w+): wants /gm)].map(([, name]) => name);
    expect(failed).toEqual(["typ", "iss", "alg", "signature", "exp", "tenant", "scope"]);
    expect(stdout).toContain("FAIL  typ: wants typ at+jwt (auth.typ)");
    expect(stdout).toContain("good for: nothing");
    expect(stdout).not.toMatch(/[^\n\x20-\x7e]/);
  });

  test("a first-run token is looked at with the first-run key", async () => {
    const cwd = await freshDirectory();
    await mintFirstRunTokens(path.join(cwd, ".pgrcp"), configSchema.parse({}).auth);
    const { code, stdout } = await pgrcp(["token", "inspect", ".pgrcp/dev/all.token"], cwd);

    expect(code).toBe(0);
    expect(stdout).toContain("good for: read, add, delete\n");
  });

  test.each([
    [["token", "inspect", "eyJhbGciOiJub25lIn0.e30."], 2, "every user of a machine can read command lines"],
    [["token", "inspect", "nowhere"], 2, "the token's file cannot be read"],
    [["token", "inspect", "-"], 3, "not a token that can be read (form)"],
  ])("%j ends with %i", async (args, code, message) => {
    const { cwd } = await deployment();
    const found = await spawned(args, cwd, "hunter2");

    expect(found).toMatchObject({ code, stdout: "" });
    expect(found.stderr).toContain(message);
    expect(found.stderr).not.toContain("hunter2");
    expect(found.stderr).not.toContain("eyJ");
  });
});

describe("pgrcp check-config", () => {
  test("prints what is in force, without secrets, as YAML that can be read again", async () => {
    const cwd = await freshDirectory();
    await writeFile(path.join(cwd, "config.yaml"), "server: {port: 9000}\nauth: {combinedTokens: true}\n");
    const env = { PGRCP_DATABASE__READER__PASSWORD: "hunter2", PGRCP_DATABASE__URL: "postgres://u:hunter2@db/pgrcp" };
    const { code, stdout, stderr } = await pgrcp(["check-config"], cwd, env);
    const printed = parse(stdout);

    expect(code).toBe(0);
    expect(stdout + stderr).not.toContain("hunter2");
    expect(printed.server.port).toBe(9000);
    expect(printed.database).toMatchObject({ url: "postgres://u:<set>@db/pgrcp", reader: { password: "<set>" } });
    expect(configSchema.safeParse(printed).success).toBe(true);
    expect(stderr).toBe("warning: auth.combinedTokens: a token that leaks may read, add and delete alike\n");
  });

  test("tells every problem on a line of its own and ends with 2", async () => {
    const cwd = await freshDirectory();
    await writeFile(path.join(cwd, "c.yaml"), "server:\n  prt: 1\nlog: {level: loud}\n");
    const { code, stdout, stderr } = await pgrcp(["check-config", "--config", "c.yaml"], cwd);

    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr.split("\n")).toEqual([
      "error: server.prt (c.yaml line 2): unknown key; did you mean server.port?",
      "error: log.level (c.yaml line 3): must be one of fatal, error, warn, info, debug, trace, silent",
      expect.stringMatching(/^remedy: /),
      "",
    ]);
  });
});
