import { z } from "zod";
import { milliseconds, path, positive, secret, url } from "./value-types.ts";

const algorithm = z.enum([
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "HS256",
]);

const issuer = z.strictObject({
  issuer: z.string().min(1),
  jwksUri: url.optional(),
  jwksFile: path.optional(),
  jwks: z.strictObject({ keys: z.array(z.record(z.string(), z.unknown())).min(1) }).optional(),
  /** For HS256 only; at least 32 bytes. */
  secret: secret.optional(),
  algorithms: z.array(algorithm).min(1).default(["RS256", "ES256"]),
});

/** RFC 6749 §3.3: a scope holds no space, since scopes are joined by one. */
const scope = z
  .string()
  .trim()
  .min(1)
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]*$/, "must be one scope of printable ASCII without spaces, quotes or backslashes");

const credentialKeys = (audience: string, scopeName: string) => ({
  audience: z.string().trim().min(1).default(audience),
  scope: scope.default(scopeName),
  /** Restricts this credential to one of the configured issuers. */
  issuer: z.string().min(1).optional(),
});

/** Who may call, and how that is known (DESIGN section 3). */
export const auth = z
  .strictObject({
    /** auto: issuers when there are some, else generated first-run tokens on loopback. none: loopback only. */
    mode: z.enum(["auto", "jwt", "none"]).default("auto"),
    issuers: z.array(issuer).default([]),
    read: z
      .strictObject({
        ...credentialKeys("pgrcp:read", "rcp:read"),
        /** A scope beside the credential's own, whose holder sees what `redaction` leaves out for others. Absent: nobody does. */
        unredactedScope: scope.optional(),
      })
      .prefault({}),
    add: z
      .strictObject({
        ...credentialKeys("pgrcp:add", "rcp:index.add"),
        source: z.string().min(1).default("api"),
        trust: z.enum(["trusted", "community", "untrusted"]).default("untrusted"),
      })
      .prefault({}),
    delete: z.strictObject(credentialKeys("pgrcp:delete", "rcp:index.delete")).prefault({}),
    combinedTokens: z.boolean().default(false),
    typ: z.string().min(1).nullable().default("at+jwt"),
    tenantClaim: z.string().min(1).default("tenant"),
    tenantPattern: z.string().min(1).default("^[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?$"),
    scopeClaim: z.string().min(1).default("scope"),
    /** string: scopes joined by single spaces (RFC 8693); array: one scope per element. */
    scopeForm: z.enum(["string", "array"]).default("string"),
    /** Undefined: a token is good for all corpora of its tenant. */
    corporaClaim: z.string().min(1).optional(),
    kidRequired: z.boolean().default(true),
    clockToleranceSeconds: z.int().min(0).max(60).default(30),
    maxLifetimeSeconds: positive.default(86_400),
    maxTokenBytes: positive.default(8_192),
    jwksCooldownMs: milliseconds.default(30_000),
    jwksTimeoutMs: milliseconds.default(5_000),
    jwksMaxAgeMs: milliseconds.default(600_000),
    jwksMaxStaleMs: milliseconds.default(14_400_000),
    jwksMaxBytes: positive.default(262_144),
  })
  .prefault({});
