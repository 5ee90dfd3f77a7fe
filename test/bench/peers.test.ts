import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { installNodePeers } from "../../bench/peers/install.ts";

const packageOf = async (path: string): Promise<{ readonly dependencies: Readonly<Record<string, string>> }> =>
  JSON.parse(await readFile(new URL(path, import.meta.url), "utf8"));

test("LangChain's store is asked through the same versions of fastify and pg that the server has", async () => {
  const ours = await packageOf("../../package.json");
  const theirs = await packageOf("../../bench/peers/package.json");

  expect(theirs.dependencies.fastify).toBe(ours.dependencies.fastify);
  expect(theirs.dependencies.pg).toBe(ours.dependencies.pg);
});

test("the peers' packages are pinned, and no registry is named", async () => {
  const lock = await readFile(new URL("../../bench/peers/package-lock.json", import.meta.url), "utf8");
  const requirements = await readFile(new URL("../../bench/peers/requirements.txt", import.meta.url), "utf8");

  expect(lock).toContain('"integrity": "sha512-');
  expect(lock).not.toContain('"resolved"');
  for (const line of requirements.trim().split("\n")) expect(line).toMatch(/^[a-z]+==[\d.]+$/);
});

test("why a peer's packages could not be had names no folder and no registry", async () => {
  const folder = await mkdtemp(join(tmpdir(), "pgrcp-peers-test-"));
  try {
    vi.stubEnv("PATH", folder);
    await expect(installNodePeers(folder)).rejects.toThrow("npm ci cannot be run: there is no such command");

    const refusal = `#!/bin/sh\necho "cannot reach https://packages.test from ${folder}" >&2\nexit 3\n`;
    await writeFile(join(folder, "npm"), refusal, { mode: 0o755 });
    await expect(installNodePeers(folder)).rejects.toThrow(/^npm ci failed with exit code 3$/);
  } finally {
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true });
  }
});
