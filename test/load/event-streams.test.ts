import { execFile } from "node:child_process";
import http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openServerHome, type ServerHome } from "../support/crash/server-home.ts";
import type { ServerProcess } from "../support/crash/server-process.ts";
import { p95, rssMiB } from "../support/measures.ts";

const run = promisify(execFile);
const CLIENTS = 200;
const THINK_MS = 8_000;
const WARM_MS = 10_000;
const RUN_MS = 60_000;
const STALL_MS = 5_000;
/** 60 hits with their texts come to 4 MB: the kernel takes 3 MB for a reader of nothing, and the server has to wait with the rest. */
const TEXT_BYTES = 70_000;
const DOCUMENTS = 120;

let home: ServerHome;
let server: ServerProcess;
let url: string;
let token: string;
const isAsked = process.env.PGRCP_TEST_FULL === "1";

beforeAll(async () => {
  if (!isAsked) return;
  home = await openServerHome({
    server: { stallMs: STALL_MS },
    limits: { maxHitCharacters: 10_000_000 },
  });
  server = home.start();
  url = await server.ready;
  token = await home.issuer.mint({ expiresIn: 3_600 });
  const add = await home.issuer.mint({ credentials: ["add"], expiresIn: 3_600 });
  for (let from = 0; from < DOCUMENTS; from += 10) {
    const documents = Array.from({ length: 10 }, (_, n) => ({
      id: `d${from + n}`,
      text: `word number ${from + n} ${"filler ".repeat(TEXT_BYTES / 7)}`,
    }));
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "index/add", params: { documents, chunk: false } });
    const response = await fetch(`${url}/index/add`, {
      method: "POST",
      headers: { authorization: `Bearer ${add}`, "content-type": "application/json" },
      body,
    });
    expect(await response.json()).toMatchObject({ result: { chunks: 10 } });
  }
}, 120_000);

afterAll(async () => {
  if (isAsked) await home.close();
}, 60_000);

function open(params: object): Promise<http.IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = http.request(`${url}/retrieve`, {
      method: "POST",
      agent: false,
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "text/event-stream",
      },
    });
    request.on("error", reject);
    request.on("response", resolve);
    request.end(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "retrieve", params }));
  });
}

/** Asks, reads everything, thinks. @returns milliseconds of each answer */
async function readers(done: AbortSignal): Promise<number[]> {
  const times: number[] = [];
  const client = async (number: number) => {
    await sleep((number / CLIENTS) * THINK_MS);
    while (!done.aborted) {
      const startedAt = performance.now();
      const response = await open({ query: "word", k: 3, includeText: false, _meta: { progressToken: number } });
      let text = "";
      for await (const piece of response.setEncoding("utf8")) text += piece;
      times.push(performance.now() - startedAt);
      expect(text).toMatch(/"method":"notifications\/progress"/);
      expect(text).toMatch(/\n\ndata: \{"jsonrpc":"2\.0","id":1,"result":.*\n\n$/);
      await sleep(THINK_MS);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)));
  return times;
}

/** Reads nothing. @returns how often it was cut off, and how often its answer was waited for all the same */
async function slowReader(seconds: number): Promise<{ cuts: number; whole: number }> {
  const { hostname, port } = new URL(url);
  const script = fileURLToPath(new URL("slow_reader.py", import.meta.url));
  const pause = (3 * STALL_MS) / 1_000;
  const { stdout } = await run("python3", [script, hostname, port, token, String(seconds), String(pause)]);
  const [cuts = 0, whole = 0] = stdout.split(" ").map(Number);
  return { cuts, whole };
}

async function measure(ms: number, withSlow: boolean) {
  const done = new AbortController();
  const reading = readers(done.signal);
  const slow = withSlow ? slowReader(ms / 1_000 - 1) : undefined;
  await sleep(WARM_MS);
  const early = rssMiB(server.pid);
  await sleep(ms - WARM_MS);
  const late = rssMiB(server.pid);
  done.abort();
  return { times: await reading, slow: await slow, early, late };
}

// Takes three minutes and all of a small machine.
describe.runIf(isAsked)(`${CLIENTS} streams at a time`, () => {
  test("go on as before beside one reader that reads nothing, and memory stays where it was", async () => {
    const alone = await measure(RUN_MS / 2, false);
    // The first answers of 4 MB let the heap grow to its working size, which is not what is measured here.
    await measure(RUN_MS, true);
    const beside = await measure(RUN_MS, true);

    console.info(
      `p95 alone ${p95(alone.times).toFixed(0)} ms (${alone.times.length} answers), beside a slow reader ` +
        `${p95(beside.times).toFixed(0)} ms (${beside.times.length}); it was cut off ${beside.slow?.cuts} times; ` +
        `RSS ${beside.early.toFixed(0)} MiB at 10 s, ${beside.late.toFixed(0)} MiB at the end`,
    );
    expect(beside.slow?.whole).toBe(0);
    expect(beside.slow?.cuts).toBeGreaterThanOrEqual(2);
    expect(beside.late / beside.early).toBeLessThanOrEqual(1.1);
    expect(p95(beside.times) / p95(alone.times)).toBeLessThanOrEqual(1.5);
  }, 300_000);
});
