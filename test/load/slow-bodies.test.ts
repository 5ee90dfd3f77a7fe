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
const SLOW = 500;
const RETRIEVES_PER_SECOND = 50;
const WARM_MS = 30_000;
const QUIET_MS = 60_000;
const FLOOD_MS = 60_000;
const DOCUMENTS = 100;

let home: ServerHome;
let server: ServerProcess;
let url: string;
let token: string;
const isAsked = process.env.PGRCP_TEST_FULL === "1";

beforeAll(async () => {
  if (!isAsked) return;
  home = await openServerHome();
  server = home.start();
  url = await server.ready;
  token = await home.issuer.mint({ expiresIn: 3_600 });
  const documents = Array.from({ length: DOCUMENTS }, (_, n) => ({ id: `d${n}`, text: `word number ${n}` }));
  const add = await home.issuer.mint({ credentials: ["add"] });
  const answer = await post("index/add", { documents }, add);
  expect(JSON.parse(answer)).toMatchObject({ result: { chunks: DOCUMENTS } });
}, 120_000);

afterAll(async () => {
  if (isAsked) await home.close();
}, 60_000);

const agent = new http.Agent({ keepAlive: true });

function post(method: string, params: object, bearer = token): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${bearer}`, "content-type": "application/json" };
    const request = http.request(`${url}/${method}`, { method: "POST", agent, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (piece) => (text += piece));
      response.on("error", reject).on("end", () => resolve(text));
    });
    request.on("error", reject);
    request.end(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
  });
}

/** Asks at a fixed rate, whether or not what was asked before is answered. @returns milliseconds of each answer */
async function retrieves(ms: number): Promise<number[]> {
  const answers: Promise<number>[] = [];
  const startedAt = performance.now();
  for (let number = 0; number < (ms / 1_000) * RETRIEVES_PER_SECOND; number += 1) {
    const dueAt = startedAt + (number * 1_000) / RETRIEVES_PER_SECOND;
    await sleep(Math.max(0, dueAt - performance.now()));
    const sentAt = performance.now();
    const answered = post("retrieve", { query: `word ${number % 10}`, k: 5 }).then((text) => {
      expect(JSON.parse(text).result.hits).toHaveLength(5);
      return performance.now() - sentAt;
    });
    answered.catch(() => {}); // awaited below, with the others
    answers.push(answered);
  }
  return Promise.all(answers);
}

async function slowBodies(ms: number): Promise<{ cuts: number; others: number }> {
  const { hostname, port } = new URL(url);
  const script = fileURLToPath(new URL("slow_bodies.py", import.meta.url));
  const { stdout } = await run("python3", [script, hostname, port, token, String(ms / 1_000), String(SLOW)]);
  const [cuts = 0, others = 0] = stdout.split(" ").map(Number);
  return { cuts, others };
}

/** The most memory that was seen, once a second, while something ran. */
async function peakMiB<T>(work: Promise<T>): Promise<readonly [T, number]> {
  let peak = rssMiB(server.pid);
  const timer = setInterval(() => (peak = Math.max(peak, rssMiB(server.pid))), 1_000);
  const result = await work.finally(() => clearInterval(timer));
  return [result, peak];
}

// Takes three minutes and all of a small machine. Both runs are as long, and the heap is at its working size before them.
describe.runIf(isAsked)(`${SLOW} connections of slow bodies`, () => {
  test(`leave ${RETRIEVES_PER_SECOND} retrieves a second within twice their time, and memory within 1.5 times`, async () => {
    await retrieves(WARM_MS);
    const [quiet, quietMiB] = await peakMiB(retrieves(QUIET_MS));
    const [[beside, slow], besideMiB] = await peakMiB(Promise.all([retrieves(FLOOD_MS), slowBodies(FLOOD_MS)]));

    console.info(
      `p95 quiet ${p95(quiet).toFixed(1)} ms (${quiet.length}), beside slow bodies ${p95(beside).toFixed(1)} ms ` +
        `(${beside.length}); ${slow.cuts} cut off with 408, ${slow.others} in another way; ` +
        `RSS at most ${quietMiB.toFixed(0)} MiB, then ${besideMiB.toFixed(0)} MiB`,
    );
    expect(slow.others).toBe(0);
    expect(slow.cuts).toBeGreaterThanOrEqual(2 * SLOW);
    expect(p95(beside) / p95(quiet)).toBeLessThanOrEqual(2);
    expect(besideMiB / quietMiB).toBeLessThanOrEqual(1.5);
  }, 300_000);
});
