import { SignJWT } from "jose";
import { afterEach, expect, test, vi } from "vitest";
import type { TrustedIssuer } from "../../src/auth/issuers.ts";
import { createTokenVerifier } from "../../src/auth/jwt-verifier.ts";
import { KnownTokens } from "../../src/auth/known-tokens.ts";
import type { Principal } from "../../src/auth/principal.ts";
import type { TokenRules } from "../../src/auth/token-checks.ts";
import { TokenRefused } from "../../src/auth/verify-token.ts";
import { configSchema } from "../../src/config/config.ts";
import { backendUnavailable } from "../../src/protocol/errors.ts";
import { type KeyServer, keyServer, serveKeys } from "./key-server.ts";
import { authWith, goodClaims, ISSUER, issuerKey } from "./own-tokens.ts";

/** A token that comes again: its signature is not worked out again, and everything else is looked at. */

const key = issuerKey("k1");
let server: KeyServer | undefined;
afterEach(async () => {
  vi.restoreAllMocks();
  await server?.close();
  server = undefined;
});

/** A verifier whose clock the test sets, and how often it has worked out a signature. */
function verifierOf(auth = authWith(key)) {
  const clock = { ahead: 0 };
  const verifier = createTokenVerifier(auth, { now: () => Date.now() + clock.ahead });
  const signatures = vi.spyOn(crypto.subtle, "verify");
  const verify = (token: string) =>
    verifier.verify([`Bearer ${token}`]).then(
      ({ subject }) => subject,
      (error: unknown) => {
        if (error instanceof TokenRefused) return error.check;
        throw error;
      },
    );
  return { verify, clock, workedOut: () => signatures.mock.calls.length };
}

test("is worked out once, as is another", async () => {
  const { verify, workedOut } = verifierOf();
  const [one, two] = [await key.sign(), await key.sign({ sub: "bob" })];
  for (const token of [one, two, one, one, two]) expect(await verify(token)).toBe(token === one ? "alice" : "bob");
  expect(workedOut()).toBe(2);
});

test("is refused when it has expired", async () => {
  const { verify, clock } = verifierOf();
  const token = await key.sign();
  expect(await verify(token)).toBe("alice");
  clock.ahead = 600_000;
  expect(await verify(token)).toBe("exp");
});

test("is refused once its key is gone, or another has its id", async () => {
  server = await keyServer(serveKeys(key.jwk));
  const { auth } = configSchema.parse({ auth: { issuers: [{ issuer: ISSUER, jwksUri: server.url }] } });
  const { verify, clock } = verifierOf(auth);
  const token = await key.sign({ exp: Math.floor(Date.now() / 1_000) + 3_500 });
  expect(await verify(token)).toBe("alice");
  server.answer = serveKeys(issuerKey("k1").jwk);
  clock.ahead += 601_000;
  expect(await verify(token)).toBe("signature");
  server.answer = serveKeys(issuerKey("k2").jwk);
  clock.ahead += 601_000;
  expect(await verify(token)).toBe("kid");
});

test("with another signature, or other claims before the same one, is another token", async () => {
  const { verify } = verifierOf();
  const token = await key.sign();
  expect(await verify(token)).toBe("alice");
  const [header = "", claims = "", signature = ""] = token.split(".");
  const [, others = ""] = (await key.sign({ sub: "bob" })).split(".");
  const turned = (signature.startsWith("A") ? "B" : "A") + signature.slice(1);
  expect(await verify([header, claims, turned].join("."))).toBe("signature");
  expect(await verify([header, others, signature].join("."))).toBe("signature");
  // Nor is one remembered that was refused.
  expect(await verify([header, others, signature].join("."))).toBe("signature");
});

test("after as many others as are remembered is worked out again", async () => {
  const secret = "a secret of at least thirty-two bytes";
  const auth = configSchema.parse({ auth: { issuers: [{ issuer: ISSUER, secret, algorithms: ["HS256"] }] } }).auth;
  const { verify, workedOut } = verifierOf(auth);
  const token = (number: number) =>
    new SignJWT({ ...goodClaims(), jti: `${number}` })
      .setProtectedHeader({ alg: "HS256", typ: "at+jwt" })
      .sign(new TextEncoder().encode(secret));
  const first = await token(0);
  expect(await verify(first)).toBe("alice");
  for (let number = 1; number < 4_096; number++) await verify(await token(number));
  await verify(first);
  expect(workedOut()).toBe(4_096);
  for (let number = 4_096; number < 8_192; number++) await verify(await token(number));
  await verify(first);
  expect(workedOut()).toBe(8_193);
});

test("waits once for keys that cannot be had, and is as good as new where there is none", async () => {
  let reason: Error = backendUnavailable({ retryable: true, detail: "the keys cannot be had" });
  const issuer = { keys: { find: () => Promise.reject(reason) } } as unknown as TrustedIssuer;
  const tokens = new KnownTokens({} as TokenRules);
  const known = { issuer, key: new Uint8Array(32), principal: {} as Principal };
  tokens.add({ text: "token", header: { alg: "HS256" }, claims: { exp: 2_000_000_000 } }, known);
  await expect(tokens.find("token", 1_900_000_000)).rejects.toBe(reason);
  reason = new Error("no key of that id");
  expect(await tokens.find("token", 1_900_000_000)).toBeUndefined();
});
