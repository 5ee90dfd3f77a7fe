import { randomBytes } from "node:crypto";
import { open, readFile, rename, rm } from "node:fs/promises";
import {
  type CryptoKey,
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JSONWebKeySet,
  type JWK,
} from "jose";

export const KEY_ALGORITHMS = ["ES256", "EdDSA", "RS256", "PS256"] as const;
export type KeyAlgorithm = (typeof KEY_ALGORITHMS)[number];

/** What tokens are signed with. A shared secret has no `keyId` and no public half. */
export interface SigningKey {
  readonly algorithm: string;
  readonly keyId: string | undefined;
  readonly key: CryptoKey | Uint8Array;
  readonly publicJwk: JWK | undefined;
}

/** A new private key as a JWK; its `kid` is its thumbprint (RFC 7638). */
export async function generatePrivateJwk(algorithm: KeyAlgorithm): Promise<JWK> {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true });
  const jwk = await exportJWK(privateKey);
  return { ...jwk, kid: await calculateJwkThumbprint(jwk), alg: algorithm, use: "sig" };
}

/** The half of a key that may be shown. */
export function publicHalf({ kty, crv, x, y, n, e, kid, alg, use }: JWK): JWK {
  const members = { kty, crv, x, y, n, e, kid, alg, use };
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as JWK;
}

/**
 * Reads a private key that `generatePrivateJwk` made.
 *
 * @throws Error when the file is missing or is no private JWK with `alg` and `kid`; the message does not quote it
 */
export async function readSigningKey(file: string): Promise<SigningKey> {
  const text = await readFile(file, "utf8");
  try {
    const jwk = JSON.parse(text) as JWK;
    if (jwk.alg === undefined || jwk.kid === undefined || jwk.d === undefined) throw new Error("not a private key");
    return { algorithm: jwk.alg, keyId: jwk.kid, key: await importJWK(jwk), publicJwk: publicHalf(jwk) };
  } catch {
    throw new Error("not a private JWK with alg and kid");
  }
}

/** A key set that holds the public half of one key. */
export function keySetOf(key: SigningKey): JSONWebKeySet {
  if (key.publicJwk === undefined) throw new Error("a shared secret has no public half");
  return { keys: [key.publicJwk] };
}

/**
 * Writes a file that only its owner may read. Readers see the old content or the new, never a part.
 *
 * @param mode permission bits; 0600 unless the content is public
 */
export async function writePrivateFile(file: string, text: string, mode = 0o600): Promise<void> {
  const temporary = `${file}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    const handle = await open(temporary, "wx", mode);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
