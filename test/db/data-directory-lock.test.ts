import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { lockDirectory, removeStale } from "../../src/db/data-directory-lock.ts";
import { isRunning, processStart } from "../../src/db/process-start.ts";

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "pgrcp-lock-"));
  file = join(folder, "lock");
});
afterEach(() => rm(folder, { recursive: true }));

/** A process id that nobody has: of a process that has ended. */
const deadPid = (): number => spawnSync(process.execPath, ["-e", ""]).pid;
const holder = (changes: object) =>
  writeFile(
    file,
    JSON.stringify({ pid: process.pid, started: processStart(process.pid), host: hostname(), ...changes }),
  );
const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);

const lockAndRelease = async () => {
  const release = await lockDirectory(folder);
  await release();
};
const held = { name: "StartupError", remedy: expect.stringContaining("database.embeddedDir") };

test("a free directory is locked by this process, and free again after release", async () => {
  const release = await lockDirectory(folder);

  expect(JSON.parse(await readFile(file, "utf8"))).toEqual({
    pid: process.pid,
    started: processStart(process.pid),
    host: hostname(),
  });
  await release();
  expect(await readdir(folder)).toEqual([]);
});

test("a directory that a living process holds is refused, also to that process", async () => {
  const release = await lockDirectory(folder);

  await expect(lockDirectory(folder)).rejects.toMatchObject(held);
  await release();
});

describe("a lock is taken over", () => {
  test("when its process has ended", async () => {
    await holder({ pid: deadPid() });
    await expect(lockAndRelease()).resolves.toBeUndefined();
  });

  test("when its process id is another process's by now", async () => {
    await holder({ started: "1" });
    await expect(lockAndRelease()).resolves.toBeUndefined();
  });

  test("when another host has been silent for long", async () => {
    await holder({ host: "elsewhere" });
    await utimes(file, minutesAgo(1), minutesAgo(1));
    await expect(lockAndRelease()).resolves.toBeUndefined();
  });

  test("when it was left half-written long ago", async () => {
    await writeFile(file, '{"pid":');
    await utimes(file, minutesAgo(1), minutesAgo(1));
    await expect(lockAndRelease()).resolves.toBeUndefined();
  });

  test("past a take-over that was itself interrupted", async () => {
    await holder({ pid: deadPid() });
    await mkdir(`${file}.take-over`);
    await utimes(`${file}.take-over`, minutesAgo(1), minutesAgo(1));
    await expect(lockAndRelease()).resolves.toBeUndefined();
  });

  test("by one of many that try at once", async () => {
    await holder({ pid: deadPid() });

    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => lockDirectory(folder)));

    const releases = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
    expect(releases).toHaveLength(1);
    for (const release of releases) await release();
  });
});

describe("a lock is respected", () => {
  test("by a take-over that was decided on before somebody else took it over", async () => {
    await holder({});
    await removeStale(file);
    await expect(lockDirectory(folder)).rejects.toMatchObject(held);
  });

  test("while another host gives signs of life", async () => {
    await holder({ host: "elsewhere", pid: deadPid() });
    await expect(lockDirectory(folder)).rejects.toMatchObject(held);
  });

  test("while somebody is writing it", async () => {
    await writeFile(file, "");
    await expect(lockDirectory(folder)).rejects.toMatchObject(held);
  });
});

test("a process's start tells it from an earlier one, and nobody has the dead one's", () => {
  expect(processStart(process.pid)).toBe(processStart(process.pid));
  expect(isRunning(process.pid)).toBe(true);
  const dead = deadPid();
  expect([isRunning(dead), processStart(dead)]).toEqual([false, undefined]);
});
