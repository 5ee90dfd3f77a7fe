import { isDeepStrictEqual } from "node:util";
import type { Params } from "../../protocol/params.ts";
import { ensure, show, Violation } from "../outcome.ts";
import { check, rule, section } from "../rule.ts";
import type { ServerUnderTest } from "../server-under-test.ts";
import { hitsOf } from "../test-corpus.ts";

const INVALID_PARAMS = -32602;
const NOT_FOUND = -32015;
const MAX_PAGES = 200;

/** Every hit from the first page to the last. @param between runs after each page */
async function walk(
  server: ServerUnderTest,
  params: Params,
  between: () => Promise<void> = async () => {},
): Promise<readonly Params[]> {
  const client = await server.shared();
  const hits: Params[] = [];
  let cursor: unknown;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const result = await client.result("retrieve", { ...params, ...(cursor !== undefined && { cursor }) });
    const own = hitsOf(result.hits);
    ensure(own.length <= Number(params.k), `a page of ${show(params.k)} has ${own.length} hits`);
    hits.push(...own);
    cursor = result.nextCursor || undefined;
    if (cursor === undefined) return hits;
    await between();
  }
  throw new Violation(`nextCursor never ends: ${MAX_PAGES} pages of ${show(params.k)}`);
}

const idsOf = (hits: readonly Params[]): readonly unknown[] => hits.map(({ id }) => id);

export const pagination = section(
  "10",
  "Pagination",
  [
    rule("union", "MUST", "give with its pages what one large page gives"),
    rule("end", "MUST", "end with a nextCursor that is missing or empty"),
    rule(
      "bad-cursor",
      "MUST",
      "refuse a cursor that is none of its own with -32602, or -32015 for one that expired (§12)",
    ),
  ],
  [
    check("union end", "small pages, one after the other, are one large page", async (server) => {
      await server.capability("pagination");
      const { word, documents } = await server.corpus.basic();
      const params = await server.corpus.queryFor(word);
      const { hits } = await (await server.shared()).result("retrieve", params);
      for (const k of [1, 2, 4]) {
        const paged = await walk(server, { ...params, k });
        const whole = idsOf(hitsOf(hits));
        ensure(new Set(idsOf(paged)).size === paged.length, `pages of ${k} show a hit twice`);
        ensure(
          isDeepStrictEqual(idsOf(paged).slice(0, whole.length), whole),
          `pages of ${k} are ${show(idsOf(paged))}, one page is ${show(whole)}`,
        );
      }
      ensure(hitsOf(hits).length >= documents.length, "one page has not all documents");
    }),
    check("union", "documents that come while pages are read neither repeat a hit nor hide one", async (server) => {
      await server.capability("pagination");
      const { corpus } = server;
      await corpus.adder();
      const word = corpus.newWord();
      const ids = Array.from({ length: 5 }, () => corpus.newId("page"));
      await corpus.add(ids.map((id, index) => ({ id, text: `${word} ${"filler ".repeat(index)}` })));
      await corpus.untilFound(word, ids.length);
      const params = await corpus.queryFor(word, { k: 2 });
      const hits = await walk(server, params, async () => {
        await corpus.add([{ id: corpus.newId("page"), text: `${word} ${word}` }]);
      });
      const found = hits.map((hit) => corpus.documentOf(hit));
      ensure(new Set(idsOf(hits)).size === hits.length, "a hit came twice");
      ensure(
        ids.every((id) => found.includes(id)),
        "a document that was there from the first page on was not shown",
      );
    }),
    check("end", "a null cursor is the first page", async (server) => {
      await server.capability("pagination");
      const client = await server.shared();
      const { hits } = await client.result("retrieve", { query: "harbour", k: 2 });
      const { hits: again } = await client.result("retrieve", { query: "harbour", k: 2, cursor: null });
      ensure(isDeepStrictEqual(idsOf(hitsOf(again)), idsOf(hitsOf(hits))), "a null cursor gave another page");
    }),
    check("bad-cursor", "a cursor that was made up or changed is refused with -32602", async (server) => {
      await server.capability("pagination");
      const { word } = await server.corpus.basic();
      const client = await server.shared();
      const params = await server.corpus.queryFor(word, { k: 2 });
      const { nextCursor } = await client.result("retrieve", params);
      ensure(
        typeof nextCursor === "string" && nextCursor !== "",
        "6 documents have the word, and a page of 2 has no nextCursor",
      );
      for (const cursor of ["rcp-conformance-no-such-cursor", `${nextCursor}x`, `A${nextCursor}`])
        await client.refusal("retrieve", { ...params, cursor }, INVALID_PARAMS, NOT_FOUND);
      await client.refusal("retrieve", { ...params, cursor: 5 }, INVALID_PARAMS);
    }),
  ],
);
