import { constants, createHmac, createSign, generateKeyPairSync, type KeyObject, sign } from "node:crypto";

/** Builds the tokens of the shared vector file: good ones, and ones that are wrong in every way that it names. */

export interface VectorEntry {
  readonly id: string;
  readonly name: string;
  readonly tag: string;
  readonly header?: Record<string, unknown>;
  readonly claims?: Record<string, unknown>;
  readonly sign?: string;
  readonly form?: string;
  readonly jwks?: string;
  readonly bytes?: number;
  readonly order?: readonly string[];
  readonly headers?: readonly (readonly [string, string])[];
  readonly path?: string;
  readonly params?: unknown;
  readonly expect: { readonly auth: "accept" | "reject" };
}

type Members = Record<string, unknown>;

const rsa = (modulusLength: number) => generateKeyPairSync("rsa", { modulusLength });
const KEYS = {
  rs1: rsa(2048),
  rs2: rsa(2048),
  evil: rsa(2048),
  old: rsa(2048),
  weak: rsa(1024),
  es1: generateKeyPairSync("ec", { namedCurve: "P-256" }),
};
const P256_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

const publicJwk = (key: keyof typeof KEYS, kid: string, alg: string) => ({
  ...KEYS[key].publicKey.export({ format: "jwk" }),
  kid,
  alg,
  use: "sig",
});

const DEFAULT_SET = [publicJwk("rs1", "rs1", "RS256"), publicJwk("es1", "es1", "ES256")];

/** The key sets of the fixture, by name. */
export const KEY_SETS: Readonly<Record<string, readonly object[]>> = {
  default: DEFAULT_SET,
  "two-rsa": [...DEFAULT_SET, publicJwk("rs2", "rs2", "RS256")],
  "dup-kid": [publicJwk("rs1", "rs1", "RS256"), publicJwk("rs2", "rs1", "RS256")],
  "with-weak": [...DEFAULT_SET, publicJwk("weak", "weak", "RS256")],
};

const encode = (value: string | Uint8Array) => Buffer.from(value).toString("base64url");
const decode = (text: string) => Buffer.from(text, "base64url");
const json = (value: unknown) => encode(JSON.stringify(value));

const rs256 = (input: string, key: KeyObject) => encode(sign("sha256", Buffer.from(input), key));
const es256 = (input: string, dsaEncoding: "ieee-p1363" | "der" = "ieee-p1363") =>
  encode(sign("sha256", Buffer.from(input), { key: KEYS.es1.privateKey, dsaEncoding }));

/** The entry's token. `now` is in seconds. */
export function forge(entry: VectorEntry, fixture: { header: Members; claims: Members }, now: number): string {
  const header = resolve({ ...fixture.header, ...entry.header }, now);
  const claims = resolve({ ...fixture.claims, ...entry.claims }, now);
  const original = `${json(resolve(fixture.header, now))}.${json(resolve(fixture.claims, now))}`;
  if (entry.form !== undefined) return reshape(entry, header, claims);
  const input = `${json(header)}.${json(claims)}`;
  return `${input}.${signature(entry.sign ?? "rs1", input, original)}`;
}

function signature(kind: string, input: string, original: string): string {
  const hmac = /^hmac-HS(\d+)-(.+)$/.exec(kind);
  if (hmac !== null) return hmacSignature(`sha${hmac[1]}`, hmac[2] ?? "", input);
  switch (kind) {
    case "rs1":
    case "evil":
    case "old":
    case "weak":
      return rs256(input, KEYS[kind].privateKey);
    case "es1":
      return es256(input);
    case "es1-der":
      return es256(input, "der");
    case "empty":
      return "";
    case "zeros64":
      return encode(new Uint8Array(64));
    case "es-n-n": {
      const order = Buffer.from(P256_ORDER.toString(16), "hex");
      return encode(Buffer.concat([order, order]));
    }
    case "rs1-sha512":
      return createSign("sha512").update(input).sign(KEYS.rs1.privateKey, "base64url");
    case "rs1-pss":
      return encode(
        sign("sha256", Buffer.from(input), {
          key: KEYS.rs1.privateKey,
          padding: constants.RSA_PKCS1_PSS_PADDING,
          saltLength: 32,
        }),
      );
    case "rs1-over-original":
      return rs256(original, KEYS.rs1.privateKey);
    default:
      throw new Error(`no such signature: ${kind}`);
  }
}

function hmacSignature(hash: string, secret: string, input: string): string {
  const jwk = KEYS.rs1.publicKey.export({ format: "jwk" });
  const secrets: Readonly<Record<string, string | Buffer>> = {
    "rs1-spki-pem": KEYS.rs1.publicKey.export({ format: "pem", type: "spki" }),
    "rs1-jwk": JSON.stringify(jwk),
    "rs1-modulus": decode(String(jwk.n)),
    empty: "",
  };
  const key = secrets[secret];
  if (key === undefined) throw new Error(`no such secret: ${secret}`);
  return createHmac(hash, key).update(input).digest("base64url");
}

/** The whole-token transformations. */
function reshape(entry: VectorEntry, header: Members, claims: Members): string {
  const [head, body] = [json(header), json(claims)];
  const signed = (first: string, second: string) =>
    `${first}.${second}.${rs256(`${first}.${second}`, KEYS.rs1.privateKey)}`;
  const payload = (bytes: string | Uint8Array) => signed(head, encode(bytes));
  const good = signed(head, body);
  const seal = good.slice(good.lastIndexOf(".") + 1);
  const text = JSON.stringify(claims);
  switch (entry.form) {
    case "empty":
      return "";
    case "one":
      return head;
    case "two":
      return `${head}.${body}`;
    case "four":
      return `${good}.${seal}`;
    case "jwe":
      return [json({ alg: "RSA-OAEP", enc: "A256GCM", kid: "rs1" }), seal, "AAAA", body, "AAAA"].join(".");
    case "jwe-pbes2":
      return [
        json({ alg: "PBES2-HS256+A128KW", enc: "A128GCM", p2c: 2_147_483_647, p2s: "AAAA" }),
        seal,
        "AAAA",
        body,
        "AAAA",
      ].join(".");
    case "json":
      return JSON.stringify({ protected: head, payload: body, signature: seal });
    case "pad":
      return `${good}==`;
    case "stdb64":
      return withStandardAlphabet(header, claims, signed);
    case "newline":
      return `${head}.${body.slice(0, 20)}\n${body.slice(20)}.${seal}`;
    case "pctdot":
      return good.replaceAll(".", "%2E");
    case "trunc":
      return good.slice(0, -4);
    case "flip":
      return `${head}.${body}.${encode(decode(seal).map((byte, index) => (index === 100 ? byte ^ 1 : byte)))}`;
    case "swap":
      return `${head}.${json({ ...claims, tenant: "globex" })}.${seal}`;
    case "swaphdr":
      return `${json({ ...header, swapped: true })}.${body}.${seal}`;
    case "hdrjunk":
      return signed(encode("junk{"), body);
    case "hdrarr":
      return signed(json([header]), body);
    case "dupalg":
      return signed(encode(`{"alg":"none",${JSON.stringify(header).slice(1)}`), body);
    case "parr":
      return payload(JSON.stringify([claims]));
    case "pstr":
      return payload(JSON.stringify("claims"));
    case "pnull":
      return payload("null");
    case "putf8":
      return payload(
        Buffer.concat([Buffer.from(`{"x":"`), Buffer.from([0xff, 0xc0]), Buffer.from(`",${text.slice(1)}`)]),
      );
    case "pbom":
      return payload(`\ufeff${text}`);
    case "ptrail":
      return payload(`${text} trailing`);
    case "malleable":
      return `${head}.${body}.${otherUnusedBits(seal)}`;
    case "es-malleable":
      return otherHalf(`${json({ ...header, alg: "ES256", kid: "es1" })}.${body}`);
    case "size":
      return ofLength(entry.bytes ?? 0, header, claims, signed);
    case "duptenant": {
      const { tenant: _, ...rest } = claims;
      const twice = (entry.order ?? []).map((tenant) => `"tenant":${JSON.stringify(tenant)}`).join(",");
      return payload(`{${twice},${JSON.stringify(rest).slice(1)}`);
    }
    case "prototenant": {
      const { tenant, ...rest } = claims;
      return payload(`{"__proto__":${JSON.stringify({ tenant })},${JSON.stringify(rest).slice(1)}`);
    }
    default:
      throw new Error(`no such form: ${entry.form}`);
  }
}

type Signed = (header: string, body: string) => string;

/** A token whose signature has a letter that the standard alphabet writes differently, written so. */
function withStandardAlphabet(header: Members, claims: Members, signed: Signed): string {
  for (let tries = 0; ; tries++) {
    const token = signed(json(header), json({ ...claims, jti: `j${tries}` }));
    const at = token.lastIndexOf(".");
    const seal = token.slice(at).replaceAll("-", "+").replaceAll("_", "/");
    if (seal !== token.slice(at)) return token.slice(0, at) + seal;
  }
}

/** The same bytes: the last letter of 256 bytes carries 4 bits that nobody reads. */
function otherUnusedBits(seal: string): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const last = alphabet[alphabet.indexOf(seal.at(-1) ?? "") ^ 1] ?? "";
  return seal.slice(0, -1) + last;
}

/** The other signature that ECDSA allows for the same text: (r, n - s). */
function otherHalf(input: string): string {
  const bytes = decode(es256(input));
  const s = BigInt(`0x${bytes.subarray(32).toString("hex")}`);
  const other = Buffer.from((P256_ORDER - s).toString(16).padStart(64, "0"), "hex");
  return `${input}.${encode(Buffer.concat([bytes.subarray(0, 32), other]))}`;
}

/** A good token of exactly so many bytes; some lengths need filler in the header as well as in the payload. */
function ofLength(bytes: number, header: Members, claims: Members, signed: Signed): string {
  for (let inHeader = 0; inHeader < 3; inHeader++) {
    for (let inBody = 4_000; inBody < bytes; inBody++) {
      const head = json({ ...header, fill: "x".repeat(inHeader) });
      const body = json({ ...claims, fill: "x".repeat(inBody) });
      if (head.length + body.length + 2 + 342 === bytes) return signed(head, body);
    }
  }
  throw new Error("no token has that length");
}

/** Replaces the markers of time, keys and repetition. */
function resolve(members: Members, now: number): Members {
  const kept = Object.entries(members).filter(([, value]) => marker(value) !== "$remove");
  return Object.fromEntries(kept.map(([name, value]) => [name, resolveValue(value, now)]));
}

function resolveValue(value: unknown, now: number): unknown {
  const fields = value as Record<string, number | string>;
  switch (marker(value)) {
    case "$now":
      return now + Number(fields.$now);
    case "$nowMs":
      return now * 1000 + Number(fields.$nowMs);
    case "$nowStr":
      return String(now + Number(fields.$nowStr));
    case "$evilJwk":
      return publicJwk("evil", "evil", "RS256");
    case "$gen":
      if (fields.$gen !== "repeat") throw new Error(`no such generator: ${fields.$gen}`);
      return String(fields.unit).repeat(Number(fields.count));
    default:
      return value;
  }
}

const marker = (value: unknown): string | undefined =>
  typeof value === "object" && value !== null ? Object.keys(value).find((name) => name.startsWith("$")) : undefined;
