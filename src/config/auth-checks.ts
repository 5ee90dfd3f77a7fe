import { authMode, FIRST_RUN_TENANT } from "./auth-mode.ts";
import { parseClaimPath } from "./claim-path.ts";
import type { Config, IssuerConfig } from "./config.ts";
import { isLoopback } from "./loopback.ts";
import { publicJwkProblem } from "./public-jwk.ts";
import { type Rule, when } from "./rules.ts";
import { compileTenantPattern } from "./tenant-pattern.ts";

const CREDENTIALS = ["read", "add", "delete"] as const;
const AUDIENCE_PAIRS = [
  ["read", "add"],
  ["read", "delete"],
  ["add", "delete"],
] as const;
const KEY_SOURCES = ["jwksUri", "jwksFile", "jwks", "secret"] as const;
const MIN_SECRET_BYTES = 32;

/** DESIGN section 3, as far as the configuration decides it. */
export const AUTH_RULES: readonly Rule[] = [
  {
    reads: ["server.host", "auth.mode", "auth.issuers"],
    find: ({ server, auth }) => {
      if (isLoopback(server.host)) return [];
      const mode = authMode(auth);
      return [
        ...when(mode === "none", "auth.mode", "none is for a loopback server.host only; configure auth.issuers"),
        ...when(
          mode === "first-run",
          "auth.issuers",
          "is empty, and generated first-run tokens are for a loopback server.host only; name an issuer " +
            "(`pgrcp token keygen` makes keys for a deployment without an identity provider)",
        ),
      ];
    },
  },
  {
    reads: ["auth.mode", "auth.issuers"],
    find: ({ auth }) =>
      when(
        auth.mode === "jwt" && auth.issuers.length === 0,
        "auth.issuers",
        "auth.mode: jwt needs at least one issuer",
      ),
  },
  {
    reads: ["auth.issuers", "auth.kidRequired"],
    find: ({ auth }) =>
      auth.issuers.flatMap((issuer, index) =>
        issuerProblems(issuer, auth).map(([key, text]) => ({
          path: ["auth", "issuers", index, ...(key === undefined ? [] : [key])],
          text,
        })),
      ),
  },
  {
    reads: ["auth.issuers"],
    find: ({ auth }) =>
      auth.issuers.flatMap(({ issuer }, index) => {
        const first = auth.issuers.findIndex((other) => other.issuer === issuer);
        if (first === index) return [];
        return [
          { path: ["auth", "issuers", index, "issuer"], text: `is that of auth.issuers[${first}]; keep one entry` },
        ];
      }),
  },
  ...CREDENTIALS.map(
    (name): Rule => ({
      reads: ["auth.issuers", `auth.${name}.issuer`],
      find: ({ auth }) => {
        const { issuer } = auth[name];
        const known = issuer === undefined || auth.issuers.some((entry) => entry.issuer === issuer);
        return when(!known, `auth.${name}.issuer`, "must be the issuer of one of auth.issuers, letter for letter");
      },
    }),
  ),
  ...AUDIENCE_PAIRS.map(
    ([first, second]): Rule => ({
      reads: [`auth.${first}.audience`, `auth.${second}.audience`],
      find: ({ auth }) =>
        when(
          auth[first].audience === auth[second].audience,
          `auth.${second}.audience`,
          `is that of auth.${first}.audience; each credential needs an audience of its own`,
        ),
    }),
  ),
  {
    reads: ["auth.read.unredactedScope", ...CREDENTIALS.map((name) => `auth.${name}.scope`)],
    find: ({ auth }) =>
      when(
        CREDENTIALS.some((name) => auth[name].scope === auth.read.unredactedScope),
        "auth.read.unredactedScope",
        "is the scope of a credential; choose one of its own, for those alone who may see what redaction leaves out",
      ),
  },
  {
    reads: ["auth.mode", "auth.issuers", "auth.tenantPattern"],
    find: ({ auth }) => {
      const text = tenantPatternProblem(auth);
      return text === undefined ? [] : [{ path: ["auth", "tenantPattern"], text }];
    },
  },
  ...(["tenantClaim", "scopeClaim", "corporaClaim"] as const).map(
    (name): Rule => ({
      reads: [`auth.${name}`],
      find: ({ auth }) =>
        when(
          parseClaimPath(auth[name] ?? "unset").some((part) => part === ""),
          `auth.${name}`,
          "must be claim names joined by single dots, such as app_metadata.tenant",
        ),
    }),
  ),
  {
    reads: ["auth.jwksMaxAgeMs", "auth.jwksMaxStaleMs"],
    find: ({ auth }) =>
      when(
        auth.jwksMaxStaleMs < auth.jwksMaxAgeMs,
        "auth.jwksMaxStaleMs",
        `must be at least auth.jwksMaxAgeMs (${auth.jwksMaxAgeMs})`,
      ),
  },
];

type IssuerProblem = readonly [key: string | undefined, text: string];

function issuerProblems(issuer: IssuerConfig, auth: Config["auth"]): IssuerProblem[] {
  const problems: IssuerProblem[] = [];
  const sources = KEY_SOURCES.filter((key) => issuer[key] !== undefined);
  if (sources.length !== 1) {
    const has = sources.length === 0 ? "none" : sources.join(" and ");
    problems.push([undefined, `needs exactly one of ${KEY_SOURCES.join(", ")}; it has ${has}`]);
  }
  if (issuer.secret !== undefined) {
    if (Buffer.byteLength(issuer.secret) < MIN_SECRET_BYTES)
      problems.push(["secret", `must have at least ${MIN_SECRET_BYTES} bytes; \`openssl rand -base64 48\` makes one`]);
    if (issuer.algorithms.some((name) => name !== "HS256"))
      problems.push(["algorithms", "must be [HS256], the one algorithm for a secret"]);
  } else if (issuer.algorithms.includes("HS256"))
    problems.push(["algorithms", "HS256 needs a secret, and never stands beside algorithms for public keys"]);
  for (const key of issuer.jwks?.keys ?? []) {
    const text = publicJwkProblem(key, auth.kidRequired);
    if (text !== undefined) problems.push(["jwks", text]);
  }
  return problems;
}

function tenantPatternProblem(auth: Config["auth"]): string | undefined {
  const { tenantPattern } = auth;
  let pattern: RegExp;
  try {
    pattern = compileTenantPattern(tenantPattern);
  } catch {
    return "must be a regular expression (JavaScript, flag u)";
  }
  if (!tenantPattern.startsWith("^") || !/(?<!\\)(?:\\\\)*\$$/.test(tenantPattern))
    return "must begin with ^ and end with $, so that it speaks of the whole tenant id";
  if (pattern.test("")) return "must not match an empty tenant id; use + where it says *";
  if (authMode(auth) !== "jwt" && !pattern.test(FIRST_RUN_TENANT))
    return `must match ${FIRST_RUN_TENANT}, the tenant used while there are no issuers`;
  return undefined;
}
