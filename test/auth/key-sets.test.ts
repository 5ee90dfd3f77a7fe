import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { RequestListener } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { errors } from "jose";
import { afterEach, describe, expect, test } from "vitest";
import { createTokenVerifier } from "../../src/auth/jwt-verifier.ts";
import { fixedKeySet } from "../../src/auth/key-sets.ts";
import { TokenRefused } from "../../src/auth/verify-token.ts";
import { configSchema } from "../../src/config/config.ts";
import { ConfigError } from "../../src/config/config-error.ts";
import { RpcError } from "../../src/protocol/errors.ts";
import { type KeyServer, keyServer, serveKeys } from "./key-server.ts";
import { ISSUER, type IssuerKey, issuerKey } from "./own-tokens.ts";

const COOLDOWN = 30_000;
const MAX_AGE = 600_000;
const MAX_STALE = 14_400_000;
const k1 = issuerKey("k1");
const k2 = issuerKey("k2");

const servers: KeyServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function started(answer: RequestListener, port?: number): Promise<KeyServer> {
  const server = await keyServer(answer, port);
  servers.push(server);
  return server;
}

/** A verifier that asks the server, and a clock that stands still but for what the test adds. */
function verifierOf(url: string, settings: Record<string, unknown> = {}) {
  const clock = { ahead: 0 };
  const began = Date.now();
  const { auth } = configSchema.parse({
    auth: { issuers: [{ issuer: ISSUER, jwksUri: url }], maxLifetimeSeconds: 1_000_000, ...settings },
  });
  const verifier = createTokenVerifier(auth, { now: () => began + clock.ahead });
  const verify = async (key: IssuerKey, header: Record<string, unknown> = {}) => {
    const exp = Math.floor(Date.now() / 1000) + 900_000;
    const token = await key.sign({ exp }, header);
    return verifier.verify([`Bearer ${token}`]).then(
      ({ subject }) => subject,
      (error: unknown) => {
        if (error instanceof TokenRefused) return error.check;
        if (error instanceof RpcError) return error;
        throw error;
      },
    );
  };
  return { verify, clock };
}

const outOfReach = expect.objectContaining({ code: -32010, data: expect.objectContaining({ retryable: true }) });

describe("loading", () => {
  test("callers who come together share one load, and later ones need none", async () => {
    const server = await started(serveKeys(k1.jwk));
    const { verify } = verifierOf(server.url);

    expect(new Set(await Promise.all(Array.from({ length: 200 }, () => verify(k1))))).toEqual(new Set(["alice"]));
    expect(await verify(k1)).toBe("alice");
    expect(server.requests).toBe(1);
  });

  test("nothing is asked before a token of the issuer comes", async () => {
    const server = await started(serveKeys(k1.jwk));
    const { verify } = verifierOf(server.url);

    expect(await verify(issuerKey("k1", "https://stranger.test/"))).toBe("iss");
    expect(await verify(k1, { typ: "JWT" })).toBe("typ");
    expect(server.requests).toBe(0);
  });
});

describe("a change of keys", () => {
  test("a new key is found at once, an old one is refused after jwksMaxAgeMs", async () => {
    const server = await started(serveKeys(k1.jwk));
    const { verify, clock } = verifierOf(server.url);
    expect(await verify(k1)).toBe("alice");

    server.answer = serveKeys(k1.jwk, k2.jwk);
    clock.ahead += COOLDOWN;
    expect(await verify(k2)).toBe("alice");
    expect(await verify(k1)).toBe("alice");
    expect(server.requests).toBe(2);

    server.answer = serveKeys(k2.jwk);
    clock.ahead += MAX_AGE - 1_000;
    expect(await verify(k1)).toBe("alice");
    clock.ahead += 2_000;
    expect(await verify(k1)).toBe("kid");
    expect(await verify(k2)).toBe("alice");
    expect(server.requests).toBe(3);
  });

  test("1000 made-up key ids cost one load per cooldown", async () => {
    const server = await started(serveKeys(k1.jwk));
    const { verify, clock } = verifierOf(server.url);
    const flood = (from: number) =>
      Promise.all(Array.from({ length: 500 }, (_, index) => verify(k1, { kid: `made-up-${from + index}` })));

    // The first load is the one that everybody needs; it starts the cooldown.
    expect(new Set(await flood(0))).toEqual(new Set(["kid"]));
    expect(new Set(await flood(500))).toEqual(new Set(["kid"]));
    expect(server.requests).toBe(1);

    clock.ahead += COOLDOWN;
    expect(new Set(await flood(1000))).toEqual(new Set(["kid"]));
    expect(new Set(await flood(1500))).toEqual(new Set(["kid"]));
    expect(server.requests).toBe(2);
    expect(await verify(k1)).toBe("alice");
  });

  test("made-up key ids of one issuer cost another nothing: each is asked once a cooldown, and neither waits", async () => {
    const OTHER = "https://other.test/";
    const [flooded, quiet] = [await started(serveKeys(k1.jwk)), await started(serveKeys(k2.jwk))];
    const { auth } = configSchema.parse({
      auth: {
        issuers: [
          { issuer: ISSUER, jwksUri: flooded.url },
          { issuer: OTHER, jwksUri: quiet.url },
        ],
      },
    });
    const verifier = createTokenVerifier(auth, { now: Date.now });
    const verify = async (key: IssuerKey, claims: Record<string, unknown>, header: Record<string, unknown> = {}) =>
      verifier.verify([`Bearer ${await key.sign(claims, header)}`]).then(
        ({ subject }) => subject,
        (error: unknown) => (error instanceof TokenRefused ? error.check : "error"),
      );

    const unknown = Array.from({ length: 500 }, (_, index) => [
      verify(k1, {}, { kid: `made-up-${index}` }),
      verify(k2, { iss: OTHER }, { kid: `made-up-${index}` }),
    ]);
    const good = [verify(k1, {}), verify(k2, { iss: OTHER })];

    expect(new Set(await Promise.all(unknown.flat()))).toEqual(new Set(["kid"]));
    expect(await Promise.all(good)).toEqual(["alice", "alice"]);
    expect([flooded.requests, quiet.requests]).toEqual([1, 1]);
  });

  test("a clock that is set back does not keep new keys out", async () => {
    const server = await started(serveKeys(k1.jwk));
    const { verify, clock } = verifierOf(server.url, { clockToleranceSeconds: 60 });
    clock.ahead = 55_000;
    expect(await verify(k1)).toBe("alice");

    server.answer = serveKeys(k2.jwk);
    clock.ahead = 0;
    expect(await verify(k2)).toBe("alice");
  });
});

describe("an issuer out of reach", () => {
  test("cold: every caller is told to come back, and keys are served once it answers", async () => {
    const server = await started(serveKeys(k1.jwk));
    await server.close();
    const { verify, clock } = verifierOf(server.url);

    const outcomes = await Promise.all(Array.from({ length: 50 }, () => verify(k1)));
    expect(outcomes).toEqual(outcomes.map(() => outOfReach));
    const back = await started(serveKeys(k1.jwk), server.port);
    const early = await verify(k1);
    expect(early).toEqual(outOfReach);
    expect(early instanceof RpcError && early.data.retryAfterMs).toBeLessThanOrEqual(1_000);
    expect(back.requests).toBe(0);

    clock.ahead += 1_000;
    expect(await verify(k1)).toBe("alice");
    expect(back.requests).toBe(1);
  });

  test("warm: known keys go on serving for jwksMaxStaleMs, unknown ones cannot be told", async () => {
    const server = await started(serveKeys(k1.jwk));
    const { verify, clock } = verifierOf(server.url);
    expect(await verify(k1)).toBe("alice");
    await server.close();

    clock.ahead += MAX_AGE + 1_000;
    expect(await verify(k1)).toBe("alice");
    expect(await verify(k2)).toEqual(outOfReach);
    clock.ahead += MAX_STALE - MAX_AGE - 10_000;
    expect(await verify(k1)).toBe("alice");
    clock.ahead += 10_000;
    expect(await verify(k1)).toEqual(outOfReach);
    expect(await verify(k1)).toEqual(outOfReach);
  });

  test("warm: it is asked once per cooldown, and its new keys are taken when it is back", async () => {
    const server = await started(serveKeys(k1.jwk));
    const { verify, clock } = verifierOf(server.url);
    expect(await verify(k1)).toBe("alice");
    server.answer = (_, response) => response.writeHead(503).end();

    clock.ahead += MAX_AGE + 1_000;
    for (let round = 0; round < 3; round++) {
      expect(new Set(await Promise.all(Array.from({ length: 50 }, () => verify(k1))))).toEqual(new Set(["alice"]));
      expect(await verify(k2)).toEqual(outOfReach);
      expect(server.requests).toBe(2 + round);
      clock.ahead += COOLDOWN;
    }

    server.answer = serveKeys(k2.jwk);
    clock.ahead += COOLDOWN;
    expect(await verify(k2)).toBe("alice");
    expect(await verify(k1)).toBe("kid");
  });

  test("warm and hanging: one load is waited for, the next are tried behind the callers' backs", async () => {
    const server = await started(serveKeys(k1.jwk));
    const { verify, clock } = verifierOf(server.url, { jwksTimeoutMs: 1_000 });
    expect(await verify(k1)).toBe("alice");
    let hanging = 0;
    server.answer = (_, response) => {
      hanging++;
      response.on("close", () => hanging--);
    };
    clock.ahead += MAX_AGE + 1_000;

    const first = await timed(() => verify(k1));
    expect(first.outcome).toBe("alice");
    expect(first.tookMs).toBeGreaterThan(950);

    // The quickest of some: one that waited for its load would take as long as the first, on any machine.
    const tookMs: number[] = [];
    for (let load = 3; load < 8; load++) {
      clock.ahead += COOLDOWN;
      const next = await timed(() => verify(k1));
      expect(next.outcome).toBe("alice");
      tookMs.push(next.tookMs);
      await expect.poll(() => server.requests).toBe(load);
      if (next.tookMs < 700) break;
      await expect.poll(() => hanging).toBe(0);
    }
    expect(Math.min(...tookMs)).toBeLessThan(700);
  });
});

async function timed<T>(work: () => Promise<T>) {
  const started = performance.now();
  const outcome = await work();
  return { outcome, tookMs: performance.now() - started };
}

describe("an answer that is no key set", () => {
  const set = JSON.stringify({ keys: [k1.jwk] });
  const answers: readonly (readonly [string, RequestListener])[] = [
    ["204", (_, response) => response.writeHead(204).end()],
    ["404 with keys", (_, response) => response.writeHead(404).end(set)],
    ["500 with keys", (_, response) => response.writeHead(500).end(set)],
    ["203 with keys", (_, response) => response.writeHead(203).end(set)],
    ["HTML", (_, response) => response.end("<html>")],
    ["nothing", (_, response) => response.end()],
    ["null", (_, response) => response.end("null")],
    ["a list", (_, response) => response.end(JSON.stringify([k1.jwk]))],
    ["keys that are no list", (_, response) => response.end(JSON.stringify({ keys: k1.jwk }))],
    ["a list of numbers", (_, response) => response.end(JSON.stringify({ keys: [1, 2] }))],
    ["a closed connection", (request) => request.socket.destroy()],
    [
      "half an answer",
      (request, response) => {
        response.writeHead(200, { "content-length": set.length * 2 }).write(set, () => request.socket.destroy());
      },
    ],
    ["too many bytes", (_, response) => response.end(JSON.stringify({ keys: [k1.jwk], pad: "x".repeat(300_000) }))],
    [
      "too many bytes, compressed",
      (_, response) => {
        response
          .setHeader("content-encoding", "gzip")
          .end(gzipSync(JSON.stringify({ keys: [k1.jwk], pad: "x".repeat(50_000_000) })));
      },
    ],
    [
      "a stream without end",
      (_, response) => {
        const more = () => response.write("x".repeat(65_536), (error) => error ?? setImmediate(more));
        more();
      },
    ],
  ];

  test.each(answers)("%s: out of reach", async (_, answer) => {
    const server = await started(answer);
    const { verify } = verifierOf(server.url);

    expect(await verify(k1)).toEqual(outOfReach);
    expect(server.requests).toBe(1);
  });

  test.each([
    ["no answer", () => {}],
    ["headers and no body", (_, response) => response.writeHead(200).flushHeaders()],
    [
      "a byte at a time",
      (_, response) => {
        const timer = setInterval(() => response.write(" "), 50);
        response.on("close", () => clearInterval(timer));
      },
    ],
  ] as readonly (readonly [string, RequestListener])[])("%s: given up after jwksTimeoutMs", async (_, answer) => {
    const server = await started(answer);
    const { verify } = verifierOf(server.url, { jwksTimeoutMs: 300 });

    const { outcome, tookMs } = await timed(() => verify(k1));
    expect(outcome).toEqual(outOfReach);
    expect(tookMs).toBeGreaterThan(250);
    expect(tookMs).toBeLessThan(5_000);
  });

  test.each([301, 302, 303, 307, 308])("%i is not followed", async (status) => {
    const elsewhere = await started(serveKeys(k1.jwk));
    const server = await started((_, response) => response.writeHead(status, { location: elsewhere.url }).end());
    const { verify } = verifierOf(server.url);

    expect(await verify(k1)).toEqual(outOfReach);
    expect(elsewhere.requests).toBe(0);
  });

  test("just under the limit is read", async () => {
    const server = await started((_, response) => response.end(set.padEnd(262_144)));

    expect(await verifierOf(server.url).verify(k1)).toBe("alice");
    server.answer = (_, response) => response.end(set.padEnd(262_145));
    expect(await verifierOf(server.url).verify(k1)).toEqual(outOfReach);
  });
});

describe("keys that are no verification keys", () => {
  test.each([
    ["for encryption", { use: "enc" }, "kid"],
    ["for another algorithm", { alg: "ES384" }, "kid"],
    ["not for verifying", { key_ops: ["sign"] }, "kid"],
    ["of another curve", { crv: "P-384" }, "kid"],
    ["of no kind", { kty: "oct", k: "AAAA" }, "kid"],
    ["malformed", { x: "AAAA" }, "key"],
    ["private", { d: "AAAA" }, "key"],
  ])("%s", async (_, change, check) => {
    const server = await started(serveKeys({ ...k1.jwk, ...change }, k2.jwk));
    const { verify } = verifierOf(server.url);

    expect(await verify(k1)).toBe(check);
    expect(await verify(k2)).toBe("alice");
  });

  test("an empty set withdraws every key", async () => {
    const server = await started(serveKeys(k1.jwk));
    const { verify, clock } = verifierOf(server.url);
    expect(await verify(k1)).toBe("alice");

    server.answer = serveKeys();
    clock.ahead += MAX_AGE + 1_000;
    expect(await verify(k1)).toBe("kid");
  });
});

describe("jwksFile", () => {
  const directory = mkdtemp(path.join(tmpdir(), "pgrcp-keys-"));
  const fileWith = async (content: unknown) => {
    const text = typeof content === "string" ? content : JSON.stringify(content);
    const file = path.join(await directory, `${createHash("sha256").update(text).digest("hex").slice(0, 16)}.json`);
    await writeFile(file, text);
    return file;
  };
  const authOf = (jwksFile: string) => configSchema.parse({ auth: { issuers: [{ issuer: ISSUER, jwksFile }] } }).auth;

  test("is read at the start and again when it is old or lacks a key", async () => {
    const file = await fileWith({ keys: [k1.jwk] });
    const clock = { ahead: 0 };
    const verifier = createTokenVerifier(authOf(file), { now: () => Date.now() + clock.ahead });
    const verify = async (key: IssuerKey) =>
      verifier.verify([`Bearer ${await key.sign({ exp: Math.floor(Date.now() / 1000) + 80_000 })}`]);

    expect(await verify(k1)).toMatchObject({ subject: "alice" });
    await writeFile(file, JSON.stringify({ keys: [k2.jwk] }));
    await expect(verify(k2)).rejects.toMatchObject({ check: "kid" });
    clock.ahead += COOLDOWN;
    expect(await verify(k2)).toMatchObject({ subject: "alice" });

    await rm(file);
    clock.ahead += MAX_AGE + 1_000;
    expect(await verify(k2)).toMatchObject({ subject: "alice" });
  });

  test.each([
    ["no JSON", "{keys:", /must be a JWK set in JSON/],
    ["no set", [k1.jwk], /must be a JWK set: an object with a list of keys/],
    ["a private key", { keys: [{ ...k1.jwk, d: "AAAA" }] }, /holds a private or shared key/],
    ["a shared key", { keys: [{ kty: "oct", kid: "k", k: "AAAA" }] }, /holds a private or shared key/],
    ["a key without kid", { keys: [{ ...k1.jwk, kid: undefined }] }, /has a key without kid/],
    ["a number for a key", { keys: [1] }, /has a key without kty/],
  ])("%s stops the start", async (_, content, message) => {
    const auth = authOf(await fileWith(content));

    expect(() => createTokenVerifier(auth)).toThrow(ConfigError);
    expect(() => createTokenVerifier(auth)).toThrow(message);
    expect(() => createTokenVerifier(auth)).toThrow("auth.issuers[0].jwksFile");
  });

  test("a file that is not there stops the start", () => {
    expect(() => createTokenVerifier(authOf("/nowhere/keys.json"))).toThrow(/jwksFile: the file cannot be read/);
  });
});

test("a key that was found before is found again for its own kid and algorithm, and for no other", async () => {
  const { find } = fixedKeySet({ keys: [k1.jwk] });
  const key = await find({ alg: "ES256", kid: "k1" });

  expect(await find({ alg: "ES256", kid: "k1" })).toBe(key);
  expect(await find({ alg: "ES256" })).toBe(key);
  for (const other of [
    { alg: "ES384", kid: "k1" },
    { alg: "ES384" },
    { alg: "ES256", kid: "k2" },
    { alg: "ES256", kid: "undefined" },
  ])
    await expect(find(other)).rejects.toBeInstanceOf(errors.JWKSNoMatchingKey);
});
