import { describe, expect, test } from "vitest";
import { configSchema } from "../../src/config/config.ts";
import { ConfigError } from "../../src/config/config-error.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { fileWith, loadText, problemsOf } from "./refusals.ts";

describe("what is loaded", () => {
  test("without a file and without variables, every setting has its default", async () => {
    const config = await loadConfig({ file: await fileWith(""), env: { PGRCP_AUTH__MODE: "none" } });

    expect(config).toEqual(configSchema.parse({ auth: { mode: "none" } }));
  });

  test("a file overlays the defaults, and a variable overlays the file", async () => {
    const config = await loadText("server:\n  port: 9000\n  maxHeaderBytes: 20000\n", { PGRCP_SERVER__PORT: "9001" });

    expect(config.server.port).toBe(9001);
    expect(config.server.maxHeaderBytes).toBe(20_000);
    expect(config.server.host).toBe("127.0.0.1");
  });

  test("PGRCP_CONFIG names the file when nothing else does", async () => {
    const file = await fileWith("log:\n  level: warn\n");

    expect((await loadConfig({ env: { PGRCP_CONFIG: file } })).log.level).toBe("warn");
  });

  test("a section with nothing under it means its defaults", async () => {
    const config = await loadText(
      "auth: {mode: none}\nserver:\n  tls:\ndatabase:\n  reader:\n  # commented out\nlog:\n",
    );

    expect(config).toEqual(configSchema.parse({ auth: { mode: "none" } }));
  });
});

describe("what is refused, and in which words", () => {
  test.each([
    ["server:\n  prt: 1", "server.prt (c.yaml line 2): unknown key; did you mean server.port?"],
    ["server:\n\n  port: eight", "server.port (c.yaml line 3): must be a number"],
    ["server:\n  port: 8787.5", "server.port (c.yaml line 2): must be a whole number"],
    ["server: {port: 70000}", "server.port (c.yaml line 1): must be at most 65535"],
    ["server: {maxBodyBytes: 0}", "server.maxBodyBytes (c.yaml line 1): must be at least 1"],
    ["server: {behindTls: 'yes'}", "server.behindTls (c.yaml line 1): must be true or false"],
    [
      "server: {host: }",
      "server.host (c.yaml line 1): is empty; give text (in quotes when it looks like a number) or take the key out",
    ],
    ["server: {host: ''}", "server.host (c.yaml line 1): must not be empty"],
    ["server: 5", "server (c.yaml line 1): must be a section of keys"],
    [
      "server: {tls: {certFile: a}}",
      "server.tls.keyFile (c.yaml line 1): is missing; give text (in quotes when it looks like a number)",
    ],
    [
      "server:\n  trustedProxies:\n    - 10.0.0.0/8\n    - nonsense",
      "server.trustedProxies[1] (c.yaml line 4): must be an IP address or a range such as 10.0.0.0/8",
    ],
    ["database: {url: 'mysql://h/d'}", "database.url (c.yaml line 1): must be a URL such as postgres://host:5432/name"],
    [
      "server: {publicUrl: 'ftp://h/'}",
      "server.publicUrl (c.yaml line 1): must be a URL that starts with http:// or https://",
    ],
    [
      "database:\n  reader:\n    password: 12345",
      "database.reader.password (c.yaml line 3): must be text (in quotes when it looks like a number)",
    ],
    ["log: {level: loud}", "log.level (c.yaml line 1): must be one of fatal, error, warn, info, debug, trace, silent"],
    ["capabilities: {modes: []}", "capabilities.modes (c.yaml line 1): needs at least 1 entry"],
    [
      "filter: {fields: {1st: int}}",
      "filter.fields.1st (c.yaml line 1): a field name is 1 to 60 letters, digits, _ . - and does not start with a digit, . or -",
    ],
    [
      "filter: {fields: {__proto__: int}}",
      "filter.fields.__proto__ (c.yaml line 1): cannot be a field's name; rename it",
    ],
    [
      "auth: {read: {scope: 'rcp:read rcp:more'}}",
      "auth.read.scope (c.yaml line 1): must be one scope of printable ASCII without spaces, quotes or backslashes",
    ],
    ["models: {embedding: {model: x}}", "models.embedding.provider (c.yaml line 1): must be one of builtin, openai"],
    [
      "models: {embedding: {provider: builtin, apiKey: x}}",
      "models.embedding.apiKey (c.yaml line 1): does not go with the chosen provider; take it out or choose another provider",
    ],
    ["- server", "c.yaml: must be sections of keys, such as server: and auth:"],
    ["server: {port: 1}\nserver: {port: 2}", "c.yaml line 2: the same key twice; keep one"],
    ["server:\n\tport: 1", "c.yaml line 2: indented with a tab; use spaces"],
  ])("%j", async (yaml, problem) => {
    expect(await problemsOf(yaml)).toContain(problem);
  });

  test("a key that is nothing like the known ones is answered with those", async () => {
    const [problem] = await problemsOf("tenants: {frobnicate: 1}");

    expect(problem).toBe("tenants.frobnicate (c.yaml line 1): unknown key; known here: autoCreate");
  });

  test("a file that is not there", async () => {
    const loading = loadConfig({ file: "/nowhere/config.yaml", env: {} });

    await expect(loading).rejects.toThrow("/nowhere/config.yaml: no such file");
  });

  test("__proto__ at the top is a key like any other and pollutes nothing", async () => {
    expect(await problemsOf("__proto__: {server: {port: 1}}")).toEqual([
      expect.stringMatching(/^__proto__ \(c\.yaml line 1\): unknown key/),
    ]);
    expect(Object.hasOwn(Object.prototype, "server")).toBe(false);
  });

  test("a setting that ends in Ms fits into a timer", async () => {
    const problem = "must be at most 2147483647";

    expect(await problemsOf("server: {requestTimeoutMs: 2147483648}")).toEqual([
      `server.requestTimeoutMs (c.yaml line 1): ${problem}`,
    ]);
    expect(await problemsOf("server: {requestTimeoutMs: 2147483647}")).toEqual([]);
    expect(await problemsOf("rateLimit: {address: {windowMs: 2147483648}}")).toEqual([
      `rateLimit.address.windowMs (c.yaml line 1): ${problem}`,
    ]);
  });

  test.each([
    ["sessions", "idleTtlSeconds", 3_153_600_000],
    ["idempotency", "ttlSeconds", 3_153_600_000],
    ["retrieval", "cursorTtlSeconds", 3_153_600_000],
    ["retention", "versionHours", 876_000],
    ["feedback", "retentionDays", 36_500],
  ])("a time that the database counts is at most a hundred years: %s.%s", async (section, key, most) => {
    expect(await problemsOf(`${section}: {${key}: ${most}}`)).toEqual([]);
    expect(await problemsOf(`${section}: {${key}: ${most + 1}}`)).toEqual([
      `${section}.${key} (c.yaml line 1): must be at most ${most}`,
    ]);
  });
});

describe("all at once", () => {
  const yaml = `
server:
  prt: 5
  host: 0.0.0.0
retrieval: {maxK: 5000}
auth:
  issuers:
    - issuer: https://a.example/
      jwksUri: https://a.example/keys
      extra: 1
  tenantPattern: "[a-z]+"
`;

  test("keys, contradictions and variables are told together", async () => {
    const problems = await problemsOf(yaml, { PGRCP_LOG__LEVEL: "loud", PGRCP_NO__SUCH: "1" });

    expect(problems).toEqual([
      expect.stringMatching(/^PGRCP_NO__SUCH: no such setting/),
      "server.prt (c.yaml line 3): unknown key; did you mean server.port?",
      expect.stringMatching(/^auth\.issuers\[0\]\.extra \(c\.yaml line 10\): unknown key/),
      "PGRCP_LOG__LEVEL (log.level): must be one of fatal, error, warn, info, debug, trace, silent",
      expect.stringMatching(/^auth\.tenantPattern \(c\.yaml line 11\): must begin with \^/),
      expect.stringMatching(/^server\.host \(c\.yaml line 4\): other machines/),
      expect.stringMatching(/^retrieval\.maxK \(c\.yaml line 5\): .* \(1000\)$/),
    ]);
  });

  test("a contradiction with a key that is wrong by itself is not made up", async () => {
    // Without the port, tls would be missing; it is there, only malformed.
    expect(
      await problemsOf("server: {host: 0.0.0.0, tls: {certFile: 1, keyFile: b}}\nauth: {mode: jwt, issuers: 7}"),
    ).toEqual([
      "server.tls.certFile (c.yaml line 1): must be text (in quotes when it looks like a number)",
      "auth.issuers (c.yaml line 2): must be a list",
    ]);
  });

  test.each([
    "auth: {issuers: [{issuer: 5, jwksUri: 'https://a.example/'}, {issuer: b}], add: {issuer: c}}",
    "auth: {issuers: [{issuer: a, jwks: {keys: [5]}}]}",
    "auth: {issuers: [{issuer: a, jwksFile: f, algorithms: [none]}]}",
    "server: {trustedProxies: [x, 10.0.0.0/8]}",
    "models: {embedding: {provider: openai, url: x}}",
  ])("beside %j, a contradiction elsewhere is still found", async (yaml) => {
    const problems = await problemsOf(`${yaml}\nindexing: {overlapTokens: 256}`);

    expect(problems.join("\n")).toMatch(/^indexing\.overlapTokens .*must be less than/m);
    expect(problems.join("\n")).not.toMatch(/exactly one of|is empty/);
  });

  test("the error exits with 2, counts its problems and puts each on a line", async () => {
    const error = await loadConfig({ file: await fileWith(yaml), env: {} }).catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(ConfigError);
    if (!(error instanceof ConfigError)) return;
    expect(error.exitCode).toBe(2);
    expect(error.message).toBe(
      `the configuration has 5 problems:\n${error.problems.map((p) => `  - ${p}`).join("\n")}`,
    );
    expect(error.problems).toHaveLength(5);
    expect(error.remedy).not.toBe("");
  });

  test("no value is shown, since any may be a secret", async () => {
    const secret = "hunter2-hunter2";
    const texts = [
      `database: {url: 'http://u:${secret}@h'}`,
      `database: {reader: {password: ['${secret}']}}`,
      `auth: {issuers: [{issuer: a, secret: ${secret}, jwksUri: 'ftp://${secret}/'}]}`,
      `auth: {mode: ${secret}, tenantPattern: '(${secret}', typ: ['${secret}']}`,
      `log: {level: ${secret}}`,
      `server:\n  host: "${secret}\n   unclosed`,
      `server: *${secret}`,
      `server: !${secret} x`,
      `models: {embedding: {provider: ${secret}}}`,
      `server: {port: ${secret}}\n- ${secret}`,
    ];
    const env = {
      PGRCP_SERVER__PORT: secret,
      PGRCP_DATABASE__URL: secret,
      PGRCP_DATABASE__STATE__PASSWORD_FILE: secret,
    };
    for (const text of texts) {
      const problems = await problemsOf(text, env);
      expect(problems.length).toBeGreaterThan(0);
      expect(problems.join("\n")).not.toContain(secret);
    }
  });
});
