import { chmod, mkdtemp, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { FIRST_RUN_TOKENS, type FirstRun, mintFirstRunTokens } from "../../src/auth/first-run-keys.ts";
import { createTokenVerifier } from "../../src/auth/jwt-verifier.ts";
import { configSchema } from "../../src/config/config.ts";

const auth = configSchema.parse({}).auth;
const freshDirectory = () => mkdtemp(path.join(tmpdir(), "pgrcp-first-run-"));
const modeOf = async (file: string) => (await stat(file)).mode & 0o777;

async function principals(run: FirstRun, settings = auth, now?: () => number) {
  const verifier = createTokenVerifier(settings, { dev: run.issuer, now });
  return Promise.all(
    FIRST_RUN_TOKENS.map(async (name) => {
      const text = await readFile(run.tokenFiles[name], "utf8");
      return verifier.verify([`Bearer ${text.trim()}`]);
    }),
  );
}

test("each token is good for what its name says, for the tenant demo, for a day", async () => {
  const run = await mintFirstRunTokens(await freshDirectory(), auth, () => 2_000_000_000_000);
  const found = await principals(run, auth, () => 2_000_000_000_000);

  expect(found.map(({ credentials }) => [...credentials])).toEqual([
    ["read"],
    ["add"],
    ["delete"],
    ["read", "add", "delete"],
  ]);
  expect(new Set(found.map(({ tenantId }) => tenantId))).toEqual(new Set(["demo"]));
  expect(new Set(found.map(({ expiresAt }) => expiresAt))).toEqual(new Set([2_000_086_400]));
  expect(run.expiresAt).toBe(2_000_086_400);
  expect(new Set(found.map(({ tokenId }) => tokenId)).size).toBe(4);
});

test("only the owner can read them, and nothing else is left behind", async () => {
  const directory = await freshDirectory();
  await mintFirstRunTokens(directory, auth);
  const home = path.join(directory, "dev");
  await chmod(home, 0o755);
  await chmod(path.join(home, "key.json"), 0o644);
  await chmod(path.join(home, "all.token"), 0o644);
  await mintFirstRunTokens(directory, auth);

  expect((await readdir(home)).sort()).toEqual(["add.token", "all.token", "delete.token", "key.json", "read.token"]);
  expect(await modeOf(home)).toBe(0o700);
  for (const name of await readdir(home)) expect(await modeOf(path.join(home, name))).toBe(0o600);
});

test("the key stays, the tokens are new at every start", async () => {
  const directory = await freshDirectory();
  const first = await mintFirstRunTokens(directory, auth);
  const before = await readFile(first.tokenFiles.read, "utf8");
  const second = await mintFirstRunTokens(directory, auth);

  expect(second.issuer).toEqual(first.issuer);
  expect(await readFile(second.tokenFiles.read, "utf8")).not.toBe(before);
  expect(await principals(first)).toHaveLength(4);
  expect(JSON.stringify(first.issuer)).not.toContain('"d"');
});

test("the configuration's claims, audiences, typ and lifetime are kept to", async () => {
  const settings = configSchema.parse({
    auth: {
      read: { audience: "r", scope: "s" },
      typ: "JWT",
      tenantClaim: "https://x.test/tenant.id",
      scopeClaim: "app.permissions",
      scopeForm: "array",
      corporaClaim: "app.corpora",
      maxLifetimeSeconds: 60,
    },
  }).auth;
  const run = await mintFirstRunTokens(await freshDirectory(), settings);
  const [read, , , all] = await principals(run, settings);

  expect(read?.credentials).toEqual(new Set(["read"]));
  expect(all).toMatchObject({ credentials: new Set(["read", "add", "delete"]), corpora: "all" });
  const later = () => Date.now() + 120_000;
  await expect(principals(run, settings, later)).rejects.toMatchObject({ check: "exp" });
});

test("another installation's tokens are refused", async () => {
  const mine = await mintFirstRunTokens(await freshDirectory(), auth);
  const theirs = await mintFirstRunTokens(await freshDirectory(), auth);

  await expect(principals({ ...theirs, issuer: mine.issuer })).rejects.toMatchObject({ check: "kid" });
});

test("a key that cannot be used is told, with one remedy, and is not overwritten", async () => {
  const directory = await freshDirectory();
  await mintFirstRunTokens(directory, auth);
  const file = path.join(directory, "dev", "key.json");
  await writeFile(file, "{");

  await expect(mintFirstRunTokens(directory, auth)).rejects.toMatchObject({
    exitCode: 2,
    remedy: `delete ${file}; the next start makes a new one`,
  });
  expect(await readFile(file, "utf8")).toBe("{");
});

test("starts at the same moment leave whole tokens of one key", async () => {
  const directory = await freshDirectory();
  await mintFirstRunTokens(directory, auth);
  const runs = await Promise.all(Array.from({ length: 8 }, () => mintFirstRunTokens(directory, auth)));

  for (const run of runs) expect(await principals(run)).toHaveLength(4);
});
