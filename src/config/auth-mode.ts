import type { Config } from "./config.ts";

/** How callers are known: tokens of configured issuers, generated first-run tokens, or not at all. */
export type AuthMode = "jwt" | "first-run" | "none";

/** What `auth.mode` comes to, now that it is known whether there are issuers. */
export function authMode(auth: Config["auth"]): AuthMode {
  if (auth.mode !== "auto") return auth.mode;
  return auth.issuers.length > 0 ? "jwt" : "first-run";
}

/** The one tenant of a first run and of `auth.mode: none`. */
export const FIRST_RUN_TENANT = "demo";
