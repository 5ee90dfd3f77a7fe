import { createHash, randomBytes } from "node:crypto";
import type { Principal } from "../auth/principal.ts";
import { type Advertised, advertise, type Capabilities, withoutCounts } from "../catalog/advertise.ts";
import type { StatementLimits } from "../db/database.ts";
import { rateLimited } from "../protocol/errors.ts";
import { LOG_LEVELS, type LogLevel } from "../protocol/wire.ts";

/** Where sessions live. A session is found by its owner and its hash together, so nobody finds another's. */
export interface SessionStore {
  /** @returns `full` with the wait until the owner's next session expires, when the owner has as many as allowed */
  create(
    owner: Principal,
    hash: Uint8Array,
    agreed: { readonly capabilities: string; readonly logLevel: string | undefined },
    limits: StatementLimits,
  ): Promise<{ readonly kind: "created" } | { readonly kind: "full"; readonly retryAfterMs: number }>;
  /** Starts the idle time anew. @returns what was stored at `create`, or undefined when no live session is found */
  touch(
    owner: Principal,
    hash: Uint8Array,
    limits: StatementLimits,
  ): Promise<{ readonly capabilities: string; readonly logLevel: string | undefined } | undefined>;
  /** Nothing happens when no such session is found. */
  end(owner: Principal, hash: Uint8Array, limits: StatementLimits): Promise<void>;
}

export interface Session {
  /** Names the session inside the server: the hash of its token, base64url. */
  readonly name: string;
  /** The set given at `initialize`, fixed for the session's life (RCP §13.2). */
  readonly capabilities: Capabilities;
  /** From which level on its client wants log lines; undefined = it did not ask for any (RCP §17.1). */
  readonly logLevel: LogLevel | undefined;
}

/** RCP §13 over a store, as DESIGN ruling 3 has it. `tokens` are the values of every RCP-Session header, as received. */
export interface Sessions {
  /** @returns the new session's token @throws RpcError -32011 when the owner has as many sessions as allowed */
  open(
    owner: Principal,
    agreed: { readonly capabilities: Capabilities; readonly logLevel: LogLevel | undefined },
    limits: StatementLimits,
  ): Promise<string>;
  /** The live session of exactly one well-formed token, or undefined. */
  find(owner: Principal, tokens: readonly string[], limits: StatementLimits): Promise<Session | undefined>;
  end(owner: Principal, tokens: readonly string[], limits: StatementLimits): Promise<void>;
}

const TOKEN_BYTES = 32;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** @param advertised what the running configuration offers: a session that was given anything else is over */
export function createSessions(store: SessionStore, advertised: Advertised): Sessions {
  // What a session was given is compared as text, so a set that is no longer on offer cannot match either.
  const onOffer = new Set([true, false].map((mayAdd) => encode(withoutCounts(advertise(advertised, mayAdd)))));
  return {
    async open(owner, { capabilities, logLevel }, limits) {
      const token = randomBytes(TOKEN_BYTES).toString("base64url");
      const outcome = await store.create(
        owner,
        hashOf(token),
        { capabilities: encode(capabilities), logLevel },
        limits,
      );
      if (outcome.kind === "created") return token;
      const { retryAfterMs } = outcome;
      throw rateLimited({
        retryAfterMs,
        detail: "no more sessions for this caller (sessions.maxPerPrincipal): end one",
      });
    },

    async find(owner, tokens, limits) {
      const token = onlyToken(tokens);
      if (token === undefined) return undefined;
      const hash = hashOf(token);
      const given = await store.touch(owner, hash, limits);
      if (given === undefined) return undefined;
      const capabilities = decode(given.capabilities);
      if (!onOffer.has(encode(withoutCounts(capabilities)))) {
        await store.end(owner, hash, limits);
        return undefined;
      }
      const logLevel = LOG_LEVELS.find((level) => level === given.logLevel);
      return { name: hash.toString("base64url"), capabilities, logLevel };
    },

    async end(owner, tokens, limits) {
      const token = onlyToken(tokens);
      if (token !== undefined) await store.end(owner, hashOf(token), limits);
    },
  };
}

/** Undefined for two headers, even equal ones: never pick one of them. */
const onlyToken = (tokens: readonly string[]): string | undefined =>
  tokens.length === 1 && tokens[0] !== undefined && TOKEN.test(tokens[0]) ? tokens[0] : undefined;

/** The store never holds a token: whoever reads it cannot use what it finds. */
const hashOf = (token: string): Buffer => createHash("sha256").update(token, "utf8").digest();

/** The name that `find` gives the session of these tokens, live or not. */
export function sessionName(tokens: readonly string[] | undefined): string | undefined {
  const token = onlyToken(tokens ?? []);
  return token === undefined ? undefined : hashOf(token).toString("base64url");
}

const encode = (capabilities: Capabilities): string => JSON.stringify(capabilities);
/** What `encode` made: the store holds nothing else. */
const decode = (text: string): Capabilities => JSON.parse(text);
