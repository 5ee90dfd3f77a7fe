import { readFileSync } from "node:fs";
import { PGlite } from "@electric-sql/pglite";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CorpusName, TenantId } from "../../src/catalog/corpus.ts";
import { forEachPosting, type PostingBlock, packPostings } from "../../src/catalog/posting-block.ts";
import { appendPostings } from "../../src/sql/postings.ts";
import type { SqlValue, Statement } from "../../src/sql/sql.ts";

const tenant = (id: string) => id as TenantId;
const corpus = (name: string) => name as CorpusName;

const pack = (chunkNo: number, counts: Readonly<Record<string, number>>, length = 200) =>
  packPostings([{ chunkNo, length, counts: new Map(Object.entries(counts)) }]);

const reviewed = (name: string) => readFileSync(new URL(`cases/${name}/statement.sql`, import.meta.url), "utf8");
const shown = (value: SqlValue) =>
  value instanceof Uint8Array ? `\\x${Buffer.from(value).toString("hex")}` : JSON.stringify(value);
const golden = ({ text, values }: Statement) =>
  [text, ...values.map((value, index) => `-- $${index + 1} = ${shown(value)}`), ""].join("\n");

test("the statement that appends is the reviewed one", () => {
  // Chunk 8192 is offset 0 of block 2; frequency 300 is clipped to 255 beside length 200, and both are kept in full.
  expect(golden(appendPostings(tenant("acme"), corpus("default"), pack(8192, { cell: 300 })))).toBe(
    reviewed("postings-append"),
  );
});

const migration = readFileSync(new URL("../../migrations/0004_chunks.sql", import.meta.url), "utf8");
const TABLE = `create schema pgrcp; ${/create table pgrcp\.postings [^;]+;/.exec(migration)?.[0]}`;
const url = process.env.PGRCP_TEST_DATABASE_URL;

describe.each(url === undefined || url === "" ? ["pglite"] : ["pglite", "postgres"])("on %s", (name) => {
  let run: (text: string, values: readonly SqlValue[]) => Promise<readonly Readonly<Record<string, unknown>>[]>;
  let close: () => Promise<void>;

  beforeAll(async () => {
    if (name === "pglite") {
      const database = await PGlite.create();
      await database.exec(TABLE);
      run = async (text, values) => (await database.query<Record<string, unknown>>(text, [...values])).rows;
      close = () => database.close();
    } else {
      const server = new pg.Client({ connectionString: url });
      await server.connect();
      const own = `postings_test_${process.pid}_${Date.now()}`;
      await server.query(`create database ${own}`);
      const address = new URL(url ?? "");
      address.pathname = own;
      const client = new pg.Client({ connectionString: address.href });
      await client.connect();
      await client.query(TABLE);
      run = async (text, values) => (await client.query<Record<string, unknown>>(text, [...values])).rows;
      close = async () => {
        await client.end();
        await server.query(`drop database ${own}`);
        await server.end();
      };
    }
  });
  afterAll(() => close());

  const query = async <Row>({ text, values, decode }: Statement<Row>) => (await run(text, values)).map(decode);

  const load = async (tenantId: string, corpusName: string, terms: readonly string[]) => {
    const rows = await run(
      "select term, block, packed, wide from pgrcp.postings where tenant_id = $1 and corpus = $2 and term = any($3)",
      [tenantId, corpusName, terms],
    );
    return (rows as unknown as readonly PostingBlock[])
      .map((row) => {
        const postings: string[] = [];
        forEachPosting(row, (offset, frequency, length) => postings.push(`${offset} ${frequency}/${length}`));
        return { term: row.term, block: row.block, postings };
      })
      .toSorted((a, b) => (a.term === b.term ? a.block - b.block : a.term < b.term ? -1 : 1));
  };

  test("a block grows by what is appended, wide entries too, and a new block is a row of its own", async () => {
    const write = (chunkNo: number, frequency: number) =>
      query(appendPostings(tenant("grow"), corpus("default"), pack(chunkNo, { cell: frequency })));
    await write(0, 1);
    await write(7, 300);
    await write(8, 400);
    await write(4096, 2);

    expect(await load("grow", "default", ["cell"])).toEqual([
      { term: "cell", block: 0, postings: ["0 1/200", "7 300/200", "8 400/200"] },
      { term: "cell", block: 1, postings: ["0 2/200"] },
    ]);
    expect(await run("select n from pgrcp.postings where tenant_id = 'grow' order by block", [])).toEqual([
      { n: 3 },
      { n: 1 },
    ]);
  });

  test("tenants and corpora have blocks of their own", async () => {
    for (const [tenantId, corpusName, chunkNo] of [
      ["one", "default", 1],
      ["two", "default", 2],
      ["one", "other", 3],
    ] as const)
      await query(appendPostings(tenant(tenantId), corpus(corpusName), pack(chunkNo, { cell: 1 })));

    expect(await load("one", "default", ["cell"])).toEqual([{ term: "cell", block: 0, postings: ["1 1/200"] }]);
    expect(await load("two", "default", ["cell"])).toEqual([{ term: "cell", block: 0, postings: ["2 1/200"] }]);
    expect(await load("one", "other", ["cell"])).toEqual([{ term: "cell", block: 0, postings: ["3 1/200"] }]);
  });

  test("a term may be any text, and one that the corpus has not gives no row", async () => {
    const terms = ["null", "", "{a,b}", 'quo"te', "back\\slash", "it's", "中文", "😀", "constructor"];
    const counts = new Map(terms.map((term) => [term, 1]));
    await query(appendPostings(tenant("odd"), corpus("default"), packPostings([{ chunkNo: 5, length: 9, counts }])));

    expect((await load("odd", "default", [...terms, "absent"])).map((row) => row.term)).toEqual(terms.toSorted());
    expect(await load("odd", "default", [])).toEqual([]);
  });

  test("many rows of one write arrive", async () => {
    const counts = new Map(Array.from({ length: 20_000 }, (_, index) => [`t${index}`, 1]));
    await query(
      appendPostings(tenant("many"), corpus("default"), packPostings([{ chunkNo: 5, length: 20_000, counts }])),
    );

    expect(await load("many", "default", ["t0", "t19999"])).toEqual([
      { term: "t0", block: 0, postings: ["5 1/20000"] },
      { term: "t19999", block: 0, postings: ["5 1/20000"] },
    ]);
  });
});
