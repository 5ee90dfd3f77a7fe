import { readFileSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import { createTokenVerifier } from "../../src/auth/jwt-verifier.ts";
import { TokenRefused } from "../../src/auth/verify-token.ts";
import { configSchema } from "../../src/config/config.ts";
import { forge, KEY_SETS, type VectorEntry } from "./token-forge.ts";

const file = new URL("../vectors/data/jwt.json", import.meta.url);
const { fixture, entries } = JSON.parse(readFileSync(file, "utf8")) as {
  fixture: { header: Record<string, unknown>; claims: Record<string, unknown> };
  entries: VectorEntry[];
};

const KEYS_AT = "https://idp.example/keys";
const { auth } = configSchema.parse({
  auth: {
    issuers: [{ issuer: "https://idp.example/", jwksUri: KEYS_AT }],
    read: { audience: "https://rcp.example/rcp" },
  },
});

const asked: string[] = [];
const verifiers = new Map(
  Object.entries(KEY_SETS).map(([name, keys]) => {
    const fetch = async (url: unknown) => {
      asked.push(String(url));
      return Response.json({ keys });
    };
    return [name, createTokenVerifier(auth, { fetch: fetch as typeof globalThis.fetch })];
  }),
);

async function verify(authorization: readonly string[], jwks = "default") {
  const verifier = verifiers.get(jwks);
  if (verifier === undefined) throw new Error(`no such key set: ${jwks}`);
  try {
    return await verifier.verify(authorization);
  } catch (error) {
    if (error instanceof TokenRefused) return error;
    throw error;
  }
}

/** Which checks may refuse an entry of a group: a token refused by another would show nothing about its own mutation. */
const CHECKS_OF: Readonly<Record<string, readonly string[]>> = {
  alg: ["alg", "kid", "signature", "key"],
  kid: ["kid"],
  "hdr-key": ["signature", "kid"],
  crit: ["crit"],
  typ: ["typ", "cty"],
  form: ["form", "scheme", "signature", "size"],
  time: ["exp", "nbf", "iat", "lifetime"],
  who: ["iss", "aud", "sub"],
  tenant: ["tenant"],
  scope: ["scope"],
};

const now = () => Math.floor(Date.now() / 1000);
const cryptographic = entries.filter(({ tag }) => tag !== "transport");
const transport = entries.filter(({ tag }) => tag === "transport");
/** Decided by what the HTTP layer takes for an Authorization header; the verifier sees none. */
const withoutHeader = transport.filter(({ headers }) => authorizationOf(headers ?? [], "x").length === 0);

function authorizationOf(headers: readonly (readonly [string, string])[], good: string): string[] {
  return headers
    .filter(([name]) => name.toLowerCase() === "authorization")
    .map(([, value]) => value.replaceAll("{{good}}", good));
}

describe("a token", () => {
  test.each(cryptographic)("$id $name: $expect.auth", async (entry) => {
    const outcome = await verify([`Bearer ${forge(entry, fixture, now())}`], entry.jwks);

    expect(outcome instanceof TokenRefused ? "reject" : "accept").toBe(entry.expect.auth);
    if (outcome instanceof TokenRefused) {
      expect(CHECKS_OF[entry.tag]).toContain(outcome.check);
      // A refusal is told by its check alone; what is logged beside it is bounded.
      expect(outcome.message).toBe(`token refused: ${outcome.check}`);
      expect(JSON.stringify(outcome.claims).length).toBeLessThan(4_000);
    }
  });

  test.each(cryptographic.filter(({ tag, expect: { auth } }) => tag === "scope" && auth === "accept"))(
    "$id $name: grants what it spells out, between single spaces",
    async (entry) => {
      const outcome = await verify([`Bearer ${forge(entry, fixture, now())}`]);

      const scope = entry.claims?.scope;
      const reads = typeof scope === "string" && scope.split(" ").includes("rcp:read");
      expect(outcome).toMatchObject({ credentials: new Set(reads ? ["read"] : []) });
    },
  );

  test("of a tenant named twice is the last one's", async () => {
    const entry = entries.find(({ form }) => form === "duptenant");
    if (entry === undefined) throw new Error("the vector is gone");

    expect(await verify([`Bearer ${forge(entry, fixture, now())}`])).toMatchObject({ tenantId: "acme" });
  });
});

describe("an Authorization header", () => {
  const base = entries.find(({ id }) => id === "JWT-001");
  const good = () => (base === undefined ? "" : forge(base, fixture, now()));

  test.each(transport)("$id $name: $expect.auth", async ({ headers, expect: expected }) => {
    const outcome = await verify(authorizationOf(headers ?? [], good()));

    expect(outcome instanceof TokenRefused ? "reject" : "accept").toBe(expected.auth);
  });

  test.each(withoutHeader)("$id $name: is missing, as far as the verifier sees", async ({ headers }) => {
    expect(await verify(authorizationOf(headers ?? [], good()))).toMatchObject({ check: "missing" });
  });
});

describe("forms and signatures that the file may also name", () => {
  const made = (entry: Partial<VectorEntry>) =>
    forge({ id: "", name: "", tag: "", expect: { auth: "reject" }, ...entry }, fixture, now());

  test.each(["four", "pctdot", "flip", "hdrjunk", "hdrarr", "pnull"])("form %s is refused", async (form) => {
    expect(await verify([`Bearer ${made({ form })}`])).toBeInstanceOf(TokenRefused);
  });

  test.each([
    ["rs1-sha512", {}],
    ["old", {}],
    ["old", { kid: "old" }],
    ["hmac-HS256-rs1-jwk", { alg: "HS256" }],
    ["hmac-HS512-rs1-spki-pem", { alg: "HS512" }],
    ["rs1", { alg: "RS512" }],
    ["es1", { alg: "RS256", kid: "es1" }],
    ["rs1", { kid: 1 }],
    ["rs1", { kid: ["rs1"] }],
    ["rs1", { kid: null }],
    ["rs1", { kid: "" }],
    ["rs1", { cty: "JWT" }],
    ["rs1", { cty: "" }],
    ["rs1", { typ: null }],
    ["rs1", { crit: null }],
    ["rs1", { alg: null }],
  ])("signature %s under %j is refused", async (sign, header) => {
    expect(await verify([`Bearer ${made({ sign, header })}`])).toBeInstanceOf(TokenRefused);
  });

  test("two keys of one kid are no key", async () => {
    expect(await verify([`Bearer ${made({})}`], "dup-kid")).toMatchObject({ check: "kid" });
  });
});

afterAll(() => {
  const list = (title: string, of: readonly VectorEntry[]) =>
    `${title} (${of.length}): ${of.map(({ id, name }) => `${id} ${name}`).join("; ")}`;
  console.log(`built and verified: ${cryptographic.length} tokens of ${entries.length} entries`);
  console.log(
    list(
      "headers, verified",
      transport.filter((entry) => !withoutHeader.includes(entry)),
    ),
  );
  console.log(list("no Authorization header, so the rest is the HTTP layer's", withoutHeader));
});

test("no address in a token is ever asked", async () => {
  const naming = entries.filter(({ header }) => header?.jku !== undefined);
  if (naming.length === 0) throw new Error("the vectors are gone");
  for (const entry of naming)
    expect(await verify([`Bearer ${forge(entry, fixture, now())}`])).toBeInstanceOf(TokenRefused);

  expect(new Set(asked)).toEqual(new Set([KEYS_AT]));
});
