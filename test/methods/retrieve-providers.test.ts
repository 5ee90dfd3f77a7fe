import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import { httpReranker } from "../../src/models/http-reranker.ts";
import { openAiGenerator } from "../../src/models/openai-generator.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type Answer, json, loopbackModel, WRONG_ANSWERS } from "../support/loopback-model.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";
import { expectValidResponse } from "../support/validate-response.ts";

/** Rerank and rewrite within retrieve, over HTTP on both sides: a caller before the server, model servers behind it. */

interface RerankBody {
  readonly query: string;
  readonly texts: readonly string[];
}
interface ChatBody {
  readonly messages: readonly { readonly content: string }[];
}

/** Likes passages that say "plum". */
const likesPlums: Answer<RerankBody> = ({ body }, response) =>
  json(
    response,
    body.texts.map((text, index) => ({ index, score: text.includes("plum") ? 0.9 : 0.1 })),
  );
const says =
  (content: string): Answer<ChatBody> =>
  (_, response) =>
    json(response, { choices: [{ message: { content } }] });

let rerankAnswer: Answer<RerankBody> = likesPlums;
let chatAnswer: Answer<ChatBody> = says("pear");
let opened: TestDatabase;
let server: RcpServer;
let token: string;
let judge: Awaited<ReturnType<typeof loopbackModel<RerankBody>>>;
let writer: Awaited<ReturnType<typeof loopbackModel<ChatBody>>>;
beforeAll(async () => {
  opened = await openTestDatabase();
  judge = await loopbackModel<RerankBody>((...request) => rerankAnswer(...request));
  writer = await loopbackModel<ChatBody>((...request) => chatAnswer(...request));
  const common = { apiKey: undefined, concurrency: 2, timeoutMs: 5_000, retries: 0 };
  server = await startRcpServer({
    config: { auth: { combinedTokens: true } },
    handlers: HANDLERS,
    database: opened.database,
    corpora: new CachedCorpusStore(opened.database),
    reranker: httpReranker({
      ...common,
      provider: "tei",
      url: judge.url,
      model: "judge",
      method: "cross-encoder",
      maxCandidates: 200,
    }),
    generator: openAiGenerator({
      ...common,
      url: writer.url,
      model: "writer",
      temperature: 0,
      maxTokensName: "max_tokens",
      reasoningTokens: 0,
    }),
  });
  token = await server.token({ credentials: ["read", "add"] });
  const documents = [
    { id: "a", text: "apple" },
    { id: "b", text: "apple pear" },
    { id: "c", text: "apple plum" },
  ];
  await server.call("index/add", { documents }, { token });
});
afterEach(() => {
  rerankAnswer = likesPlums;
  chatAnswer = says("pear");
});
afterAll(async () => {
  await server.close();
  await Promise.all([judge.close(), writer.close(), opened.close()]);
});

async function retrieve(params: object) {
  const { body } = await server.call("retrieve", { query: "apple", k: 3, ...params }, { token });
  expectValidResponse("retrieve", body);
  return body;
}
const idsOf = (body: Awaited<ReturnType<typeof retrieve>>) =>
  (body?.result?.hits as readonly { readonly id: string }[] | undefined)?.map(({ id }) => id);

test("a model server's scores order the hits, and its text is what is looked for", async () => {
  const reranked = await retrieve({ rerank: { method: "cross-encoder", model: "judge", topN: 3 } });
  expect(idsOf(reranked)?.[0]).toBe("c");
  expect(reranked?.result?.usage).toMatchObject({ reranked: 3 });

  const rewritten = await retrieve({ mode: "sparse", rewrite: "rewrite" });
  expect(idsOf(rewritten)).toEqual(["b"]);
  expect(rewritten?.result?.rewrittenQuery).toBe("pear");
});

describe("a model server that does not do its work", () => {
  test.each(WRONG_ANSWERS)("answers with %s: -32010, and what does without it goes on", async (_, wrong) => {
    rerankAnswer = wrong as Answer<RerankBody>;
    chatAnswer = wrong as Answer<ChatBody>;
    for (const params of [{ rerank: {} }, { rewrite: "hyde" }])
      expect((await retrieve(params))?.error).toMatchObject({ code: -32010 });
    expect(idsOf(await retrieve({}))).toHaveLength(3);
    const { body } = await server.call("info", {}, { token });
    expect(body?.result?.capabilities).toMatchObject({ retrieve: { rerankBuiltin: true } });
  });

  test.each([
    { rerank: {}, _meta: { deadlineMs: 1_000 } },
    { rewrite: "multi-query", _meta: { deadlineMs: 1_000 } },
  ])("is silent: %j is answered at its deadline, and the call to it is given up", async (params) => {
    let isGivenUp = false;
    const silent = (_: unknown, response: Parameters<Answer<unknown>>[1]) =>
      void response.once("close", () => {
        isGivenUp = true;
      });
    rerankAnswer = silent;
    chatAnswer = silent;
    expect((await retrieve(params))?.error).toMatchObject({ code: -32014, data: { retryable: true } });
    await expect.poll(() => isGivenUp).toBe(true);
  });
});

test("no connection to the database is held while a model server thinks", async () => {
  const waiting = Promise.withResolvers<void>();
  rerankAnswer = (request, response, call) => void waiting.promise.then(() => likesPlums(request, response, call));
  // More than the pool has connections, or the embedded database its one.
  const slow = Array.from({ length: 12 }, () => retrieve({ rerank: {} }));
  await expect.poll(() => judge.received.length).toBeGreaterThan(1);
  expect(idsOf(await retrieve({}))).toHaveLength(3);
  waiting.resolve();
  for (const answer of await Promise.all(slow)) expect(idsOf(answer)?.[0]).toBe("c");
});
