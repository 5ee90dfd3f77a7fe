import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { configSchema } from "../../src/config/config.ts";
import { createFetcher } from "../../src/fetch/fetch-text.ts";

let folder: string;
let root: string;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "pgrcp-files-")));
  root = join(folder, "root");
  await mkdir(join(root, "below"), { recursive: true });
  await mkdir(join(folder, "root-beside"));
  await writeFile(join(root, "a b.txt"), "a text");
  await writeFile(join(root, "below", "page.html"), "<title>A page</title><p>a text</p>");
  await writeFile(join(root, "large.txt"), "x".repeat(1_001));
  await writeFile(join(root, "binary.txt"), Buffer.from([0xff, 0xfe]));
  await writeFile(join(folder, "secret.txt"), "a secret");
  await writeFile(join(folder, "root-beside", "secret.txt"), "a secret");
  await symlink(join(folder, "secret.txt"), join(root, "link.txt"));
  await symlink(folder, join(root, "up"));
  await symlink(join(root, "a b.txt"), join(root, "inner.txt"));
  await symlink("/dev/zero", join(root, "zero"));
  execFileSync("mkfifo", [join(root, "pipe")]);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const get = (path: string, type: "text/plain" | "text/html" = "text/plain") =>
  createFetcher(configSchema.parse({ fetch: { fileRoot: root, maxBytes: 1_000, trustedHosts: ["*"] } })).fetch(
    path.startsWith("file:") ? path : pathToFileURL(join(root, path)).href,
    type,
    new AbortController().signal,
  );

describe("files below the root", () => {
  test("are read as what they are said to be, are trusted by nobody, and their path is not cited", async () => {
    expect(await get("a b.txt")).toEqual({ text: "a text", title: undefined, isTrusted: false, isCitable: false });
    expect(await get("below/page.html", "text/html")).toMatchObject({ text: "a text", title: "A page" });
    expect((await get("inner.txt")).text).toBe("a text");
  });

  test.each([
    "missing.txt",
    "below",
    "",
    "large.txt",
    "binary.txt",
    "link.txt",
    "up/secret.txt",
    "zero",
    "pipe",
    "a b.txt/",
    "a b.txt/x",
  ])("refused: %j", async (path) => {
    await expect(get(path)).rejects.toMatchObject({ name: "FetchRefusal" });
  });

  test.each(["../secret.txt", "%2e%2e/secret.txt", "..%2fsecret.txt", "below/../../secret.txt", "a%00b", "%"])(
    "refused: %s",
    async (path) => {
      await expect(get(`${pathToFileURL(root).href}/${path}`)).rejects.toMatchObject({ name: "FetchRefusal" });
    },
  );

  test("refused: a folder whose name begins like the root's, and the root's own neighbours", async () => {
    for (const path of ["/etc/passwd", join(folder, "secret.txt"), join(folder, "root-beside", "secret.txt")])
      await expect(get(pathToFileURL(path).href)).rejects.toMatchObject({ stage: "file" });
  });

  test("one answer for what is not there and what may not be read", async () => {
    const messages = await Promise.all(
      ["missing.txt", "link.txt", "pipe", "../secret.txt", "../missing.txt"].map((path) =>
        get(path).catch((error: Error) => error.message),
      ),
    );

    expect(new Set(messages).size).toBe(1);
  });
});
