import http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

/** One answer as its caller saw it. */
export interface Timed {
  readonly ms: number;
  /** 0 = a result. */
  readonly code: number;
}

export interface ClosedLoop {
  readonly callers: number;
  readonly ms: number;
  /** Of a retrieve, besides the query. */
  readonly params: object;
}

export interface LoadClient {
  post(method: string, params: object, token: string): Promise<string>;
  /** Asks at a fixed rate, whether or not what was asked before is answered. */
  steadily(token: string, perSecond: number, ms: number): Promise<Timed[]>;
  /** So many callers, each of which asks again once it is answered, and after about a second when it was refused. */
  inClosedLoop(token: string, load: ClosedLoop): Promise<Timed[]>;
  close(): void;
}

/** Asks `url`, one connection a caller that is open at the same time. */
export function loadClient(url: string): LoadClient {
  const agent = new http.Agent({ keepAlive: true });

  function post(method: string, params: object, token: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      const request = http.request(`${url}/${method}`, { method: "POST", agent, headers }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (piece) => (text += piece));
        response.on("error", reject).on("end", () => resolve(text));
      });
      request.on("error", reject);
      request.end(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
    });
  }

  async function timed(token: string, params: object): Promise<Timed> {
    const sentAt = performance.now();
    const text = await post("retrieve", params, token);
    return { ms: performance.now() - sentAt, code: JSON.parse(text).error?.code ?? 0 };
  }

  const query = (number: number) => ({ query: `word ${number % 10}`, k: 5 });

  return {
    post,
    close: () => agent.destroy(),

    async steadily(token: string, perSecond: number, ms: number): Promise<Timed[]> {
      const answers: Promise<Timed>[] = [];
      const startedAt = performance.now();
      for (let number = 0; number < (ms / 1_000) * perSecond; number += 1) {
        await sleep(Math.max(0, startedAt + (number * 1_000) / perSecond - performance.now()));
        answers.push(timed(token, query(number)));
      }
      return await Promise.all(answers);
    },

    async inClosedLoop(token: string, { callers, ms, params }: ClosedLoop): Promise<Timed[]> {
      const answers: Timed[] = [];
      const endsAt = performance.now() + ms;
      const ask = async (_: unknown, caller: number) => {
        for (let number = caller; performance.now() < endsAt; number += 1) {
          const answer = await timed(token, { ...query(number), ...params });
          answers.push(answer);
          if (answer.code !== 0) await sleep(500 + 1_000 * Math.random());
        }
      };
      await Promise.all(Array.from({ length: callers }, ask));
      return answers;
    },
  };
}
