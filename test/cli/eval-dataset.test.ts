import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadDataset, parseQrels, parseQueries } from "../../src/cli/eval-dataset.ts";

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "pgrcp-eval-"));
});
afterAll(() => rm(root, { recursive: true }));

async function folder(name: string, files: Record<string, string>): Promise<string> {
  for (const [file, text] of Object.entries(files)) {
    const path = join(root, name, file);
    await mkdir(join(path, ".."), { recursive: true });
    await writeFile(path, text);
  }
  return join(root, name);
}

test("queries and judgements are joined by id, and queries without judgements are left out", async () => {
  const path = await folder("plain", {
    "queries.jsonl": '{"id":"1","text":"one"}\n{"_id":"2","text":"two"}\n{"id":"3","text":"three"}\n',
    "qrels.tsv": "query-id\tcorpus-id\tscore\n1\ta\t2\n1\tb\t0\n2\tc\t1\n9\tz\t1\n",
  });

  expect(await loadDataset(path)).toEqual([
    {
      id: "1",
      text: "one",
      judgements: new Map([
        ["a", 2],
        ["b", 0],
      ]),
    },
    { id: "2", text: "two", judgements: new Map([["c", 1]]) },
  ]);
});

test("judgements may lie in qrels/test.tsv", async () => {
  const path = await folder("beir", {
    "queries.jsonl": '{"_id":"q","text":"t"}',
    "qrels/test.tsv": "query-id\tcorpus-id\tscore\r\nq\td\t1\r\n",
  });

  expect(await loadDataset(path)).toEqual([{ id: "q", text: "t", judgements: new Map([["d", 1]]) }]);
});

test("judgements without a head keep their first line", () => {
  expect(parseQrels("q\td\t1\n", "f").get("q")?.get("d")).toBe(1);
});

test("a bad line is named by file and number", () => {
  expect(() => parseQrels("query-id\tcorpus-id\tscore\nq\td\n", "f.tsv")).toThrow("f.tsv, line 2,");
  expect(() => parseQueries('{"id":"1","text":"a"}\n\n{"id":"2"}\n', "q.jsonl")).toThrow("q.jsonl, line 3,");
  expect(() => parseQueries("not json", "q.jsonl")).toThrow("q.jsonl, line 1,");
});

test("a folder without the files says which layout is wanted", async () => {
  const path = await folder("half", { "queries.jsonl": '{"id":"1","text":"a"}' });

  await expect(loadDataset(join(root, "nowhere"))).rejects.toMatchObject({
    exitCode: 2,
    remedy: /queries\.jsonl and qrels/,
  });
  await expect(loadDataset(path)).rejects.toMatchObject({ exitCode: 2 });
});

test("judgements of other queries alone are an error, not a perfect zero", async () => {
  const path = await folder("foreign", { "queries.jsonl": '{"id":"1","text":"a"}', "qrels.tsv": "2\td\t1\n" });

  await expect(loadDataset(path)).rejects.toThrow(/no query/);
});
