import { describe, expect, test } from "vitest";
import { configSchema } from "../../src/config/config.ts";
import { variableNames } from "../../src/config/environment.ts";
import { fileWith, loadText, problemsOf } from "./refusals.ts";

describe("values are read as the schema wants them", () => {
  test("text stays text, whatever it looks like", async () => {
    const config = await loadText("", {
      PGRCP_DATABASE__READER__PASSWORD: "5",
      PGRCP_DATABASE__ADDER__PASSWORD: "true",
      PGRCP_DATABASE__STATE__PASSWORD: " [a, b] ",
      PGRCP_AUTH__ADD__SOURCE: "null",
    });

    expect(config.database.reader.password).toBe("5");
    expect(config.database.adder.password).toBe("true");
    expect(config.database.state.password).toBe(" [a, b] ");
    expect(config.auth.add.source).toBe("null");
  });

  test("numbers, true and false, null where it is allowed", async () => {
    const config = await loadText("", {
      PGRCP_SERVER__MAX_BODY_BYTES: "2000000",
      PGRCP_RETRIEVAL__FUSION__ALPHA: "0.25",
      PGRCP_TENANTS__AUTO_CREATE: "false",
      PGRCP_AUTH__TYP: "null",
    });

    expect(config.server.maxBodyBytes).toBe(2_000_000);
    expect(config.retrieval.fusion.alpha).toBe(0.25);
    expect(config.tenants.autoCreate).toBe(false);
    expect(config.auth.typ).toBeNull();
  });

  test("lists, maps and sections are YAML or JSON", async () => {
    const config = await loadText("", {
      PGRCP_CAPABILITIES__MODES: "[dense, hybrid]",
      PGRCP_FILTER__FIELDS: '{"year": "int", "tags": "keyword[]"}',
      PGRCP_MODELS__EMBEDDING: "{provider: openai, url: 'http://127.0.0.1/v1', model: m, dimension: 8}",
    });

    expect(config.capabilities.modes).toEqual(["dense", "hybrid"]);
    expect(config.filter.fields).toEqual({ year: "int", tags: "keyword[]" });
    expect(config.models.embedding).toMatchObject({ provider: "openai", model: "m", retries: 2 });
  });

  test("elements of a list are set one by one, over those of the file", async () => {
    const yaml = "auth:\n  issuers:\n    - {issuer: 'https://a.example/', jwksUri: 'https://a.example/keys'}\n";
    const config = await loadText(yaml, {
      PGRCP_AUTH__ISSUERS__0__JWKS_URI: "https://b.example/keys",
      PGRCP_AUTH__ISSUERS__1__ISSUER: "https://c.example/",
      PGRCP_AUTH__ISSUERS__1__SECRET: "0123456789abcdef0123456789abcdef",
      PGRCP_AUTH__ISSUERS__1__ALGORITHMS: "[HS256]",
    });

    expect(config.auth.issuers).toEqual([
      { issuer: "https://a.example/", jwksUri: "https://b.example/keys", algorithms: ["RS256", "ES256"] },
      { issuer: "https://c.example/", secret: "0123456789abcdef0123456789abcdef", algorithms: ["HS256"] },
    ]);
  });

  test("keys of either provider are found", async () => {
    const config = await loadText(
      "models: {embedding: {provider: openai, url: 'http://h/v1', model: m, dimension: 8}}",
      {
        PGRCP_MODELS__EMBEDDING__API_KEY: "k",
        PGRCP_MODELS__EMBEDDING__TIMEOUT_MS: "100",
      },
    );

    expect(config.models.embedding).toMatchObject({ apiKey: "k", timeoutMs: 100 });
  });

  test("every setting has a variable, and no two settings share one", () => {
    const names = variableNames(configSchema);

    expect(new Set(names).size).toBe(names.length);
    expect(names).toContain("PGRCP_SERVER__MAX_BODY_BYTES");
    expect(names).toContain("PGRCP_AUTH__JWKS_MAX_STALE_MS");
    expect(names).toContain("PGRCP_DATABASE__MIGRATE_URL_FILE");
    expect(names).toContain("PGRCP_RETRIEVAL__FUSION__RRF_K");
    expect(names).not.toContain("PGRCP_SERVER__HOST_FILE");
  });
});

describe("secrets from files", () => {
  test("a password, a URL and a secret in a list are read, without the newlines at their end", async () => {
    const password = await fileWith("pa ss\nword \r\n", "password");
    const url = await fileWith("postgres://u:p@db:5432/pgrcp\n", "url");
    const secret = await fileWith("0123456789abcdef0123456789abcdef", "secret");
    const config = await loadText("auth: {issuers: [{issuer: a, algorithms: [HS256]}]}", {
      PGRCP_DATABASE__READER__PASSWORD_FILE: password,
      PGRCP_DATABASE__URL_FILE: url,
      PGRCP_AUTH__ISSUERS__0__SECRET_FILE: secret,
    });

    expect(config.database.reader.password).toBe("pa ss\nword ");
    expect(config.database.url).toBe("postgres://u:p@db:5432/pgrcp");
    expect(config.auth.issuers[0]?.secret).toBe("0123456789abcdef0123456789abcdef");
  });

  test("keys that end in File are themselves, not secrets from files", async () => {
    const config = await loadText("", {
      PGRCP_SERVER__TLS__CERT_FILE: "cert.pem",
      PGRCP_SERVER__TLS__KEY_FILE: "key.pem",
    });

    expect(config.server.tls).toMatchObject({ certFile: "cert.pem", keyFile: "key.pem" });
  });

  test.each([
    [
      { PGRCP_DATABASE__READER__PASSWORD_FILE: "/nowhere" },
      "PGRCP_DATABASE__READER__PASSWORD_FILE (database.reader.password): names a file that cannot be read",
    ],
    [
      { PGRCP_SERVER__HOST_FILE: "/etc/hostname" },
      "PGRCP_SERVER__HOST_FILE: only secrets are read from files; set PGRCP_SERVER__HOST",
    ],
    [
      { PGRCP_DATABASE__URL: "postgres://h/d", PGRCP_DATABASE__URL_FILE: "/nowhere" },
      "PGRCP_DATABASE__URL_FILE (database.url): sets the same key as PGRCP_DATABASE__URL; keep one",
    ],
  ])("%j", async (env, problem) => {
    expect((await problemsOf("", env)).join("\n")).toContain(problem);
  });

  test("an empty file is no secret", async () => {
    const empty = await fileWith("\n", "empty");

    expect(await problemsOf("", { PGRCP_DATABASE__READER__PASSWORD_FILE: empty })).toEqual([
      "PGRCP_DATABASE__READER__PASSWORD_FILE (database.reader.password): must not be empty",
    ]);
  });
});

describe("what is refused", () => {
  test.each([
    ["PGRCP_SERVER__PRT", "1", "PGRCP_SERVER__PRT: no such setting; did you mean PGRCP_SERVER__PORT?"],
    ["PGRCP_SERVER_PORT", "8787", "PGRCP_SERVER_PORT: no such setting; did you mean PGRCP_SERVER__PORT?"],
    ["PGRCP_SERVER__PORT__X", "1", "PGRCP_SERVER__PORT__X: no such setting; did you mean PGRCP_SERVER__PORT?"],
    [
      "PGRCP_ZZZZZZZZZZZZZZZZZZZZZZ",
      "1",
      "PGRCP_ZZZZZZZZZZZZZZZZZZZZZZ: no such setting; config.example.yaml has them all",
    ],
    ["PGRCP___PROTO____X", "1", "PGRCP___PROTO____X: no such setting; config.example.yaml has them all"],
    ["PGRCP_SERVER__PORT", "", "PGRCP_SERVER__PORT (server.port): is empty; give a value or unset it"],
    ["PGRCP_SERVER__PORT", "http", "PGRCP_SERVER__PORT (server.port): must be a number"],
    ["PGRCP_TENANTS__AUTO_CREATE", "yes", "PGRCP_TENANTS__AUTO_CREATE (tenants.autoCreate): must be true or false"],
    ["PGRCP_CAPABILITIES__MODES", "dense", "PGRCP_CAPABILITIES__MODES (capabilities.modes): must be a list"],
    [
      "PGRCP_CAPABILITIES__MODES",
      "[dense, {",
      "PGRCP_CAPABILITIES__MODES (capabilities.modes): is not valid YAML or JSON",
    ],
    [
      "PGRCP_CAPABILITIES__MODES__0",
      "fuzzy",
      "PGRCP_CAPABILITIES__MODES__0 (capabilities.modes[0]): must be one of dense, sparse, hybrid",
    ],
    [
      "PGRCP_FILTER__FIELDS__YEAR",
      "int",
      "PGRCP_FILTER__FIELDS__YEAR: give the whole map instead: PGRCP_FILTER__FIELDS='{name: value}'",
    ],
    [
      "PGRCP_AUTH__ISSUERS__1__ISSUER",
      "a",
      "PGRCP_AUTH__ISSUERS__1__ISSUER: elements count from 0 without gaps; 0 would be the next",
    ],
    ["PGRCP_SERVER__HOST", "0.0.0.0", "PGRCP_SERVER__HOST (server.host): other machines can reach this address"],
  ])("%s=%j", async (variable, value, problem) => {
    expect((await problemsOf("", { [variable]: value })).join("\n")).toContain(problem);
  });

  test("two spellings of one key", async () => {
    const problems = await problemsOf("", { PGRCP_SERVER__PORT: "1", PGRCP_SERVER__P_ORT: "2" });

    expect(problems).toEqual(["PGRCP_SERVER__P_ORT (server.port): sets the same key as PGRCP_SERVER__PORT; keep one"]);
  });

  test("a variable for a key under something that is no section leaves that to be told", async () => {
    expect(await problemsOf("server: 5", { PGRCP_SERVER__PORT: "1" })).toEqual([
      "server (c.yaml line 1): must be a section of keys",
    ]);
  });
});

test("variables of others are left alone", async () => {
  const env = {
    PATH: "/bin",
    MYPGRCP_X: "1",
    PGRCP_SERVICE_HOST: "10.0.0.1",
    PGRCP_SERVICE_PORT_HTTP: "8787",
    PGRCP_PORT: "tcp://10.0.0.1:8787",
    PGRCP_PORT_8787_TCP_ADDR: "10.0.0.1",
    PGRCP_SERVER_SERVICE_PORT: "8787",
    PGRCP_TEST_DATABASE_URL: "postgres://h/d",
  };

  expect(await problemsOf("", env)).toEqual([]);
});
