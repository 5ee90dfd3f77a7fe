import { authMode } from "../config/auth-mode.ts";
import type { Config, IssuerConfig } from "../config/config.ts";
import { compileTenantPattern } from "../config/tenant-pattern.ts";
import { ExitCode, ExpectedFailure } from "../protocol/failure.ts";
import { isName } from "./claims.ts";
import { firstRunIssuer, firstRunKeyFile } from "./first-run-keys.ts";
import { createTokenVerifier } from "./jwt-verifier.ts";
import { mintToken, type TokenRequest } from "./mint-token.ts";
import type { Credential } from "./principal.ts";
import { readSigningKey, type SigningKey } from "./signing-key.ts";
import { TokenRefused } from "./verify-token.ts";

/** What an operator asks for. */
export interface IssueRequest extends Omit<TokenRequest, "issuer" | "now"> {
  /** The private key; for a first run, and for an issuer with a secret, there is no need to name one. */
  readonly keyFile?: string | undefined;
  /** Needed when several issuers are configured. */
  readonly issuer?: string | undefined;
}

/** Why no token is made: what was wrong, and one thing to do about it. */
export class TokenNotIssued extends ExpectedFailure {
  override readonly name = "TokenNotIssued";
  readonly exitCode = ExitCode.usage;
  readonly remedy: string;

  constructor(message: string, remedy: string, options?: ErrorOptions) {
    super(message, options);
    this.remedy = remedy;
  }
}

/**
 * Makes a token that the configured server accepts, for deployments without an identity provider. Before it is handed out it
 * is verified as the server would, unless that needed a question over the network.
 *
 * @throws TokenNotIssued when the server would refuse it, or when there is nothing to sign it with
 */
export async function issueToken(request: IssueRequest, config: Config, now: () => number = Date.now): Promise<string> {
  const { auth } = config;
  const mode = authMode(auth);
  if (mode === "none")
    throw new TokenNotIssued("auth.mode is none, so no token is needed", "send requests without one");
  checkRequest(request, auth, mode === "first-run");
  const { issuer, key } = mode === "first-run" ? await firstRunSigner(request, config) : await signer(request, auth);
  const token = await mintToken({ ...request, issuer: issuer.issuer, now: now() }, key, auth);
  if (issuer.jwksUri === undefined) {
    const verifier = createTokenVerifier(auth, { now, dev: mode === "first-run" ? issuer : undefined });
    await assertAccepted(() => verifier.verify([`Bearer ${token}`]), request);
  }
  return token;
}

function checkRequest(request: IssueRequest, auth: Config["auth"], firstRun: boolean): void {
  if (!isName(request.tenant) || !compileTenantPattern(auth.tenantPattern).test(request.tenant))
    throw new TokenNotIssued(
      "the tenant id is not one that tokens may carry",
      `use one that matches ${auth.tenantPattern}`,
    );
  if (!isName(request.subject)) throw new TokenNotIssued("the subject cannot be kept", "use 1 to 255 bytes of text");
  if (request.lifetimeSeconds > auth.maxLifetimeSeconds)
    throw new TokenNotIssued(
      "the token would live longer than the server accepts",
      `ask for at most ${auth.maxLifetimeSeconds} s (auth.maxLifetimeSeconds)`,
    );
  if (request.credentials.length === 0)
    throw new TokenNotIssued("the token would be good for nothing", "name a credential");
  if (request.corpora !== undefined && auth.corporaClaim === undefined)
    throw new TokenNotIssued(
      "the server would not keep the token to these corpora",
      "set auth.corporaClaim, on the server too; or leave the corpora out",
    );
  if (request.unredacted === true && (auth.read.unredactedScope === undefined || !request.credentials.includes("read")))
    throw new TokenNotIssued(
      "the token would see no more than others",
      "set auth.read.unredactedScope, on the server too, and name the credential read",
    );
  if (request.credentials.length > 1 && !auth.combinedTokens && !firstRun)
    throw new TokenNotIssued(
      "a token with several credentials would be good for none of them",
      "mint one token for each, or set auth.combinedTokens: true",
    );
}

interface Signer {
  readonly issuer: IssuerConfig;
  readonly key: SigningKey;
}

async function firstRunSigner(request: IssueRequest, config: Config): Promise<Signer> {
  const file = request.keyFile ?? firstRunKeyFile(config.database.embeddedDir);
  const key = await keyFrom(file, "start the server once, which makes the key, or configure auth.issuers");
  return { issuer: firstRunIssuer(key), key };
}

async function signer(request: IssueRequest, auth: Config["auth"]): Promise<Signer> {
  const issuer = chosenIssuer(request.issuer, auth.issuers);
  if (issuer.secret !== undefined) {
    if (request.keyFile !== undefined)
      throw new TokenNotIssued("this issuer signs with its secret", "leave the key file out");
    const key = new TextEncoder().encode(issuer.secret);
    return { issuer, key: { algorithm: "HS256", keyId: undefined, key, publicJwk: undefined } };
  }
  if (request.keyFile === undefined)
    throw new TokenNotIssued(
      "there is no private key to sign with",
      issuer.jwksUri === undefined
        ? "name it with --key; `pgrcp token keygen` makes one"
        : "ask the identity provider for a token; its keys are its own",
    );
  const key = await keyFrom(request.keyFile, "name a private key that `pgrcp token keygen` made");
  if (!issuer.algorithms.some((name) => name === key.algorithm))
    throw new TokenNotIssued(
      `the issuer's algorithms do not hold that of the key`,
      `add ${key.algorithm} to auth.issuers[${auth.issuers.indexOf(issuer)}].algorithms, or use another key`,
    );
  return { issuer, key };
}

function chosenIssuer(name: string | undefined, issuers: readonly IssuerConfig[]): IssuerConfig {
  const [only, ...others] = issuers.filter((entry) => name === undefined || entry.issuer === name);
  if (only !== undefined && others.length === 0) return only;
  const known = issuers.map((entry) => entry.issuer).join(", ");
  throw new TokenNotIssued(
    name === undefined ? "several issuers are configured" : "no such issuer is configured",
    `name one with --issuer: ${known}`,
  );
}

async function keyFrom(file: string, remedy: string): Promise<SigningKey> {
  try {
    return await readSigningKey(file);
  } catch (cause) {
    throw new TokenNotIssued("the private key cannot be read", remedy, { cause });
  }
}

async function assertAccepted(verify: () => Promise<{ credentials: ReadonlySet<Credential> }>, request: IssueRequest) {
  try {
    const { credentials } = await verify();
    if (request.credentials.every((name) => credentials.has(name))) return;
  } catch (cause) {
    if (!(cause instanceof TokenRefused)) throw cause;
    throw new TokenNotIssued(
      `the server would refuse this token (${cause.check})`,
      cause.check === "kid" || cause.check === "signature"
        ? "put the public half of the key into the issuer's key set, as `pgrcp token keygen` does"
        : "compare the configuration with what the server runs on",
      { cause },
    );
  }
  throw new TokenNotIssued(
    "another issuer is configured for this credential",
    "name that one with --issuer, or take auth.<credential>.issuer out",
  );
}
