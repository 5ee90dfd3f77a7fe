import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";

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
