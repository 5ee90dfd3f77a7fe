import { readFile, writeFile } from "node:fs/promises";
import type { JWK } from "jose";
import { publicJwkProblem } from "../config/public-jwk.ts";
import { TokenNotIssued } from "./issue-token.ts";
import { generatePrivateJwk, type KeyAlgorithm, publicHalf, writePrivateFile } from "./signing-key.ts";

const PUBLIC_MODE = 0o644;

/**
 * Makes a key pair: the private key in a new file of mode 0600, the public half added to a JWK set that `jwksFile` can name.
 * Keys that the set already holds stay, so that tokens signed with them stay good while keys are changed.
 *
 * @returns how many keys the set now holds
 * @throws TokenNotIssued when the private file exists or the set is none
 */
export async function makeKeyPair(
  files: { readonly privateKey: string; readonly jwks: string },
  algorithm: KeyAlgorithm,
) {
  const keys = await existingKeys(files.jwks);
  const jwk = await generatePrivateJwk(algorithm);
  try {
    await writeFile(files.privateKey, `${JSON.stringify(jwk)}\n`, { flag: "wx", mode: 0o600 });
  } catch (cause) {
    const exists = cause instanceof Error && "code" in cause && cause.code === "EEXIST";
    throw new TokenNotIssued(
      exists ? "the private key's file exists" : "the private key's file cannot be written",
      exists ? "name another with --private, or move the old one away" : "name a file in a directory you may write to",
      { cause },
    );
  }
  const set = { keys: [...keys, publicHalf(jwk)] };
  await writePrivateFile(files.jwks, `${JSON.stringify(set, null, 2)}\n`, PUBLIC_MODE);
  return set.keys.length;
}

async function existingKeys(file: string): Promise<JWK[]> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw new TokenNotIssued("the JWK set cannot be read", "name another with --jwks", { cause: error });
  }
  try {
    const { keys } = JSON.parse(text) as { keys: JWK[] };
    if (keys.some((jwk) => publicJwkProblem({ ...jwk }, true) !== undefined)) throw new Error("not public keys");
    return keys;
  } catch (cause) {
    throw new TokenNotIssued("the JWK set's file holds something else", "name another with --jwks", { cause });
  }
}
