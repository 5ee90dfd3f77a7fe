import { SignJWT } from "jose";
import { describe, expect, test } from "vitest";
import { createTokenVerifier } from "../../src/auth/jwt-verifier.ts";
import { TokenRefused } from "../../src/auth/verify-token.ts";
import { configSchema } from "../../src/config/config.ts";
import { authWith, goodClaims, ISSUER, issuerKey, outcome } from "./own-tokens.ts";

const key = issuerKey("k1");
const auth = authWith(key);
const all = { aud: ["pgrcp:read", "pgrcp:add", "pgrcp:delete"], scope: "rcp:read rcp:index.add rcp:index.delete" };
const credentials = async (claims: Record<string, unknown>, settings = auth) => {
  const found = await outcome(await key.sign(claims), settings);
  return typeof found === "string" ? found : [...found.credentials];
};

test("a principal is what the token's claims say and what the add credential writes as", async () => {
  const claims = goodClaims();
  const settings = authWith(key, { add: { source: "crm", trust: "community" } });

  expect(await outcome(await key.sign(claims), settings)).toEqual({
    issuer: ISSUER,
    subject: "alice",
    client: "agent",
    tenantId: "acme",
    credentials: new Set(["read"]),
    corpora: "all",
    tokenId: "one",
    expiresAt: claims.exp,
    source: "crm",
    trustCeiling: "community",
  });
});

describe("credentials", () => {
  test.each([
    [{ aud: "pgrcp:read", scope: "rcp:read" }, ["read"]],
    [{ aud: ["pgrcp:add"], scope: "rcp:index.add" }, ["add"]],
    [{ aud: "pgrcp:delete", scope: "openid rcp:index.delete" }, ["delete"]],
    [{ aud: ["https://other.test", "pgrcp:read"], scope: "rcp:read" }, ["read"]],
    // The scope of one and the audience of another are nothing.
    [{ aud: "pgrcp:read", scope: "rcp:index.add" }, []],
    [{ aud: "pgrcp:read", scope: "rcp:read rcp:index.add rcp:index.delete" }, ["read"]],
    [{ aud: "pgrcp:delete", scope: "" }, []],
    // Several audiences are several credentials in one hand, even when the scope is for one.
    [all, []],
    [{ aud: ["pgrcp:read", "pgrcp:add"], scope: "rcp:read" }, []],
    [{ aud: ["pgrcp:read", "pgrcp:read"], scope: "rcp:read" }, ["read"]],
  ])("of %j are %j", async (claims, expected) => {
    expect(await credentials(claims)).toEqual(expected);
  });

  test("combined tokens hold what audience and scope both name", async () => {
    const settings = authWith(key, { combinedTokens: true });

    expect(await credentials(all, settings)).toEqual(["read", "add", "delete"]);
    expect(await credentials({ ...all, scope: "rcp:read rcp:index.delete" }, settings)).toEqual(["read", "delete"]);
    expect(await credentials({ ...all, aud: ["pgrcp:add", "pgrcp:read"] }, settings)).toEqual(["read", "add"]);
  });

  test("a credential may be bound to one issuer", async () => {
    const other = issuerKey("k2", "https://other.test/");
    const settings = authWith(key, {
      issuers: [
        { issuer: ISSUER, jwks: { keys: [key.jwk] } },
        { issuer: "https://other.test/", jwks: { keys: [other.jwk] } },
      ],
      add: { issuer: "https://other.test/" },
    });
    const claims = { aud: "pgrcp:add", scope: "rcp:index.add" };

    expect(await credentials(claims, settings)).toEqual([]);
    expect(await outcome(await other.sign(claims), settings)).toMatchObject({ credentials: new Set(["add"]) });
    // One issuer's key is no key of another's.
    expect(await outcome(await other.sign({ iss: ISSUER }, { kid: "k1" }), settings)).toBe("signature");
    expect(await outcome(await other.sign({ iss: ISSUER }), settings)).toBe("kid");
  });
});

describe("who calls", () => {
  test.each([
    [{ client_id: undefined, azp: "portal" }, { client: "portal" }],
    [{ client_id: "", azp: "portal" }, { client: "portal" }],
    [{ client_id: "agent", azp: "portal" }, { client: "agent" }],
    [{ client_id: undefined }, { client: "" }],
    [{ jti: undefined }, { tokenId: undefined }],
    [{ sub: "s".repeat(255) }, { subject: "s".repeat(255) }],
    [{ sub: "u1|acme" }, { subject: "u1|acme" }],
  ])("%j", async (claims, expected) => {
    expect(await outcome(await key.sign(claims), auth)).toMatchObject(expected);
  });

  test.each([
    [{ sub: "é".repeat(128) }, "sub"],
    [{ sub: "a\u0000b" }, "sub"],
    [{ sub: "a\ud800" }, "sub"],
    [{ client_id: 7 }, "client"],
    [{ client_id: "c".repeat(256) }, "client"],
    [{ azp: ["x"], client_id: undefined }, "client"],
    [{ jti: 7 }, "jti"],
    [{ jti: "" }, "jti"],
    [{ jti: "a\u0000" }, "jti"],
  ])("%j is refused by %s", async (claims, check) => {
    expect(await outcome(await key.sign(claims), auth)).toBe(check);
  });
});

describe("settings", () => {
  const metadata = { tenant: undefined, app_metadata: { tenant: "acme", roles: ["rcp:read"] } };

  test("the tenant claim may stand deeper, in own members only", async () => {
    const settings = authWith(key, { tenantClaim: "app_metadata.tenant" });

    expect(await outcome(await key.sign(metadata), settings)).toMatchObject({ tenantId: "acme" });
    expect(await outcome(await key.sign({ "app_metadata.tenant": "acme" }), settings)).toBe("tenant");
    expect(await outcome(await key.sign({ app_metadata: "acme" }), settings)).toBe("tenant");
    expect(await outcome(await key.sign({ app_metadata: [{ tenant: "acme" }] }), settings)).toBe("tenant");
    for (const inherited of ["constructor.name", "app_metadata.constructor.name", "__proto__.tenant", "tenant.length"])
      expect(await outcome(await key.sign(metadata), authWith(key, { tenantClaim: inherited }))).toBe("tenant");
  });

  test("a claim named by a URL is one claim", async () => {
    const settings = authWith(key, { tenantClaim: "https://acme.test/tenant.id" });

    expect(await outcome(await key.sign({ "https://acme.test/tenant.id": "globex" }), settings)).toMatchObject({
      tenantId: "globex",
    });
  });

  test("scopes are a list where the configuration says so, and only there", async () => {
    const list = authWith(key, { scopeClaim: "app_metadata.roles", scopeForm: "array" });

    expect(await outcome(await key.sign({ app_metadata: { roles: ["rcp:read"] } }), list)).toMatchObject({
      credentials: new Set(["read"]),
    });
    expect(await outcome(await key.sign({ app_metadata: { roles: "rcp:read" } }), list)).toBe("scope");
    expect(await outcome(await key.sign({ app_metadata: { roles: ["rcp:read", 1] } }), list)).toBe("scope");
    expect(await outcome(await key.sign({ scope: ["rcp:read"] }), auth)).toBe("scope");
  });

  test.each([
    [["docs", "notes"], new Set(["docs", "notes"])],
    ["docs notes", new Set(["docs", "notes"])],
    ["docs", new Set(["docs"])],
    [[], new Set()],
    ["*", "all"],
    [["docs", "*"], "all"],
    [["__proto__", "NoCorpus!"], new Set(["__proto__", "NoCorpus!"])],
  ])("corpora %j are %j", async (claim, corpora) => {
    const settings = authWith(key, { corporaClaim: "app.corpora" });

    expect(await outcome(await key.sign({ app: { corpora: claim } }), settings)).toMatchObject({ corpora });
  });

  test.each([undefined, null, 7, true, { docs: true }, [["docs"]], ["docs", 7]])(
    "corpora %j refuse the token where it must name some, and nowhere else",
    async (claim) => {
      const token = await key.sign({ corpora: claim });

      expect(await outcome(token, authWith(key, { corporaClaim: "corpora" }))).toBe("corpora");
      expect(await outcome(token, auth)).toMatchObject({ corpora: "all" });
    },
  );

  test("a pattern speaks of the whole tenant id, whatever its alternatives say", async () => {
    const settings = authWith(key, { tenantPattern: "^acme|globex$" });

    expect(await outcome(await key.sign({ tenant: "acme" }), settings)).toMatchObject({ tenantId: "acme" });
    expect(await outcome(await key.sign({ tenant: "acme-and-more" }), settings)).toBe("tenant");
    expect(await outcome(await key.sign({ tenant: "not-globex" }), settings)).toBe("tenant");
  });

  test("a pattern that lets everything through lets no NUL, lone surrogate or endless id through", async () => {
    const settings = authWith(key, { tenantPattern: "^[^]+$" });

    expect(await outcome(await key.sign({ tenant: "Ä b" }), settings)).toMatchObject({ tenantId: "Ä b" });
    for (const tenant of ["a\u0000", "a\ud800", "a".repeat(256)])
      expect(await outcome(await key.sign({ tenant }), settings)).toBe("tenant");
  });

  test("typ is what the configuration says, or anything", async () => {
    const plain = authWith(key, { typ: "JWT" });
    const any = authWith(key, { typ: null });

    expect(await outcome(await key.sign({}, { typ: "jwt" }), plain)).toMatchObject({ subject: "alice" });
    expect(await outcome(await key.sign({}, { typ: "application/jwt" }), plain)).toMatchObject({ subject: "alice" });
    expect(await outcome(await key.sign(), plain)).toBe("typ");
    expect(await outcome(await key.sign({}, { typ: "text/at+jwt" }), auth)).toBe("typ");
    expect(await outcome(await key.sign({}, { typ: "x" }), any)).toMatchObject({ subject: "alice" });
  });

  test("without kid, one key is taken and two are not guessed between", async () => {
    const second = issuerKey("k2");
    const noKid = { kid: undefined };
    const one = authWith(key, { kidRequired: false });
    const two = authWith(key, {
      kidRequired: false,
      issuers: [{ issuer: ISSUER, jwks: { keys: [key.jwk, second.jwk] } }],
    });

    expect(await outcome(await key.sign({}, noKid), one)).toMatchObject({ subject: "alice" });
    expect(await outcome(await key.sign({}, noKid), two)).toBe("kid");
    expect(await outcome(await key.sign({}, noKid), auth)).toBe("kid");
    expect(await outcome(await second.sign(), two)).toMatchObject({ subject: "alice" });
  });

  test("a shared secret checks HS256 and nothing else", async () => {
    const secret = "0123456789abcdef0123456789abcdef";
    const settings = authWith(key, { issuers: [{ issuer: ISSUER, secret, algorithms: ["HS256"] }] });
    const sign = (header: Record<string, unknown>, bytes = secret) =>
      new SignJWT(goodClaims())
        .setProtectedHeader({ alg: "HS256", typ: "at+jwt", ...header })
        .sign(new TextEncoder().encode(bytes));

    expect(await outcome(await sign({}), settings)).toMatchObject({ subject: "alice" });
    expect(await outcome(await sign({ kid: "any" }), settings)).toMatchObject({ subject: "alice" });
    expect(await outcome(await sign({ kid: 1 }), settings)).toBe("kid");
    expect(await outcome(await sign({}, secret.replace("0", "1")), settings)).toBe("signature");
    expect(await outcome(await key.sign(), settings)).toBe("alg");
    // The same token, where the issuer has public keys.
    expect(await outcome(await sign({ kid: "k1" }), auth)).toBe("alg");
  });

  test("clock tolerance reaches as far as it says", async () => {
    const settings = authWith(key, { clockToleranceSeconds: 10 });
    const now = 2_000_000_000;
    const at = (claims: Record<string, unknown>) =>
      key
        .sign({ iat: now, exp: now + 300, ...claims })
        .then((token) => outcome(token, settings, { now: () => now * 1000 + 999 }));

    expect(await at({ exp: now - 9 })).toMatchObject({ subject: "alice" });
    expect(await at({ exp: now - 10 })).toBe("exp");
    expect(await at({ nbf: now + 10 })).toMatchObject({ subject: "alice" });
    expect(await at({ nbf: now + 11 })).toBe("nbf");
    expect(await at({ iat: now + 10 })).toMatchObject({ subject: "alice" });
    expect(await at({ iat: now + 11 })).toBe("iat");
    expect(await at({ nbf: null })).toBe("nbf");
  });

  test.each(["exp", "nbf", "iat"])("an infinite %s is no time", async (name) => {
    for (const endless of ["1e400", "-1e400"]) {
      const text = JSON.stringify({ ...goodClaims(), [name]: "endless" }).replace('"endless"', endless);
      expect(await outcome(await key.signText(text), auth)).toBe(name);
    }
  });

  test("lifetime is capped, exactly", async () => {
    const settings = authWith(key, { maxLifetimeSeconds: 600 });
    const now = Math.floor(Date.now() / 1000);

    expect(await outcome(await key.sign({ iat: now, exp: now + 600 }), settings)).toMatchObject({ subject: "alice" });
    expect(await outcome(await key.sign({ iat: now, exp: now + 601 }), settings)).toBe("lifetime");
    expect(await outcome(await key.sign({ iat: now - 601, exp: now }), settings)).toBe("lifetime");
  });
});

describe("headers", () => {
  const refusal = async (headers: readonly string[]) => {
    const refused = await createTokenVerifier(auth)
      .verify(headers)
      .catch((error: unknown) => error);
    return refused instanceof TokenRefused ? refused.check : "accepted";
  };

  test("none, several, and other schemes are told apart in the log", async () => {
    const token = await key.sign();

    expect(await refusal([])).toBe("missing");
    expect(await refusal([`Bearer ${token}`, `Bearer ${token}`])).toBe("duplicate");
    expect(await refusal([`Basic ${token}`])).toBe("scheme");
    expect(await refusal([`Bearer${token}`])).toBe("scheme");
    expect(await refusal([`Bearer ${token} x`])).toBe("scheme");
    expect(await refusal([""])).toBe("scheme");
    expect(await refusal([`Bearer\u00a0${token}`])).toBe("scheme");
    expect(await refusal([`Bearer ${token},`])).toBe("form");
    expect(await refusal([` \tBEARER   ${token}\t `])).toBe("accepted");
  });

  test("a long header is refused in linear time", async () => {
    // Processor time: others may be at work on the machine.
    const before = process.cpuUsage();
    const spaces = " ".repeat(100_000);
    for (const header of [
      `Bearer${spaces}x${spaces}x`,
      `${spaces}x`,
      `Bearer ${"\t".repeat(100_000)}`,
      `Bearer ${"a.".repeat(50_000)}`,
    ])
      expect(await refusal([header])).not.toBe("accepted");

    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(2_000);
  });
});

describe("a refusal", () => {
  test("carries the check and public claims, never the token", async () => {
    const token = await key.sign({ exp: 1, iat: 0, aud: ["pgrcp:read", "x"] });
    const refused = await createTokenVerifier(auth)
      .verify([`Bearer ${token}`])
      .catch((error: unknown) => error);

    expect(refused).toBeInstanceOf(TokenRefused);
    expect(refused).toMatchObject({
      check: "exp",
      message: "token refused: exp",
      claims: { issuer: ISSUER, audience: ["pgrcp:read", "x"], expiresAt: 1, keyId: "k1" },
    });
  });

  test("cuts what it carries", async () => {
    const token = await key.sign({ aud: Array.from({ length: 50 }, () => "a".repeat(80)), iss: "i".repeat(1000) });
    const refused = await createTokenVerifier(auth)
      .verify([`Bearer ${token}`])
      .catch((error: unknown) => error);

    expect(refused).toMatchObject({ check: "iss" });
    if (!(refused instanceof TokenRefused)) return;
    expect(refused.claims.issuer).toHaveLength(256);
    expect(refused.claims.audience).toHaveLength(8);
  });
});

describe("auth.mode", () => {
  test("none lets anyone be the demo tenant with every credential, whatever they send", async () => {
    const { auth: none } = configSchema.parse({ auth: { mode: "none" } });
    const principal = await createTokenVerifier(none, { now: () => 5_000 }).verify(["Bearer nonsense", "twice"]);

    expect(principal).toEqual({
      issuer: "none",
      subject: "anyone",
      client: "",
      tenantId: "demo",
      credentials: new Set(["read", "add", "delete"]),
      corpora: "all",
      tokenId: undefined,
      expiresAt: 86_405,
      source: "api",
      trustCeiling: "untrusted",
    });
  });

  test("auto without issuers needs the first-run issuer, and with issuers ignores it", async () => {
    const dev = issuerKey("dev", "urn:dev");
    const entry = { issuer: "urn:dev", jwks: { keys: [dev.jwk] }, algorithms: ["ES256" as const] };
    const { auth: auto } = configSchema.parse({});

    expect(() => createTokenVerifier(auto)).toThrow();
    expect(await outcome(await dev.sign(all), auto, { dev: entry })).toMatchObject({
      credentials: new Set(["read", "add", "delete"]),
    });
    expect(await outcome(await dev.sign(), auth, { dev: entry })).toBe("iss");
  });
});
