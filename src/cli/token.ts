import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { type Command, InvalidArgumentError, Option } from "commander";
import { FirstRunKeyUnusable, firstRunIssuer, firstRunKeyFile } from "../auth/first-run-keys.ts";
import { type Inspection, inspectToken } from "../auth/inspect-token.ts";
import { issueToken } from "../auth/issue-token.ts";
import { makeKeyPair } from "../auth/keygen.ts";
import { CREDENTIALS, type Credential } from "../auth/principal.ts";
import { KEY_ALGORITHMS, type KeyAlgorithm, readSigningKey } from "../auth/signing-key.ts";
import { TokenRefused } from "../auth/verify-token.ts";
import { authMode } from "../config/auth-mode.ts";
import type { Config } from "../config/config.ts";
import { addConfigOption, type ConfigOption, configOf } from "./config-option.ts";
import { CommandFailure, ExitCode } from "./exit.ts";

/** `pgrcp token keygen|mint|inspect`: tokens for deployments without an identity provider, and a look into anyone's. */
export function registerToken(program: Command): void {
  const token = program.command("token").description("make keys, mint tokens and look into them");

  token
    .command("keygen")
    .description("write a private key and add its public half to a JWK set for auth.issuers[].jwksFile")
    .option("--private <file>", "where the private key goes (mode 0600; must not exist)", "pgrcp-key.json")
    .option("--jwks <file>", "where the public key goes; keys already there stay", "pgrcp-jwks.json")
    .addOption(new Option("--alg <algorithm>", "what tokens are signed with").choices(KEY_ALGORITHMS).default("ES256"))
    .action(keygen);

  addConfigOption(token.command("mint"))
    .description("print a token that the configured server accepts, and nothing else")
    .requiredOption("--tenant <id>", "whose documents")
    .addOption(
      new Option("--credential <name>", "what for: read, add or delete; once for each")
        .argParser(collectCredential)
        .makeOptionMandatory(),
    )
    .option("--corpus <name>", "keep it to this corpus; once for each; needs auth.corporaClaim", collect)
    .option("--unredacted", "sees what redaction leaves out; needs auth.read.unredactedScope")
    .requiredOption("--subject <name>", "who will use it; recorded with what is written")
    .option("--ttl <duration>", "seconds, or 15m, 12h, 1d; at most auth.maxLifetimeSeconds", parseDuration, 3_600)
    .option("--key <file>", "private key from `pgrcp token keygen`; not needed on a first run or for a shared secret")
    .option("--issuer <issuer>", "which of auth.issuers, when there are several")
    .action(mint);

  addConfigOption(token.command("inspect"))
    .description("say what is in a token and which checks it would pass; never prints the token")
    .argument("[file]", "file with the token; standard input when absent or -")
    .addHelpText("after", "\nExit codes: 0 the server would accept it, 3 it would refuse it.")
    .action(inspect);
}

async function keygen(options: { private: string; jwks: string; alg: KeyAlgorithm }): Promise<void> {
  const count = await makeKeyPair({ privateKey: options.private, jwks: options.jwks }, options.alg);
  process.stdout.write(
    `private key: ${options.private} (mode 0600; keep it where tokens are minted, away from the server)\n` +
      `public keys: ${options.jwks} (${count} now; give it to the server)\n\n` +
      "auth:\n  issuers:\n" +
      "    - issuer: https://tokens.example.org/   # any name; tokens carry it\n" +
      `      jwksFile: ${options.jwks}\n      algorithms: [${options.alg}]\n`,
  );
}

interface MintOptions extends ConfigOption {
  readonly tenant: string;
  readonly credential: readonly Credential[];
  readonly corpus?: readonly string[];
  readonly unredacted?: boolean;
  readonly subject: string;
  readonly ttl: number;
  readonly key?: string;
  readonly issuer?: string;
}

async function mint(options: MintOptions): Promise<void> {
  const config = await configOf(options);
  const request = {
    tenant: options.tenant,
    subject: options.subject,
    client: "pgrcp-token",
    credentials: CREDENTIALS.filter((name) => options.credential.includes(name)),
    corpora: options.corpus,
    unredacted: options.unredacted,
    lifetimeSeconds: options.ttl,
    keyFile: options.key,
    issuer: options.issuer,
  };
  process.stdout.write(`${await issueToken(request, config)}\n`);
}

async function inspect(file: string | undefined, options: ConfigOption): Promise<void> {
  const config = await configOf(options);
  const inspection = await inspected((await tokenText(file)).trim(), config);
  process.stdout.write(report(inspection));
  if (inspection.outcomes.some(({ passed }) => !passed)) process.exitCode = ExitCode.connection;
}

async function tokenText(file: string | undefined): Promise<string> {
  if (file === undefined || file === "-") return text(process.stdin);
  if (/^eyJ[\w-]*\./.test(file))
    throw new CommandFailure(
      ExitCode.usage,
      "the argument is a token itself",
      "put it into a file or pipe it in: every user of a machine can read command lines",
    );
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    throw new CommandFailure(ExitCode.usage, "the token's file cannot be read", "name one that exists", { cause });
  }
}

async function inspected(token: string, config: Config): Promise<Inspection> {
  const mode = authMode(config.auth);
  if (mode === "none")
    throw new CommandFailure(
      ExitCode.usage,
      "auth.mode is none, so tokens are not looked at",
      "configure auth.issuers",
    );
  try {
    const dev = mode === "first-run" ? firstRunIssuer(await firstRunKey(config)) : undefined;
    return await inspectToken(token, config.auth, { dev });
  } catch (error) {
    if (!(error instanceof TokenRefused)) throw error;
    const wanted = error.check === "size" ? `at most ${config.auth.maxTokenBytes} bytes` : "three parts of base64url";
    throw new CommandFailure(ExitCode.connection, `not a token that can be read (${error.check})`, `give ${wanted}`);
  }
}

async function firstRunKey(config: Config) {
  const file = firstRunKeyFile(config.database.embeddedDir);
  try {
    return await readSigningKey(file);
  } catch (cause) {
    throw new FirstRunKeyUnusable(file, { cause });
  }
}

function report({ header, claims, outcomes, credentials }: Inspection): string {
  const members = Object.entries({ ...header, ...claims }).map(
    ([name, value]) => `${printable(name)}: ${shown(value)}`,
  );
  const checks = outcomes.map(({ name, passed, wants }) =>
    passed ? `  pass  ${name}` : `  FAIL  ${name}: wants ${printable(wants)}`,
  );
  const good =
    credentials.size === 0 ? "nothing: see audiences, scopes and auth.combinedTokens" : [...credentials].join(", ");
  return [...members, "checks, in the server's order:", ...checks, `good for: ${good}`, ""].join("\n");
}

/** A time is shown as a date beside its number. */
function shown(value: unknown): string {
  const text = printable(JSON.stringify(value));
  const date = typeof value === "number" && value > 1e8 && value < 1e11 ? new Date(value * 1000) : undefined;
  return date === undefined ? text : `${text} (${date.toISOString()})`;
}

/** A token's text may try to steer a terminal or to look like other text. */
const printable = (text: string) =>
  text.replaceAll(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

function collectCredential(value: string, before: readonly Credential[] = []): readonly Credential[] {
  const found = CREDENTIALS.find((name) => name === value);
  if (found === undefined) throw new InvalidArgumentError(`It must be one of ${CREDENTIALS.join(", ")}.`);
  return [...before, found];
}

const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

function parseDuration(value: string): number {
  const [, digits, unit = "s"] = /^(\d{1,9})([smhd])?$/.exec(value) ?? [];
  const seconds = Number(digits) * SECONDS[unit as keyof typeof SECONDS];
  if (!Number.isSafeInteger(seconds) || seconds < 1)
    throw new InvalidArgumentError("It must look like 900, 15m, 12h or 1d.");
  return seconds;
}
