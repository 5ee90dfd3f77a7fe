import { afterAll, beforeAll, expect, test } from "vitest";
import type { CommitPoint } from "../support/crash/deployment.ts";
import { openServerHome, type ServerHome } from "../support/crash/server-home.ts";
import type { Response } from "../support/rcp-server.ts";

/** Real processes of `pgrcp serve`: one is killed while it commits a write, and the write is sent again to the next. */

const ON_POSTGRES = process.env.PGRCP_TEST_DATABASE_URL !== undefined;

let home: ServerHome;
let token: string;
beforeAll(async () => {
  home = await openServerHome();
  token = await home.issuer.mint({ credentials: ["add"], expiresIn: 3_600 });
});
afterAll(() => home.close());

/** The same document, which has no id, each time with the same key for the same text. */
async function add(url: string, text: string): Promise<Response> {
  const answer = await fetch(`${url}/index/add`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", connection: "close" },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "index/add",
      params: { documents: [{ text }], _meta: { idempotencyKey: text } },
    }),
  });
  return (await answer.json()) as Response;
}

/** Ids and versions of the documents with this text, whoever made them. */
async function written(text: string, isDead: boolean) {
  const { texts } = await (await home.deployment.snapshot(isDead))();
  return texts.filter(({ body }) => body === text).map(({ id }) => id);
}

const KEPT: Readonly<Record<CommitPoint, readonly number[]>> = { before: [0], midway: [0, 1], after: [1] };

test.each(Object.keys(KEPT) as CommitPoint[])(
  "a server killed %s the commit has written once when the write is sent again",
  async (point) => {
    const text = `killed ${point}`;
    const server = home.start();
    const url = await server.ready;
    await home.deployment.killAtCommit(point, () => server.kill("SIGKILL"));
    await expect(add(url, text)).rejects.toThrow();
    await server.ended;
    const left = await written(text, true);
    expect(KEPT[point]).toContain(left.length);

    const next = home.start();
    const [retry, repeat] = [await add(await next.ready, text), await add(await next.ready, text)];

    expect(retry.result).toMatchObject({ ids: [expect.any(String)], chunks: 1 });
    if (left.length > 0) expect(retry.result?.ids).toEqual(left);
    expect(repeat).toEqual(retry);
    expect(await written(text, false)).toEqual(retry.result?.ids);
    next.kill("SIGTERM");
    await next.ended;
  },
  180_000,
);

if (ON_POSTGRES) {
  test("20 repeats at two processes write once and have one answer", async () => {
    const urls = await Promise.all([home.start(), home.start()].map(({ ready }) => ready));

    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => add(urls[index % 2] ?? "", "sent to two")),
    );

    expect(answers[0]?.result).toMatchObject({ ids: [expect.any(String)], chunks: 1 });
    expect(answers).toEqual(answers.map(() => answers[0]));
    expect(await written("sent to two", false)).toEqual(answers[0]?.result?.ids);
  }, 60_000);
}
