// One client's day with the Node SDK. Prints a line for each step; each has five seconds.
//
// usage: node_session.mjs SDK stdio|http TARGET                 (a JSON array of a command line, or a base URL)
//        node_session.mjs SDK stdio|http TARGET refused CODE    (a server that this client cannot use)
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";

const [, , sdk, kind, target, refused, code] = process.argv;
const { connectHttp, connectStdio } = await import(pathToFileURL(sdk).href);

async function step(name, work) {
  let timer;
  const late = new Promise((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${name} took more than five seconds`)), 5_000);
  });
  const result = await Promise.race([work(), late]);
  clearTimeout(timer);
  console.log(name);
  return result;
}

const connect = () => (kind === "stdio" ? connectStdio(JSON.parse(target)) : connectHttp(target));

async function day() {
  const client = await step("handshake", connect);
  assert.equal(client.server.name, "pgrcp");
  const documents = Array.from({ length: 6 }, (_, n) => ({
    id: `sdk-${n}`,
    text: `amber stone ${n}`,
    meta: { year: 2000 + n },
  }));
  const ids = documents.map(({ id }) => id);
  assert.deepEqual((await step("add", () => client.indexAdd({ documents }))).ids, ids);

  const filter = { field: "year", op: "gte", value: 2004 };
  const hits = await step("retrieve with a filter", () => client.retrieve("amber stone", 10, { filter }));
  assert.deepEqual(hits.map(({ id }) => id).toSorted(), ["sdk-4", "sdk-5"]);

  const pages = async () => {
    const seen = [];
    for (let cursor = null; ; ) {
      const page = await client.search("amber stone", 4, cursor === null ? {} : { cursor });
      seen.push(...page.hits.map(({ id }) => id));
      cursor = page.nextCursor;
      if (!cursor) return seen;
    }
  };
  const whole = await client.retrieve("amber stone", 100);
  assert.deepEqual(
    await step("page", pages),
    whole.map(({ id }) => id),
  );

  const vectors = await step("embed", () => client.embed(["amber", "stone"], "query"));
  const { dimension } = client.capabilities.embed;
  assert.deepEqual(
    vectors.map(({ length }) => length),
    [dimension, dimension],
  );
  const signals = [{ hitId: "sdk-4", used: true, reward: 0.5 }];
  assert.deepEqual(await step("feedback", () => client.feedback(signals, "amber")), { accepted: 1 });
  assert.deepEqual(await step("delete", () => client.indexDelete({ ids })), { deleted: 6 });
  await step("shutdown", () => client.shutdown());
}

const isRefused = async () => {
  await assert.rejects(
    async () => (await connect()).retrieve("amber", 1),
    (error) => error.code === Number(code),
  );
};

await (refused === undefined ? day() : step("refused", isRefused));
process.exit(0);
