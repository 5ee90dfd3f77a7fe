import { isDeepStrictEqual } from "node:util";
import { isObject, type Params } from "../../protocol/params.ts";
import { ensure, show } from "../outcome.ts";
import { check, clientRule, rule, section } from "../rule.ts";
import type { ServerUnderTest } from "../server-under-test.ts";

const INVALID_PARAMS = -32602;
const CONFLICT = -32016;

async function textsOf(server: ServerUnderTest, word: string): Promise<readonly unknown[]> {
  return (await server.corpus.find(await server.corpus.queryFor(word))).map((hit) => hit.text);
}

export const index = section(
  "7.10",
  "index/add and index/delete",
  [
    rule("ids-order", "MUST", "return one id for each document, in their order"),
    rule("upsert", "MUST", "replace a document that has the same id"),
    rule("no-duplicate", "MUST NOT", "keep two documents of one id, or fail for it"),
    rule("repeat", "MUST", "be the same after a repeated add as after one"),
    rule("conflict", "MUST", "refuse with -32016 what it cannot replace"),
    clientRule("own-ids", "SHOULD", "name its documents, if it may retry"),
    rule("idempotency-key", "SHOULD", "give the first result again for a repeated _meta.idempotencyKey"),
    rule("malformed", "MUST", "refuse malformed documents with -32602 (§14.1)"),
    rule("delete-absent", "MUST NOT", "fail for an id that is not there (§7.11)"),
    rule("deleted", "MUST", "count only what this call removed (§7.11)"),
  ],
  [
    check("ids-order", "ids come in the order of the documents, one each", async (server) => {
      const { corpus } = server;
      const ids = ["c", "a", "b"].map((name) => corpus.newId(name));
      const { ids: returned } = await corpus.add(ids.map((id) => ({ id, text: corpus.newWord() })));
      ensure(isDeepStrictEqual(returned, ids), `${show(ids)} came back as ${show(returned)}`);
    }),
    check("ids-order", "documents without an id get one each, and can be deleted by it", async (server) => {
      const adder = await server.corpus.adder();
      const documents = [{ text: server.corpus.newWord() }, { text: server.corpus.newWord() }];
      const { ids } = await adder.result("index/add", { documents });
      const minted = Array.isArray(ids) ? ids.map(String) : [];
      ensure(minted.length === 2 && new Set(minted).size === 2, `two documents without an id got ${show(ids)}`);
      const { deleted } = await server.corpus.remove(minted);
      ensure(deleted === 2, `the two were added, and deleting them counts ${show(deleted)}`);
    }),
    check(
      "upsert no-duplicate conflict",
      "a document of the same id replaces the one before, or is refused with -32016",
      async (server) => {
        const { corpus } = server;
        const [before, after] = [corpus.newWord(), corpus.newWord()];
        const id = corpus.newId("upsert");
        await corpus.add([{ id, text: `${before} first` }]);
        await corpus.untilFound(before, 1);
        const client = await corpus.adder();
        const { error } = await client.call("index/add", { documents: [{ id, text: `${after} second` }] });
        if (isObject(error))
          return ensure(error.code === CONFLICT, `an id that is there was refused with ${show(error.code)}`);
        await corpus.untilFound(after, 1);
        ensure(
          isDeepStrictEqual(await textsOf(server, after), [`${after} second`]),
          "the new text is not what is found",
        );
        const old = (await textsOf(server, before)).filter((text) => String(text).includes(before));
        ensure(old.length === 0, "the text that was replaced is still found");
        const { deleted } = await corpus.remove([id]);
        ensure(deleted === 1, `one document has the id, and deleting it counts ${show(deleted)}`);
      },
    ),
    check(
      "repeat no-duplicate 13.1/idempotent-writes",
      "adding the same document twice, or twice in one call, leaves one",
      async (server) => {
        const { corpus } = server;
        const word = corpus.newWord();
        const document = { id: corpus.newId("repeat"), text: `${word} once` };
        await corpus.add([document]);
        await corpus.add([document]);
        await corpus.untilFound(word, 1);
        ensure((await textsOf(server, word)).length === 1, "one document that was added twice is found twice");
        const client = await corpus.adder();
        const { error } = await client.call("index/add", { documents: [document, document] });
        ensure(
          error === undefined || (isObject(error) && [CONFLICT, INVALID_PARAMS].includes(Number(error.code))),
          `one id twice in a call was answered with ${show(error)}`,
        );
        ensure((await textsOf(server, word)).length === 1, "one document that was sent twice in a call is found twice");
      },
    ),
    check(
      "idempotency-key",
      "a repeated idempotencyKey gives the first result and applies nothing again",
      async (server) => {
        const adder = await server.corpus.adder();
        const params = {
          documents: [{ text: `${server.corpus.newWord()} keyed` }],
          _meta: { idempotencyKey: server.corpus.newId("key") },
        };
        const first = await adder.result("index/add", params);
        const second = await adder.result("index/add", params);
        const ids = [first, second].flatMap((result) => (Array.isArray(result.ids) ? result.ids.map(String) : []));
        await server.corpus.remove([...new Set(ids)]);
        ensure(
          isDeepStrictEqual(second.ids, first.ids),
          `the repeat minted ${show(second.ids)} beside ${show(first.ids)}`,
        );
      },
    ),
    check(
      "malformed",
      "documents that are missing, no list, without a text, or with a text or id of another type are refused with -32602",
      async (server) => {
        const client = await server.corpus.adder();
        const id = server.corpus.newId("malformed");
        const wrong = [
          {},
          { documents: "x" },
          { documents: [{}] },
          { documents: [{ id }] },
          { documents: [{ id, text: 5 }] },
          { documents: [{ id: 5, text: "x" }] },
          { documents: [null] },
          { documents: [{ id, text: "x", meta: "y" }] },
        ];
        for (const params of wrong) await client.refusal("index/add", params, INVALID_PARAMS);
      },
    ),
    check(
      "malformed",
      "index/delete refuses ids that are missing, no list or no strings with -32602",
      async (server) => {
        await server.corpus.adder();
        const client = await server.shared("delete");
        for (const params of [{}, { ids: "x" }, { ids: [5] }, { ids: [null] }] satisfies Params[])
          await client.refusal("index/delete", params, INVALID_PARAMS);
      },
    ),
    check("delete-absent deleted", "an id that never was counts 0 and is no error", async (server) => {
      await server.corpus.adder();
      const { deleted } = await server.corpus.remove([server.corpus.newId("absent")]);
      ensure(deleted === 0, `an id that never was counts ${show(deleted)}`);
    }),
    check(
      "deleted",
      "deleted counts what was removed; a repeat counts 0, and what was removed is not found",
      async (server) => {
        const { corpus } = server;
        const word = corpus.newWord();
        const ids = [corpus.newId("gone"), corpus.newId("gone")];
        await corpus.add(ids.map((id) => ({ id, text: `${word} ${id}` })));
        await corpus.untilFound(word, 2);
        const [first = "", second = ""] = ids;
        const { deleted } = await corpus.remove([first, corpus.newId("absent"), first]);
        ensure(deleted === 1, `one of three ids was there, and deleting them counts ${show(deleted)}`);
        const { deleted: again } = await corpus.remove([first]);
        ensure(again === 0, `a repeated delete counts ${show(again)}`);
        const found = await corpus.findIds(await corpus.queryFor(word));
        ensure(isDeepStrictEqual(found, [second]), `${first} was deleted, and ${show(found)} is found`);
      },
    ),
  ],
);
