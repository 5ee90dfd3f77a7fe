import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { configSchema } from "../../src/config/config.ts";
import { type Schema, shapeOf } from "../../src/config/schema-shape.ts";
import { loadText } from "./refusals.ts";

const FILE = path.join(import.meta.dirname, "../../config.example.yaml");
const text = readFileSync(FILE, "utf8");

interface Line {
  readonly path: string;
  readonly comment: string;
  readonly active: boolean;
}

/** Every line with a key, whether it is in force or written as `#key:`, with the path that its indentation gives it. */
const lines: readonly Line[] = readLines(text);

function readLines(source: string): Line[] {
  const found: Line[] = [];
  const open: { readonly indent: number; readonly key: string }[] = [];
  for (const line of source.split("\n")) {
    const match = /^(\s*)(#?)(- )?([A-Za-z]\w*):(?:\s(.*))?$/.exec(line);
    if (match === null) continue;
    const [, space = "", hash, dash, key = "", rest = ""] = match;
    const indent = space.length;
    while ((open.at(-1)?.indent ?? -1) >= indent) open.pop();
    open.push({ indent, key });
    // The keys of a list's element stand deeper than its first, which the dash marks.
    const keys = open.map((each) => each.key);
    found.push({
      path: keys.join("."),
      comment: /(?:^|\s)# (.+)$/.exec(rest)?.[1] ?? "",
      active: hash === "" && dash === undefined,
    });
  }
  return found;
}

/** Every path of the schema; the elements of a list stand under the list itself. */
function schemaPaths(schema: Schema, at: readonly string[] = []): string[] {
  const shape = shapeOf(schema);
  const here = at.length === 0 ? [] : [at.join(".")];
  if (shape.kind === "section")
    return [...here, ...[...shape.keys].flatMap(([key, inner]) => schemaPaths(inner, [...at, key]))];
  if (shape.kind === "list" && shapeOf(shape.element).kind === "section")
    return [...here, ...schemaPaths(shape.element, at).slice(1)];
  return here;
}

describe("config.example.yaml", () => {
  test("loads, and every value in it is the default", () => {
    const written: unknown = parse(text);

    expect(configSchema.parse(written)).toEqual(configSchema.parse({}));
    // Not only by its defaults: what has one is written out.
    expect(written).toEqual(configSchema.parse({}));
  });

  test("loads as a configuration file", async () => {
    expect((await loadText(text)).server.port).toBe(8787);
  });

  test("has every key of the schema and no other", () => {
    // Within an element of a list, the first key carries the dash and opens the level of the others.
    const flat = lines.map((line) => line.path.replace(/^(auth\.issuers)\.issuer\.(\w+)/, "$1.$2"));
    const expected = schemaPaths(configSchema).filter((each) => !each.startsWith("auth.issuers.jwks."));

    expect([...new Set(flat)].sort()).toEqual(expected.sort());
  });

  test("says why at every key", () => {
    const sections = new Set(lines.map((line) => line.path.split(".")[0]));
    const silent = lines
      .filter((line) => line.comment.length < 10 && !sections.has(line.path))
      .map((line) => line.path);

    expect(silent).toEqual([]);
  });

  test("notices a key that is missing", () => {
    const without = readLines(text.replace(/^ {2}maxJsonDepth:.*\n/m, "")).map((line) => line.path);

    expect(without).not.toContain("limits.maxJsonDepth");
    expect(schemaPaths(configSchema)).toContain("limits.maxJsonDepth");
  });

  test("has alternatives that hold when they are uncommented", async () => {
    const openai = text
      .replace(/^ {4}(provider: builtin|threads:).*\n/gm, "")
      .replace(
        /^( {4})#(provider|url|model|apiKey|dimension|maxTokens|batch|concurrency|timeoutMs|retries|queryPrefix|documentPrefix):/gm,
        "$1$2:",
      )
      .replace(/^( {2})#(reranker|generator|redis|classifier):/gm, "$1$2:")
      .replace(
        /^( {4})#(method|maxCandidates|temperature|maxTokensName|reasoningTokens|keyPrefix|labels|threshold|windowCharacters|onFailure):/gm,
        "$1$2:",
      );
    const issuer = openai
      .replace("  issuers: [] ", "  issuers: ")
      .replace(/^ {4}#- issuer:/m, "    - issuer:")
      .replace(/^ {6}#(jwksUri|algorithms):/gm, "      $1:");
    const config = await loadText(
      issuer.replace(
        /^( *)#(publicUrl|tls|certFile|keyFile|clientCaFile|clientCertificate|url|migrateUrl|password):/gm,
        (_, space: string, key: string) => `${/File$|^client/.test(key) ? "    " : space}${key}:`,
      ),
    );

    expect(config.models.embedding).toMatchObject({ provider: "openai", batch: 64, retries: 2 });
    const server = { url: "http://127.0.0.1:1/v1", model: "m" };
    const labels = ["INJECTION", "JAILBREAK"];
    const { models } = configSchema.parse({
      models: { reranker: { provider: "tei", ...server }, generator: server, classifier: { url: server.url, labels } },
    });
    const own = { url: expect.any(String), model: expect.any(String), apiKey: "change-me" };
    expect(config.models.reranker).toEqual({ ...models.reranker, ...own, batch: 32 });
    expect(config.models.generator).toEqual({ ...models.generator, ...own });
    expect(config.models.classifier).toEqual({ ...models.classifier, url: own.url, apiKey: own.apiKey });
    expect(config.auth.issuers).toEqual([
      {
        issuer: "https://idp.example.org/",
        jwksUri: "https://idp.example.org/.well-known/jwks.json",
        algorithms: ["RS256", "ES256"],
      },
    ]);
    expect(config.server.tls).toEqual({
      certFile: "tls/cert.pem",
      keyFile: "tls/key.pem",
      clientCaFile: "tls/client-ca.pem",
      clientCertificate: "required",
    });
    expect(config.rateLimit.redis).toMatchObject({ timeoutMs: 250, keyPrefix: "pgrcp:rate:" });
    expect(config.database.url).toBe("postgres://db.example.org:5432/pgrcp");
  });
});
