import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { bearerIdentity } from "../../src/cli/import-state.ts";
import { sendError, sendJson } from "../client/rcp-server.ts";
import { documentsOf, type FakeIndex, type FakeIndexOptions, startFakeIndex } from "./fake-index.ts";
import { runCli, startCli } from "./run-cli.ts";

let cwd: string;
const indexes: FakeIndex[] = [];
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), "pgrcp-import-"));
});
afterEach(async () => {
  await Promise.all(indexes.splice(0).map((index) => index.close()));
  await rm(cwd, { recursive: true });
});

async function startIndex(options: FakeIndexOptions = {}): Promise<FakeIndex> {
  const index = await startFakeIndex(options);
  indexes.push(index);
  return index;
}

/** Documents d0 … d(n-1) in in.jsonl. */
async function writeInput(lines: readonly (object | string)[]): Promise<void> {
  const text = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n");
  await writeFile(join(cwd, "in.jsonl"), `${text}\n`);
}
const numbered = (count: number) => Array.from({ length: count }, (_, i) => ({ id: `d${i}`, text: `text ${i}` }));
const importInput = (index: FakeIndex, ...more: readonly string[]) =>
  runCli(["import", "in.jsonl", "--url", index.url, ...more], cwd);

test("every document is added once, in batches of the size asked for, and the counts are printed", async () => {
  const index = await startIndex();
  await writeInput(numbered(25));

  const { code, stdout } = await importInput(index, "--batch", "10");

  expect(code).toBe(0);
  expect(stdout).toMatch(/^25 documents added as 25 chunks, 0 unchanged since an earlier run, 0 left out, in /);
  expect(index.batches.map((batch) => batch.length).sort()).toEqual([10, 10, 5]);
  expect(index.stored.size).toBe(25);
  expect(index.stored.get("d7")?.text).toBe("text 7");
});

test("the token file's token and the corpus's path are used", async () => {
  const index = await startIndex();
  await writeInput(numbered(1));
  await writeFile(join(cwd, "t"), "secret\n");

  await importInput(index, "--token-file", "t", "--corpus", "papers");

  expect(index.calls.at(-1)?.headers.authorization).toBe("Bearer secret");
  expect(index.calls.at(-1)?.path).toBe("/corpora/papers/rcp/index/add");
});

test("batches are bounded by bytes, and a larger document travels alone", async () => {
  const index = await startIndex();
  await writeInput([
    { id: "a", text: "x".repeat(400) },
    { id: "b", text: "x".repeat(400) },
    { id: "c", text: "x".repeat(400) },
    { id: "d", text: "x".repeat(3000) },
    { id: "e", text: "x" },
  ]);

  await importInput(index, "--batch-bytes", "1000", "--concurrency", "1");

  expect(index.batches).toEqual([["a", "b"], ["c"], ["d"], ["e"]]);
});

describe("running again", () => {
  test("sends only what is new or changed, and all of it with --restart", async () => {
    const index = await startIndex();
    await writeInput(numbered(5));
    await importInput(index);
    const changed = numbered(6).map((document) => (document.id === "d2" ? { ...document, text: "other" } : document));
    await writeInput(changed);
    index.batches.length = 0;

    const second = await importInput(index, "--concurrency", "1");
    expect(second.stdout).toMatch(/^2 documents added as 2 chunks, 4 unchanged/);
    expect(index.batches).toEqual([["d2", "d5"]]);

    const third = await importInput(index, "--restart");
    expect(third.stdout).toMatch(/^6 documents added as 6 chunks, 0 unchanged/);
  });

  test("another corpus and another tenant's token begin from nothing", async () => {
    const index = await startIndex();
    await writeInput(numbered(3));
    const token = (claims: object) => `h.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.s`;
    await writeFile(join(cwd, "a"), token({ sub: "x", tenant: "one", exp: 1, jti: "1" }));
    await writeFile(join(cwd, "a2"), token({ tenant: "one", sub: "x", exp: 2, jti: "2" }));
    await writeFile(join(cwd, "b"), token({ sub: "x", tenant: "two", exp: 1 }));

    await importInput(index, "--token-file", "a");
    expect((await importInput(index, "--token-file", "a2")).stdout).toMatch(/^0 documents added .* 3 unchanged/);
    expect((await importInput(index, "--token-file", "b")).stdout).toMatch(/^3 documents added/);
    expect((await importInput(index, "--token-file", "a", "--corpus", "c")).stdout).toMatch(/^3 documents added/);
  });

  test("after a kill between batches the rest is sent, and nothing twice but what was under way", async () => {
    const { promise: reached, resolve } = Promise.withResolvers<void>();
    let hold = true;
    const index = await startIndex({
      before: (call, _response, { batches }) => {
        if (!hold || call.body.method !== "index/add" || batches.length < 3) return false;
        resolve();
        return true; // never answered
      },
    });
    await writeInput(numbered(100));
    const args = ["import", "in.jsonl", "--url", index.url, "--batch", "10", "--concurrency", "1"];
    const first = startCli(args, cwd);
    await reached;
    first.kill("SIGKILL");
    await first.result;
    hold = false;
    const before = index.batches.flat();
    index.batches.length = 0;

    const second = await runCli(args, cwd);

    expect(before).toHaveLength(30);
    expect(second.code).toBe(0);
    expect(second.stdout).toMatch(/^70 documents added as 70 chunks, 30 unchanged/);
    expect(index.batches.flat().filter((id) => before.includes(id))).toEqual([]);
    expect(index.stored.size).toBe(100);
  });

  test("a state whose last line was cut is read up to there", async () => {
    const index = await startIndex();
    await writeInput(numbered(4));
    await importInput(index, "--batch", "1", "--concurrency", "1");
    const folder = join(cwd, ".pgrcp", "imports");
    const [name = ""] = await readdir(folder);
    const state = await readFile(join(folder, name), "utf8");
    await writeFile(join(folder, name), state.slice(0, -10));
    index.batches.length = 0;

    expect((await importInput(index)).stdout).toMatch(/^1 documents added .* 3 unchanged/);
    expect(index.batches).toEqual([["d3"]]);
    expect((await importInput(index)).stdout).toMatch(/^0 documents added .* 4 unchanged/);
  });

  test("Ctrl-C finishes the request under way, and the next run sends the rest", async () => {
    const index = await startIndex({
      before: async (call) => {
        if (call.body.method === "index/add") await new Promise((resolve) => setTimeout(resolve, 100));
        if (call.body.method === "index/add" && index.batches.length === 2) run.kill("SIGINT");
        return false;
      },
    });
    await writeInput(numbered(60));
    const args = ["import", "in.jsonl", "--url", index.url, "--batch", "10", "--concurrency", "1"];
    const run = startCli(args, cwd);

    const first = await run.result;
    const added = index.batches.flat().length;

    expect(first.code).toBe(130);
    expect(first.stderr).toContain("remedy: run the same command again to send the rest");
    expect(first.stdout).toMatch(new RegExp(`^${added} documents added`));
    expect(added).toBeGreaterThanOrEqual(30);
    expect(added).toBeLessThan(60);
    expect((await runCli(args, cwd)).stdout).toMatch(
      new RegExp(`^${60 - added} documents added .* ${added} unchanged`),
    );
  });
});

describe("what a server refuses", () => {
  test("a refused document is listed with the reason, the rest goes on, and the exit code says so", async () => {
    const index = await startIndex();
    await writeInput(
      numbered(20).map((document, i) => (i === 3 || i === 11 ? { ...document, meta: { year: "x" } } : document)),
    );

    const { code, stdout, stderr } = await importInput(index, "--batch", "10");

    expect(code).toBe(5);
    expect(stdout).toMatch(/^18 documents added as 18 chunks, 0 unchanged since an earlier run, 2 left out/);
    expect(stderr).toContain("left out: line 4: d3: meta.year: year is an integer (-32602)\n");
    expect(stderr).toContain("left out: line 12: d11: meta.year: year is an integer (-32602)\n");
    expect(index.stored.has("d3")).toBe(false);
    expect(index.stored.size).toBe(18);
  });

  test("a refusal that names no document is found by halving", async () => {
    const index = await startIndex({
      before: (call, response) => {
        const bad = call.body.method === "index/add" && documentsOf(call).some((document) => document.id === "d5");
        if (bad) sendError(call, response, -32603);
        return bad;
      },
    });
    await writeInput(numbered(8));

    const { code, stderr } = await importInput(index);

    expect(code).toBe(5);
    expect(stderr).toContain("left out: line 6: d5: code -32603 (-32603)");
    expect([...index.stored.keys()].sort()).toEqual(["d0", "d1", "d2", "d3", "d4", "d6", "d7"]);
  });

  test.each([413, 200])("a batch that is too large (HTTP %i) is halved until it fits", async (status) => {
    const index = await startIndex({
      before: (call, response) => {
        const large = call.body.method === "index/add" && documentsOf(call).length > 3;
        if (large) sendError(call, response, -32013, { detail: "limits.maxDocumentsPerAdd" }, status);
        return large;
      },
    });
    await writeInput(numbered(10));

    const { code } = await importInput(index, "--batch", "10");

    expect(code).toBe(0);
    expect(index.stored.size).toBe(10);
    expect(Math.max(...index.batches.map((batch) => batch.length))).toBe(3);
  });

  test("a batch that takes the server too long is halved at once", async () => {
    const index = await startIndex({
      before: (call, response) => {
        const slow = call.body.method === "index/add" && documentsOf(call).length > 5;
        if (slow) sendError(call, response, -32014, { retryable: true });
        return slow;
      },
    });
    await writeInput(numbered(10));

    expect((await importInput(index, "--batch", "10")).code).toBe(0);
    expect(index.calls.filter((call) => call.body.method === "index/add")).toHaveLength(3);
  });

  test("bad lines and repeated ids are named by line, and the first of a repeated id is kept", async () => {
    const index = await startIndex();
    await writeInput([{ id: "a", text: "first" }, "{nonsense", { id: "b", text: "t" }, { id: "a", text: "second" }]);

    const { code, stderr } = await importInput(index);

    expect(code).toBe(5);
    expect(stderr).toContain("left out: line 2: not valid JSON\n");
    expect(stderr).toContain("left out: line 4: the id repeats that of line 1, which was kept\n");
    expect(index.stored.get("a")?.text).toBe("first");
    expect(index.stored.size).toBe(2);
  });

  test("too many problems end the run", async () => {
    const index = await startIndex();
    await writeInput(Array.from({ length: 50 }, () => "{"));

    const { code, stderr } = await importInput(index, "--max-problems", "5");

    expect(code).toBe(5);
    expect(stderr.match(/left out/g)).toHaveLength(6); // five lines and the failure's own
    expect(stderr).toContain("--max-problems");
  });
});

describe("a server in trouble", () => {
  test("rate limits and outages are waited out", async () => {
    let calls = 0;
    const index = await startIndex({
      before: (call, response) => {
        if (call.body.method !== "index/add") return false;
        calls += 1;
        if (calls === 1) sendJson(response, 429, {}, { "retry-after": "1" });
        else if (calls === 2) sendError(call, response, -32010, { retryable: true, retryAfterMs: 10 });
        else if (calls === 3) response.socket?.destroy();
        return calls <= 3;
      },
    });
    await writeInput(numbered(3));

    const { code, stderr } = await importInput(index);

    expect(code).toBe(0);
    expect(index.stored.size).toBe(3);
    expect(stderr.match(/waiting/g)).toHaveLength(3);
  });

  test("no server: one line, one remedy, exit code 3, nothing read", async () => {
    const index = await startIndex();
    await index.close();
    await writeInput(numbered(1));

    const { code, stderr } = await importInput(index);

    expect(code).toBe(3);
    expect(stderr).toBe(
      `error: no answer from ${index.url}: connection refused\nremedy: start the server (npm start), or name another with --url\n`,
    );
  });

  test("a refused token and a token that may not add end before anything is sent", async () => {
    const refusing = await startIndex({
      before: (call, response) => {
        sendError(call, response, -32012, {}, 401);
        return true;
      },
    });
    const readOnly = await startIndex({ writable: false });
    await writeInput(numbered(1));

    const refused = await importInput(refusing);
    const cannot = await importInput(readOnly);

    expect(refused.code).toBe(3);
    expect(refused.stderr).toMatch(/^error: the server answered -32012.*\nremedy: pass --token-file/);
    expect(cannot.code).toBe(3);
    expect(cannot.stderr).toMatch(/^error: this token may not add documents\n/);
    expect(readOnly.batches).toEqual([]);
  });

  test("a token that ends in the middle stops the run with what was done in the state", async () => {
    const index = await startIndex({
      before: (call, response, { batches }) => {
        const ended = call.body.method === "index/add" && batches.length >= 2;
        if (ended) sendError(call, response, -32012, {}, 401);
        return ended;
      },
    });
    await writeInput(numbered(40));

    const { code, stdout, stderr } = await importInput(index, "--batch", "10", "--concurrency", "1");

    expect(code).toBe(3);
    expect(stdout).toMatch(/^20 documents added/);
    expect(stderr).toContain("then run the same command again to send the rest");
  });

  test("a token goes over plain http to this machine only", async () => {
    await writeInput(numbered(1));
    await writeFile(join(cwd, "t"), "secret");

    const { code, stderr } = await runCli(
      ["import", "in.jsonl", "--url", "http://10.0.0.1/rcp", "--token-file", "t"],
      cwd,
    );

    expect(code).toBe(2);
    expect(stderr).toContain("--insecure-http");
    expect(stderr).not.toContain("secret");
  });
});

test("what a server says cannot steer the terminal", async () => {
  const index = await startIndex({
    before: (call, response) => {
      if (call.body.method !== "index/add") return false;
      sendError(call, response, -32602, { field: "documents[0].text", detail: "\u001b[2Jgone\u202e" });
      return true;
    },
  });
  await writeInput(numbered(1));

  const { stderr } = await importInput(index);

  expect(stderr).toContain("\\u{1b}[2Jgone\\u{202e}");
  expect(stderr).not.toContain("\u001b");
});

test("a folder is imported with paths as ids", async () => {
  const index = await startIndex();
  await mkdir(join(cwd, "docs", "sub"), { recursive: true });
  await writeFile(join(cwd, "docs", "a.md"), "# A\n");
  await writeFile(join(cwd, "docs", "sub", "b.html"), "<p>b</p>");

  const { code } = await runCli(["import", "docs", "--url", index.url], cwd);

  expect(code).toBe(0);
  expect([...index.stored.values()].sort((a, b) => (a.id < b.id ? -1 : 1))).toEqual([
    { id: "a.md", text: "# A\n", meta: { title: "A" } },
    { id: "sub/b.html", text: "b" },
  ]);
});

test("two tokens of one bearer have one identity, and a token that is no JWT stands for itself", () => {
  const token = (claims: object) => `h.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.s`;

  expect(bearerIdentity(token({ iss: "i", sub: "s", exp: 1 }))).toBe(
    bearerIdentity(token({ sub: "s", iss: "i", exp: 9, iat: 3 })),
  );
  expect(bearerIdentity(token({ sub: "s" }))).not.toBe(bearerIdentity(token({ sub: "t" })));
  expect(bearerIdentity("opaque")).toBe("opaque");
  expect(bearerIdentity("a.%%%.c")).toBe("a.%%%.c");
  expect(bearerIdentity(undefined)).toBe("");
});
