import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { FIRST_RUN_TENANT } from "../config/auth-mode.ts";
import type { Config, IssuerConfig } from "../config/config.ts";
import { ExitCode, ExpectedFailure } from "../protocol/failure.ts";
import { mintToken } from "./mint-token.ts";
import { CREDENTIALS, type Credential } from "./principal.ts";
import { generatePrivateJwk, keySetOf, readSigningKey, type SigningKey, writePrivateFile } from "./signing-key.ts";

/** The issuer of first-run tokens: this installation itself. */
export const FIRST_RUN_ISSUER = "urn:pgrcp:first-run";
export const FIRST_RUN_TOKENS = ["read", "add", "delete", "all"] as const;
export type FirstRunToken = (typeof FIRST_RUN_TOKENS)[number];

const MAX_LIFETIME_SECONDS = 86_400;

export interface FirstRun {
  /** For the verifier's `dev` option. */
  readonly issuer: IssuerConfig;
  readonly tokenFiles: Readonly<Record<FirstRunToken, string>>;
  /** Seconds since the epoch. */
  readonly expiresAt: number;
}

/**
 * The four tokens that a newcomer starts with, new at every call: for each credential one, and `all` for tools that can send
 * only one. The key pair is made once and kept. Nobody but the owner of the directory can read any of it.
 *
 * @param directory where the server keeps its data; `dev/` is made in it
 * @throws Error when the key that was kept cannot be used
 */
export async function mintFirstRunTokens(
  directory: string,
  auth: Config["auth"],
  now: () => number = Date.now,
): Promise<FirstRun> {
  const home = firstRunDirectory(directory);
  await mkdir(home, { recursive: true, mode: 0o700 });
  await chmod(home, 0o700);
  const key = await keptKey(firstRunKeyFile(directory));
  const lifetimeSeconds = Math.min(auth.maxLifetimeSeconds, MAX_LIFETIME_SECONDS);
  const minted = now();
  const write = async (name: FirstRunToken, credentials: readonly Credential[]) => {
    const request = {
      issuer: FIRST_RUN_ISSUER,
      tenant: FIRST_RUN_TENANT,
      subject: `first-run-${name}`,
      client: "first-run",
      credentials,
      lifetimeSeconds,
      now: minted,
    };
    const file = join(home, `${name}.token`);
    await writePrivateFile(file, `${await mintToken(request, key, auth)}\n`);
    return file;
  };
  const tokenFiles = {
    read: await write("read", ["read"]),
    add: await write("add", ["add"]),
    delete: await write("delete", ["delete"]),
    all: await write("all", CREDENTIALS),
  };
  return { issuer: firstRunIssuer(key), tokenFiles, expiresAt: Math.floor(minted / 1000) + lifetimeSeconds };
}

/** The entry that a first run would have in `auth.issuers`. */
export function firstRunIssuer(key: SigningKey): IssuerConfig {
  return {
    issuer: FIRST_RUN_ISSUER,
    jwks: { keys: keySetOf(key).keys.map((jwk) => ({ ...jwk })) },
    algorithms: ["ES256"],
  };
}

export const firstRunKeyFile = (directory: string) => join(firstRunDirectory(directory), "key.json");

const firstRunDirectory = (directory: string) => join(directory, "dev");

async function keptKey(file: string): Promise<SigningKey> {
  try {
    const key = await readSigningKey(file);
    await chmod(file, 0o600);
    return key;
  } catch (cause) {
    if (!(cause instanceof Error && "code" in cause && cause.code === "ENOENT"))
      throw new FirstRunKeyUnusable(file, { cause });
  }
  await writePrivateFile(file, JSON.stringify(await generatePrivateJwk("ES256")));
  return readSigningKey(file);
}

/** The key that earlier tokens were signed with is there but cannot be used. */
export class FirstRunKeyUnusable extends ExpectedFailure {
  override readonly name = "FirstRunKeyUnusable";
  readonly exitCode = ExitCode.usage;
  readonly remedy: string;

  constructor(file: string, options?: ErrorOptions) {
    super("the first-run key cannot be read", options);
    this.remedy = `delete ${file}; the next start makes a new one`;
  }
}
