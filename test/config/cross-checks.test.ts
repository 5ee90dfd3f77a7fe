import { describe, expect, test } from "vitest";
import { configSchema } from "../../src/config/config.ts";
import { configWarnings } from "../../src/config/warnings.ts";
import { loadText, problemsOf } from "./refusals.ts";

const ISSUER = "{issuer: 'https://a.example/', jwksUri: 'https://a.example/keys'}";
const SECRET = "0123456789abcdef0123456789abcdef";
const KEY = "{kty: OKP, crv: Ed25519, kid: one, x: 11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo}";
const only = async (yaml: string) => {
  const problems = await problemsOf(yaml);
  expect(problems.length, problems.join("\n")).toBeLessThanOrEqual(1);
  return problems[0]?.replace(/ \(c\.yaml line \d+\)/, "");
};

describe("server.host", () => {
  test("is loopback unless it is set, and nothing in front is taken to speak TLS", () => {
    expect(configSchema.parse({}).server).toMatchObject({ host: "127.0.0.1", behindTls: false });
  });

  test.each(["127.0.0.1", "127.8.9.1", "::1", "localhost", "LOCALHOST", "::ffff:127.0.0.1"])(
    "%s is loopback and needs no TLS",
    async (host) => {
      expect(await only(`server: {host: '${host}'}\nauth: {issuers: [${ISSUER}]}`)).toBeUndefined();
    },
  );

  test.each(["0.0.0.0", "::", "10.0.0.1", "example.org", "128.0.0.1", "localhost.example.org", "::ffff:10.0.0.1"])(
    "%s needs tls or behindTls",
    async (host) => {
      const yaml = (more: string) => `server: {host: '${host}'${more}}\nauth: {issuers: [${ISSUER}]}`;

      expect(await only(yaml(""))).toMatch(/^server\.host: .*set server\.tls, or server\.behindTls: true/);
      expect(await only(yaml(", behindTls: true"))).toBeUndefined();
      expect(await only(yaml(", tls: {certFile: c, keyFile: k}"))).toBeUndefined();
    },
  );
});

describe("redaction.metaFields", () => {
  test.each([
    ["filter: {fields: {email: keyword}}\nredaction: {metaFields: [phone, email]}", /may not be filtered by either/],
    ["filter: {fields: {a.b: keyword}}\nredaction: {metaFields: [a.b]}", /may not be filtered by either/],
    ["filter: {fields: {a.b.c: keyword}}\nredaction: {metaFields: [a]}", /may not be filtered by either/],
    ["redaction: {metaFields: [title]}", /title and uri are what a hit is cited by/],
    ["redaction: {metaFields: [uri]}", /title and uri are what a hit is cited by/],
  ])("%j", async (yaml, problem) => {
    expect(await only(yaml)).toMatch(/^redaction\.metaFields: /);
    expect(await only(yaml)).toMatch(problem);
  });

  test("may name what nobody filters by", async () => {
    const yaml = "filter: {fields: {email: keyword, em: int}}\nredaction: {metaFields: [author.email, constructor, e]}";

    expect(await only(yaml)).toBeUndefined();
  });
});

test.each(["rcp:read", "rcp:index.add"])("auth.read.unredactedScope has a name of its own: not %s", async (scope) => {
  const yaml = `auth: {read: {unredactedScope: '${scope}'}}`;

  expect(await only(yaml)).toMatch(/^auth\.read\.unredactedScope: is the scope of a credential; choose one of its own/);
  expect(await only("auth: {read: {unredactedScope: 'rcp:read.unredacted'}}")).toBeUndefined();
});

describe("fetch", () => {
  test.each([
    ["fetch: {enabled: true}", /^fetch\.allowedHosts: fetching is on and nothing may be fetched/],
    ["fetch: {fileRoot: documents}", /^fetch\.fileRoot: must be an absolute path/],
    ["fetch: {fileRoot: /}", /^fetch\.fileRoot: .*name the folder that holds the documents/],
    ["fetch: {fileRoot: //}", /^fetch\.fileRoot: .*name the folder that holds the documents/],
    ["fetch: {fileRoot: /srv/..}", /^fetch\.fileRoot: .*name the folder that holds the documents/],
    ["fetch: {allowedHosts: ['https://docs.example.org']}", /^fetch\.allowedHosts\[0\]: must be a host such as/],
    ["fetch: {allowPrivate: [10.1.2.3]}", /^fetch\.allowPrivate\[0\]: must be a range of addresses/],
  ])("%j", async (yaml, problem) => {
    expect(await only(yaml)).toMatch(problem);
  });

  test.each([
    "fetch: {enabled: true, allowedHosts: ['*']}",
    "fetch: {enabled: true, fileRoot: /srv/documents}",
    "fetch: {enabled: true, allowedHosts: ['10.1.2.3', '[fd00::1]', '*.example.org'], allowPrivate: [10.1.2.3/32, 'fd00::/64']}",
  ])("%j is fine", async (yaml) => {
    expect(await only(yaml)).toBeUndefined();
  });
});

describe("auth.mode", () => {
  const open = "server: {host: 0.0.0.0, behindTls: true}";

  test.each([
    [`${open}\nauth: {mode: none}`, /^auth\.mode: none is for a loopback/],
    [open, /^auth\.issuers: is empty, and generated first-run tokens/],
    ["auth: {mode: jwt}", /^auth\.issuers: auth\.mode: jwt needs at least one issuer/],
  ])("%j", async (yaml, problem) => {
    expect(await only(yaml)).toMatch(problem);
  });

  test.each([
    "auth: {mode: none}",
    "",
    `${open}\nauth: {issuers: [${ISSUER}]}`,
    `auth: {mode: jwt, issuers: [${ISSUER}]}`,
  ])("%j is fine", async (yaml) => {
    expect(await only(yaml)).toBeUndefined();
  });
});

describe("auth.issuers", () => {
  test.each([
    ["{issuer: a}", "auth.issuers[0]: needs exactly one of jwksUri, jwksFile, jwks, secret; it has none"],
    [
      "{issuer: a, jwksUri: 'https://a/', jwksFile: f}",
      "auth.issuers[0]: needs exactly one of jwksUri, jwksFile, jwks, secret; it has jwksUri and jwksFile",
    ],
    [
      `{issuer: a, secret: ${SECRET}, jwksFile: f, algorithms: [HS256]}`,
      "auth.issuers[0]: needs exactly one of jwksUri, jwksFile, jwks, secret; it has jwksFile and secret",
    ],
    [
      `{issuer: a, secret: ${SECRET.slice(1)}, algorithms: [HS256]}`,
      /^auth\.issuers\[0\]\.secret: must have at least 32 bytes/,
    ],
    [`{issuer: a, secret: ${SECRET}}`, "auth.issuers[0].algorithms: must be [HS256], the one algorithm for a secret"],
    [
      `{issuer: a, secret: ${SECRET}, algorithms: [HS256, RS256]}`,
      "auth.issuers[0].algorithms: must be [HS256], the one algorithm for a secret",
    ],
    ["{issuer: a, jwksFile: f, algorithms: [HS256]}", /^auth\.issuers\[0\]\.algorithms: HS256 needs a secret/],
    ["{issuer: a, jwksFile: f, algorithms: [RS256, HS256]}", /^auth\.issuers\[0\]\.algorithms: HS256 needs a secret/],
    [
      `{issuer: a, jwks: {keys: [{kty: oct, kid: k, k: AAAA}]}}`,
      /^auth\.issuers\[0\]\.jwks: holds a private or shared key/,
    ],
    [
      "{issuer: a, jwks: {keys: [{kty: EC, kid: k, d: AAAA}]}}",
      /^auth\.issuers\[0\]\.jwks: holds a private or shared key/,
    ],
    ["{issuer: a, jwks: {keys: [{kty: EC}]}}", /^auth\.issuers\[0\]\.jwks: has a key without kid/],
    ["{issuer: a, jwks: {keys: [{kid: k}]}}", /^auth\.issuers\[0\]\.jwks: has a key without kty/],
    [`${ISSUER}, ${ISSUER}`, "auth.issuers[1].issuer: is that of auth.issuers[0]; keep one entry"],
  ])("%j", async (issuers, problem) => {
    expect(await only(`auth: {issuers: [${issuers}]}`)).toEqual(
      typeof problem === "string" ? problem : expect.stringMatching(problem),
    );
  });

  test.each([
    "{issuer: a, jwksFile: f}",
    `{issuer: a, jwks: {keys: [${KEY}]}, algorithms: [EdDSA]}`,
    `{issuer: a, secret: ${SECRET}, algorithms: [HS256]}`,
    `${ISSUER}, {issuer: b, secret: ${SECRET}, algorithms: [HS256]}`,
  ])("%j is fine", async (issuers) => {
    expect(await only(`auth: {issuers: [${issuers}]}`)).toBeUndefined();
  });

  test("32 bytes are counted, not characters", async () => {
    expect(
      await only(`auth: {issuers: [{issuer: a, secret: '${"é".repeat(16)}', algorithms: [HS256]}]}`),
    ).toBeUndefined();
  });

  test("a key without kid is fine where none is required", async () => {
    const jwks = "{keys: [{kty: OKP, crv: Ed25519, x: 11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo}]}";

    expect(await only(`auth: {kidRequired: false, issuers: [{issuer: a, jwks: ${jwks}}]}`)).toBeUndefined();
  });
});

describe("credentials", () => {
  test("an issuer that is not configured", async () => {
    const yaml = (issuer: string) => `auth: {issuers: [${ISSUER}], add: {issuer: '${issuer}'}}`;

    expect(await only(yaml("https://a.example"))).toMatch(/^auth\.add\.issuer: must be the issuer of one/);
    expect(await only(yaml("https://a.example/"))).toBeUndefined();
  });

  test.each([
    [
      "add: {audience: 'pgrcp:read'}",
      "auth.add.audience: is that of auth.read.audience; each credential needs an audience of its own",
    ],
    [
      "delete: {audience: ' pgrcp:add '}",
      "auth.delete.audience: is that of auth.add.audience; each credential needs an audience of its own",
    ],
    [
      "read: {audience: 'pgrcp:delete'}",
      "auth.delete.audience: is that of auth.read.audience; each credential needs an audience of its own",
    ],
    ["read: {audience: '  '}", "auth.read.audience: must not be empty"],
    ["add: {audience: ''}", "auth.add.audience: must not be empty"],
    ['delete: {audience: "\\t"}', "auth.delete.audience: must not be empty"],
  ])("%j", async (yaml, problem) => {
    expect(await only(`auth: {${yaml}}`)).toBe(problem);
  });

  test("white space around an audience is no part of it", async () => {
    expect((await loadText("auth: {read: {audience: ' mine '}}")).auth.read.audience).toBe("mine");
  });
});

describe("auth.tenantPattern", () => {
  test.each([
    ["[a-z]+", /must begin with \^ and end with \$/],
    ["^[a-z]+", /must begin with \^ and end with \$/],
    ["[a-z]+$", /must begin with \^ and end with \$/],
    ["^[a-z]+\\$", /must begin with \^ and end with \$/],
    ["^[a-z+$", /must be a regular expression/],
    ["^\\p{nonsense}$", /must be a regular expression/],
    ["^[a-z]*$", /must not match an empty tenant id/],
    ["^$", /must not match an empty tenant id/],
    ["^[0-9]+$", /must match demo/],
  ])("%s", async (pattern, problem) => {
    expect(await only(`auth: {tenantPattern: '${pattern}'}`)).toMatch(problem);
  });

  test.each(["^[a-z]+$", "^\\p{Ll}{1,20}$", "^demo|acme$"])("%s is fine", async (pattern) => {
    expect(await only(`auth: {tenantPattern: '${pattern}'}`)).toBeUndefined();
  });

  test("with issuers it need not match the first-run tenant", async () => {
    expect(await only(`auth: {tenantPattern: '^[0-9]+$', issuers: [${ISSUER}]}`)).toBeUndefined();
  });
});

describe("models", () => {
  const reranker = (more: string, retrieval = "") =>
    `models: {reranker: {provider: tei, url: 'http://127.0.0.1:8080', model: m${more}}}\nretrieval: {${retrieval}}`;

  test.each([
    [", maxCandidates: 99", "", /^models\.reranker\.maxCandidates: .*from retrieval\.maxK \(100\)/],
    [", maxCandidates: 1001", "", /^models\.reranker\.maxCandidates: .*to retrieval\.maxCandidateK \(1000\)/],
    ["", "maxK: 201", /^models\.reranker\.maxCandidates: /],
    ["", "maxCandidateK: 150", /^models\.reranker\.maxCandidates: /],
    [", maxCandidates: 100", "", undefined],
    [", maxCandidates: 1000", "", undefined],
    ["", "", undefined],
  ])("a reranker with %j and retrieval {%s}", async (more, retrieval, problem) => {
    const found = await only(reranker(more, retrieval));
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toMatch(problem);
  });

  test.each(["a key", "key\\n", "schlüssel"])("a key that no header can hold, %j, is refused unseen", async (key) => {
    const found = await only(`models: {generator: {url: 'http://h/v1', model: m, apiKey: "${key}"}}`);

    expect(found).toBe("models.generator.apiKey: only visible ASCII characters, without spaces or line breaks");
  });

  test("without a reranker, maxK may be anything", async () => {
    expect(await only("retrieval: {maxK: 500}")).toBeUndefined();
  });

  test("a key that crosses a network in the clear is warned of", async () => {
    const of = async (url: string, key = ", apiKey: k") =>
      configWarnings(
        await loadText(
          `models: {reranker: {provider: jina, url: '${url}', model: m${key}}, generator: {url: '${url}', model: m${key}}, embedding: {provider: openai, dimension: 8, url: '${url}', model: m${key}}}`,
        ),
      );

    expect(await of("http://models.example/v1")).toEqual(
      ["embedding", "reranker", "generator"].map((name) =>
        expect.stringMatching(new RegExp(`^models\\.${name}\\.url: plain http`)),
      ),
    );
    expect(await of("https://models.example/v1")).toEqual([]);
    expect(await of("http://127.0.0.1:8080")).toEqual([]);
    expect(await of("http://models.example/v1", "")).toEqual([]);
  });
});

describe("warnings of rateLimit.redis", () => {
  test.each([
    ["redis://:pass@redis.example.org", true],
    ["redis://redis.example.org", false],
    ["redis://:pass@127.0.0.1", false],
    ["rediss://:pass@redis.example.org", false],
  ])("%s: %j", async (url, isWarned) => {
    const warnings = configWarnings(configSchema.parse({ rateLimit: { redis: { url } } }));
    const expected = "rateLimit.redis.url: its password crosses the network in the clear; use rediss";
    expect(warnings).toEqual(isWarned ? [expected] : []);
  });
});

describe("the rest", () => {
  test.each([
    ["auth: {tenantClaim: 'a..b'}", /^auth\.tenantClaim: must be claim names joined by single dots/],
    ["auth: {scopeClaim: '.a'}", /^auth\.scopeClaim: must be claim names joined by single dots/],
    ["auth: {corporaClaim: 'a..b'}", /^auth\.corporaClaim: must be claim names joined by single dots/],
    [
      "auth: {jwksMaxAgeMs: 20000, jwksMaxStaleMs: 10000}",
      "auth.jwksMaxStaleMs: must be at least auth.jwksMaxAgeMs (20000)",
    ],
    ["server: {headersTimeoutMs: 20000}", /^server\.headersTimeoutMs: .*server\.receiveTimeoutMs \(15000\)/],
    ["retrieval: {maxK: 1001}", /^retrieval\.maxK: .*retrieval\.maxCandidateK \(1000\)/],
    [
      "retrieval: {defaultCandidateK: 1001}",
      "retrieval.defaultCandidateK: must be at most retrieval.maxCandidateK (1000)",
    ],
    [
      "retrieval: {defaultMode: hybrid}\ncapabilities: {modes: [dense, sparse]}",
      "retrieval.defaultMode: must be one of capabilities.modes (dense, sparse)",
    ],
    [
      "retrieval: {fusion: {method: rrf}}\ncapabilities: {fusion: [convex, weighted]}",
      "retrieval.fusion.method: must be one of capabilities.fusion (convex, weighted)",
    ],
    [
      "indexing: {chunkTokens: 32, overlapTokens: 32}",
      /^indexing\.overlapTokens: must be less than indexing\.chunkTokens \(32\)/,
    ],
    [
      "filter: {fields: {year: int, Year: int}}",
      "filter.fields.Year: differs from filter.fields.year by letter case alone; rename one, callers would mix them up",
    ],
  ])("%j", async (yaml, problem) => {
    expect(await only(yaml)).toEqual(typeof problem === "string" ? problem : expect.stringMatching(problem));
  });

  test.each([
    "auth: {tenantClaim: app_metadata.tenant}",
    "auth: {tenantClaim: 'https://acme.example/..tenant'}",
    "retrieval: {maxK: 1000, defaultCandidateK: 1000}",
    "retrieval: {defaultMode: dense}\ncapabilities: {modes: [dense], fusion: [rrf]}",
    "indexing: {chunkTokens: 33, overlapTokens: 32}",
    "server: {headersTimeoutMs: 15000}",
    "filter: {fields: {constructor: int, year: int}}",
  ])("%j is fine", async (yaml) => {
    expect(await only(yaml)).toBeUndefined();
  });
});

test("what may be meant is warned of, not refused", async () => {
  const config = await loadText(`
server: {host: 0.0.0.0, behindTls: true, maxBodyBytes: 900, maxAddBodyBytes: 1000}
rateLimit: {enabled: false}
auth:
  combinedTokens: true
  issuers: [{issuer: a, jwksUri: 'http://idp.example/keys'}, {issuer: b, jwksUri: 'http://127.0.0.1/keys'}]
`);

  expect(configWarnings(config)).toEqual([
    "limits.maxTextBytes: a text that long never arrives: server.maxAddBodyBytes is 1000",
    expect.stringMatching(/^auth\.issuers\[0\]\.jwksUri: plain http/),
    expect.stringMatching(/^auth\.combinedTokens: /),
    expect.stringMatching(/^rateLimit\.enabled: off/),
    expect.stringMatching(/^server\.publicUrl: unset, so GET \/manifest/),
    expect.stringMatching(/^server\.trustedProxies: names nobody/),
  ]);
  expect(configWarnings(await loadText(""))).toEqual([]);
});
