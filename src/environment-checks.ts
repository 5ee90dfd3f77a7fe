import { fetchKeySet } from "./auth/fetch-key-set.ts";
import { trustedIssuers } from "./auth/issuers.ts";
import { isLanguage, LANGUAGES } from "./catalog/languages.ts";
import { authMode } from "./config/auth-mode.ts";
import type { Config } from "./config/config.ts";
import { ConfigError } from "./config/config-error.ts";
import { nearestName } from "./config/nearest-name.ts";
import { type Finding, warning } from "./db/finding.ts";
import { readTls } from "./http/node-server.ts";
import { loadEmbeddingModel } from "./models/load-embedding-model.ts";

/** What a start needs besides its database and its port. Each look throws an ExpectedFailure, or gives warnings. */
export const ENVIRONMENT_CHECKS: readonly {
  readonly name: string;
  readonly look: (config: Config) => Promise<readonly Finding[]>;
}[] = [
  {
    name: "embedding model",
    // Loading it shows that the files are the pinned ones and that this machine can run them.
    look: async ({ models }) => {
      const model = await loadEmbeddingModel(models.embedding);
      await model.close();
      return [];
    },
  },
  {
    name: "language",
    look: async ({ indexing }) => {
      checkLanguage(indexing);
      return [];
    },
  },
  {
    name: "TLS files",
    look: async ({ server }) => {
      if (server.tls !== undefined) readTls(server.tls);
      return [];
    },
  },
  { name: "token issuers", look: ({ auth }) => checkIssuers(auth) },
];

/**
 * The languages are the catalog's, which the configuration does not know.
 *
 * @throws ConfigError
 */
export function checkLanguage({ defaultLanguage }: Config["indexing"]): void {
  if (isLanguage(defaultLanguage)) return;
  const near = nearestName(defaultLanguage, LANGUAGES);
  const guess = near === undefined ? "" : `; did you mean ${near}?`;
  throw new ConfigError([`indexing.defaultLanguage: must be one of ${LANGUAGES.join(", ")}${guess}`]);
}

/** A key file that cannot be used stops a start; an address that gives no keys is asked again when a token needs it. */
async function checkIssuers(auth: Config["auth"]): Promise<readonly Finding[]> {
  if (authMode(auth) !== "jwt") return [];
  trustedIssuers(auth.issuers, auth, { fetch, now: Date.now });
  const limits = { timeoutMs: auth.jwksTimeoutMs, maxBytes: auth.jwksMaxBytes };
  const findings = auth.issuers.map(async ({ jwksUri }, index): Promise<readonly Finding[]> => {
    if (jwksUri === undefined) return [];
    try {
      await fetchKeySet(jwksUri, limits, fetch);
      return [];
    } catch (error) {
      const line = `auth.issuers[${index}].jwksUri gives no keys: ${reasonOf(error)}`;
      return [warning(line, "correct it, or let this machine reach it; until then this issuer's tokens get 503")];
    }
  });
  return (await Promise.all(findings)).flat();
}

/** What lies deepest is what happened: fetch itself only says that it failed. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "it failed";
  if (error.cause !== undefined) return reasonOf(error.cause);
  return "code" in error && typeof error.code === "string" ? error.code : error.message;
}
