import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readHtml } from "../../src/cli/import-html.ts";
import { readMarkdown } from "../../src/cli/import-markdown.ts";
import { contentHash, openSource, type SourceItem } from "../../src/cli/import-source.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "pgrcp-source-"));
});
afterEach(() => rm(root, { recursive: true }));

async function read(path: string): Promise<readonly SourceItem[]> {
  return await Array.fromAsync((await openSource(path)).items());
}

async function readJsonl(content: string | Uint8Array): Promise<readonly SourceItem[]> {
  const path = join(root, "in.jsonl");
  await writeFile(path, content);
  return await read(path);
}

const documents = (items: readonly SourceItem[]) =>
  items.flatMap((item) => (item.kind === "document" ? [item.document] : []));
const problems = (items: readonly SourceItem[]) =>
  items.flatMap((item) => (item.kind === "problem" ? [`${item.where}: ${item.reason}`] : []));

describe("JSONL", () => {
  test("title becomes meta.title and the rest is kept as it is", async () => {
    const items = await readJsonl(
      '{"id":"a","title":"A title","text":" t\\u0000\\n","meta":{"year":2024,"tags":["x"]}}\n{"id":"b","text":"u"}\n',
    );

    expect(documents(items)).toEqual([
      { id: "a", text: " t\u0000\n", meta: { year: 2024, tags: ["x"], title: "A title" } },
      { id: "b", text: "u" },
    ]);
  });

  test("a title that meta already has keeps its place, so an export comes back byte for byte", async () => {
    const [document] = documents(await readJsonl('{"id":"a","title":"T","text":"t","meta":{"z":1,"title":"T","a":2}}'));

    expect(JSON.stringify(document?.meta)).toBe('{"z":1,"title":"T","a":2}');
  });

  test("an empty title and null members are as good as absent", async () => {
    expect(documents(await readJsonl('{"_id":"a","title":"","text":"t","meta":null}'))).toEqual([
      { id: "a", text: "t" },
    ]);
  });

  test("bad lines are named by number and reason, and the good ones between them are read", async () => {
    const items = await readJsonl(
      [
        '{"id":"a","text":"t"}',
        "{",
        "",
        "[]",
        '{"id":"b"}',
        '{"id":"c","text":"t","title":3}',
        '{"id":"d","text":"t","meta":[]}',
        '{"id":"","text":"t"}',
        '{"id":1.5,"text":"t"}',
        '{"id":7,"text":"t"}',
      ].join("\n"),
    );

    expect(problems(items)).toEqual([
      "line 2: not valid JSON",
      "line 4: not a JSON object",
      "line 5: text must be a string",
      "line 6: title must be a string",
      "line 7: meta must be an object",
      "line 8: id must be a non-empty string",
      "line 9: id must be a non-empty string",
    ]);
    expect(documents(items).map((document) => document.id)).toEqual(["a", "7"]);
  });

  test("a line separator inside a string does not end the line", async () => {
    expect(documents(await readJsonl('{"id":"a","text":"x\u2028y\u2029z\u0085"}\n'))).toEqual([
      { id: "a", text: "x\u2028y\u2029z\u0085" },
    ]);
  });

  test("a byte order mark and carriage returns are no part of the document", async () => {
    expect(documents(await readJsonl('\ufeff{"id":"a","text":"t"}\r\n{"id":"b","text":"u"}\r\n'))).toHaveLength(2);
  });

  test("bytes that are not UTF-8 are a bad line, not replacement characters", async () => {
    const bytes = Buffer.concat([
      Buffer.from('{"id":"a","text":"'),
      Buffer.from([0xff]),
      Buffer.from('"}\n{"id":"b","text":"u"}'),
    ]);

    const items = await readJsonl(bytes);

    expect(problems(items)).toEqual(["line 1: not valid UTF-8"]);
    expect(documents(items)).toEqual([{ id: "b", text: "u" }]);
  });

  test("a character that two reads share is put together", async () => {
    const text = `x${"é".repeat(100_000)}`;

    expect(documents(await readJsonl(JSON.stringify({ id: "a", text })))).toEqual([{ id: "a", text }]);
  });

  test("a line without an id is known by title and text", async () => {
    const items = documents(
      await readJsonl('{"text":"t"}\n{"text":"t","meta":{"a":1}}\n{"text":"u"}\n{"text":"t","title":"T"}\n'),
    );

    const ids = items.map((document) => document.id);
    expect(ids[0]).toMatch(/^sha256-[0-9a-f]{32}$/);
    expect(ids[1]).toBe(ids[0]);
    expect(new Set(ids).size).toBe(3);
  });

  test("sizes add up to the file's size", async () => {
    const path = join(root, "in.jsonl");
    await writeFile(path, '{"id":"a","text":"é"}\n{bad\n{"id":"b","text":"u"}');
    const source = await openSource(path);

    let sum = 0;
    for await (const item of source.items()) sum += item.size;

    expect(sum).toBe(source.size);
  });
});

describe("folders", () => {
  test("ids are paths with slashes, in byte order; other files, dot folders and links are left alone", async () => {
    await mkdir(join(root, "b", ".git"), { recursive: true });
    await mkdir(join(root, "node_modules"));
    for (const file of ["b/z.txt", "b/a.MD", "a.html", "b/.git/x.md", "node_modules/y.md", "c.pdf", ".h.md"]) {
      await writeFile(join(root, file), "<p>words</p>");
    }
    await symlink(root, join(root, "loop"));

    expect(documents(await read(root)).map((document) => document.id)).toEqual(["a.html", "b/a.MD", "b/z.txt"]);
  });

  test("front matter becomes meta, text files stay as they are, HTML becomes text", async () => {
    await writeFile(join(root, "a.md"), "---\ntitle: From matter\nyear: 2024\n---\n# Heading\n\nBody.\n");
    await writeFile(join(root, "b.txt"), "# not a heading\r\n");
    await writeFile(join(root, "c.html"), "<title>T &amp; U</title><p>one</p>");

    expect(documents(await read(root))).toEqual([
      { id: "a.md", text: "# Heading\n\nBody.\n", meta: { title: "From matter", year: 2024 } },
      { id: "b.txt", text: "# not a heading\r\n" },
      { id: "c.html", text: "one", meta: { title: "T & U" } },
    ]);
  });

  test("empty and undecodable files are problems with their path", async () => {
    await writeFile(join(root, "empty.md"), " \n");
    await writeFile(join(root, "latin.txt"), Buffer.from([0x63, 0xe9]));

    expect(problems(await read(root))).toEqual(["empty.md: holds no text", "latin.txt: not valid UTF-8"]);
  });

  test("a single file is a document that has its name", async () => {
    await writeFile(join(root, "Read Me.MD"), "# Title\n\ntext");

    const source = await openSource(join(root, "Read Me.MD"));

    expect(source.size).toBe(1);
    expect(documents(await Array.fromAsync(source.items()))).toEqual([
      { id: "Read Me.MD", text: "# Title\n\ntext", meta: { title: "Title" } },
    ]);
  });

  test("a path that is not there says what is wanted", async () => {
    await expect(openSource(join(root, "nowhere"))).rejects.toMatchObject({ exitCode: 2, remedy: /folder|JSONL/ });
  });
});

describe("Markdown", () => {
  test("the title is the first heading outside fenced code", () => {
    expect(readMarkdown("intro\n\n```sh\n# comment\n```\n\n## The *title* ##\n").title).toBe("The *title*");
    expect(readMarkdown("no heading").title).toBeUndefined();
    expect(readMarkdown("#hashtag").title).toBeUndefined();
  });

  test("a rule or broken YAML at the top stays in the text", () => {
    for (const source of ["---\n- a\n- b\n---\nText", "---\na: [\n---\nText", "---\na: &x 1\nb: *x\n---\nText"]) {
      expect(readMarkdown(source)).toMatchObject({ text: source, meta: undefined });
    }
  });

  test("a date in front matter stays the text that it is", () => {
    expect(readMarkdown("---\ndate: 2024-05-01\n---\n").meta).toEqual({ date: "2024-05-01" });
  });
});

describe("HTML", () => {
  const html = (text: string) => readHtml(new TextEncoder().encode(text));

  test("menus, scripts, styles and link targets are no text; headings, lists, tables and code are", () => {
    const page = html(
      "<html><head><title> A\n title </title><style>p{}</style></head><body><nav>Menu</nav><h1>Head</h1>" +
        '<p>See <a href="http://x/">this</a>.<script>alert(1)</script></p><ul><li>one<li>two</ul><pre>a\n  b</pre></body></html>',
    );

    expect(page.title).toBe("A title");
    expect(page.text).toBe("Head\n\nSee this.\n\n * one\n * two\n\na\n  b");
  });

  test("main stands for the page when there is one", () => {
    expect(html("<body><header>H</header><main><p>M</p></main><footer>F</footer></body>").text).toBe("M");
  });

  test("a page without a title is called by its first-level heading", () => {
    expect(html("<h1>Only</h1><p>x</p>").title).toBe("Only");
    expect(html("<p>x</p>").title).toBeUndefined();
  });

  test("a page is decoded by its own declaration", () => {
    const page = Buffer.concat([
      Buffer.from('<meta charset="iso-8859-1"><p>caf'),
      Buffer.from([0xe9]),
      Buffer.from("</p>"),
    ]);

    expect(readHtml(page).text).toBe("café");
    expect(readHtml(Buffer.from([0x3c, 0x70, 0x3e, 0xe9])).text).toBeUndefined();
    expect(readHtml(Buffer.from('<meta charset="no-such-set"><p>x</p>')).text).toBeUndefined();
  });

  test("thousands of nested elements do not break it", () => {
    expect(html(`${"<div>".repeat(20_000)}deep${"</div>".repeat(20_000)}<p>after</p>`).text).toContain("after");
  });
});

test("the content hash changes with text and meta, not with the id", () => {
  const hash = contentHash({ id: "a", text: "t", meta: { year: 1 } });

  expect(contentHash({ id: "b", text: "t", meta: { year: 1 } })).toBe(hash);
  expect(contentHash({ id: "a", text: "t ", meta: { year: 1 } })).not.toBe(hash);
  expect(contentHash({ id: "a", text: "t", meta: { year: 2 } })).not.toBe(hash);
  expect(contentHash({ id: "a", text: "t" })).not.toBe(hash);
});
