import { z } from "zod";

/**
 * The configuration's shape, defaults and units: one schema for the YAML file and for `PGRCP_…` variables. Unknown keys are
 * refused. Every key here stands in config.example.yaml with its default, its unit and a line of why.
 */

const positive = z.int().min(1);
/** Every …Ms key may end up in a timer, and a longer one would fire at once. */
const milliseconds = positive.max(2_147_483_647);
const path = z.string().min(1);
/** Printed as `<set>` and readable from the file that `PGRCP_…_FILE` names. */
const secret = z.string().min(1).meta({ secret: "value" });
const url = z.url({ protocol: /^https?$/ });
/** As a secret, but printed with its password masked. */
const postgresUrl = z.url({ protocol: /^postgres(ql)?$/ }).meta({ secret: "url" });

const login = (user: string) =>
  z.strictObject({ user: z.string().min(1).default(user), password: secret.optional() }).prefault({});

const server = z
  .strictObject({
    host: z.string().min(1).default("127.0.0.1"),
    port: z.int().min(0).max(65535).default(8787),
    publicUrl: url.optional(),
    behindTls: z.boolean().default(false),
    tls: z.strictObject({ certFile: path, keyFile: path }).optional(),
    trustedProxies: z
      .array(
        z.union([z.cidrv4(), z.cidrv6(), z.ipv4(), z.ipv6()], "must be an IP address or a range such as 10.0.0.0/8"),
      )
      .default([]),
    maxBodyBytes: positive.default(1_048_576),
    maxHeaderBytes: positive.default(16_384),
    maxConnections: positive.default(4096),
    requestTimeoutMs: milliseconds.default(30_000),
    writeTimeoutMs: milliseconds.default(300_000),
    receiveTimeoutMs: milliseconds.default(15_000),
    headersTimeoutMs: milliseconds.default(10_000),
    keepAliveTimeoutMs: milliseconds.default(60_000),
    shutdownGraceMs: milliseconds.default(10_000),
  })
  .prefault({});

const database = z
  .strictObject({
    /** postgres://host:port/name; absent = the embedded database. */
    url: postgresUrl.optional(),
    /** The login that `pgrcp migrate` uses; `serve` never reads it. */
    migrateUrl: postgresUrl.optional(),
    embeddedDir: path.default(".pgrcp"),
    reader: login("pgrcp_reader"),
    adder: login("pgrcp_adder"),
    deleter: login("pgrcp_deleter"),
    state: login("pgrcp_state"),
    operator: login("pgrcp_operator"),
    poolSize: positive.default(10),
    poolWaitMs: milliseconds.default(2_000),
    connectTimeoutMs: milliseconds.default(5_000),
    preparedStatements: z.boolean().default(false),
  })
  .prefault({});

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

const auth = z
  .strictObject({
    /** auto: issuers when there are some, else generated first-run tokens on loopback. none: loopback only. */
    mode: z.enum(["auto", "jwt", "none"]).default("auto"),
    issuers: z.array(issuer).default([]),
    read: z.strictObject(credentialKeys("pgrcp:read", "rcp:read")).prefault({}),
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

const window = (max: number) =>
  z.strictObject({ max: positive.default(max), windowMs: milliseconds.default(60_000) }).prefault({});

const rateLimit = z
  .strictObject({ enabled: z.boolean().default(true), address: window(6_000), principal: window(3_000) })
  .prefault({});

const sessions = z
  .strictObject({
    mode: z.enum(["optional", "required"]).default("optional"),
    idleTtlSeconds: positive.default(3_600),
    maxPerPrincipal: positive.default(100),
  })
  .prefault({});

/** Field names are SQL identifiers behind `f_`, so they are short and plain. */
export const FIELD_NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,59}$/;
const FIELD_NAME_RULE = "a field name is 1 to 60 letters, digits, _ . - and does not start with a digit, . or -";
const fieldType = z.enum([
  "keyword",
  "text",
  "int",
  "float",
  "bool",
  "date",
  "keyword[]",
  "text[]",
  "int[]",
  "float[]",
  "bool[]",
  "date[]",
]);

/** A table has at most 1,600 columns, and a wide row costs every exact scan. */
const MAX_FIELDS = 256;

const filter = z
  .strictObject({
    fields: z
      .record(z.string().regex(FIELD_NAME, FIELD_NAME_RULE), fieldType)
      .refine(
        (fields) => Object.keys(fields).length <= MAX_FIELDS,
        `at most ${MAX_FIELDS} fields, because each is a column`,
      )
      .default({}),
    maxDepth: positive.max(64).default(32),
    maxNodes: positive.default(512),
    maxListLength: positive.default(1_000),
    maxValueBytes: positive.default(4_096),
  })
  .prefault({});

const limits = z
  .strictObject({
    maxBatch: positive.default(100),
    maxJsonDepth: positive.max(1_000).default(64),
    maxQueryBytes: positive.default(32_768),
    maxDocumentsPerAdd: positive.default(100),
    maxTextBytes: positive.default(1_000_000),
    maxDocIdBytes: positive.max(512).default(512),
    maxMetaBytes: positive.default(65_536),
    maxMetaKeyBytes: positive.default(256),
    maxMetaValueBytes: positive.default(8_192),
    maxMetaDepth: positive.max(64).default(16),
    maxIdsPerDelete: positive.default(1_000),
    maxSessionIdBytes: positive.default(256),
    maxIdempotencyKeyBytes: positive.default(256),
  })
  .prefault({});

const retrieval = z
  .strictObject({
    defaultMode: z.enum(["dense", "sparse", "hybrid"]).default("hybrid"),
    maxK: positive.default(100),
    defaultCandidateK: positive.default(100),
    maxCandidateK: positive.default(1_000),
    fusion: z
      .strictObject({
        method: z.enum(["rrf", "weighted", "convex"]).default("convex"),
        /** The dense share of convex fusion, 0 to 1; chosen by measurement, see the README. */
        alpha: z.number().min(0).max(1).default(0.75),
        rrfK: z.number().min(0).default(60),
      })
      .prefault({}),
  })
  .prefault({});

const indexing = z
  .strictObject({
    /** Model tokens per chunk; clamped to the model's own limit. */
    chunkTokens: positive.min(16).default(256),
    overlapTokens: z.int().min(0).default(32),
    embedBatch: positive.default(32),
    defaultLanguage: z.string().min(1).default("english"),
    defaultScreening: z.enum(["flag", "quarantine", "refuse"]).default("flag"),
  })
  .prefault({});

const models = z
  .strictObject({
    embedding: z
      .discriminatedUnion("provider", [
        z.strictObject({
          provider: z.literal("builtin"),
          /** Inference threads; 0 = one per core. */
          threads: z.int().min(0).default(0),
        }),
        z.strictObject({
          provider: z.literal("openai"),
          /** Base URL that `/embeddings` is appended to. */
          url,
          model: z.string().min(1),
          apiKey: secret.optional(),
          dimension: positive,
          maxTokens: positive.default(8_192),
          batch: positive.default(64),
          concurrency: positive.default(4),
          timeoutMs: milliseconds.default(30_000),
          retries: z.int().min(0).max(10).default(2),
          queryPrefix: z.string().default(""),
          documentPrefix: z.string().default(""),
        }),
      ])
      .prefault({ provider: "builtin" }),
  })
  .prefault({});

const capabilities = z
  .strictObject({
    retrieve: z.boolean().default(true),
    index: z.boolean().default(true),
    chunking: z.boolean().default(true),
    filter: z.boolean().default(true),
    modes: z
      .array(z.enum(["dense", "sparse", "hybrid"]))
      .min(1)
      .default(["dense", "sparse", "hybrid"]),
    fusion: z
      .array(z.enum(["rrf", "weighted", "convex"]))
      .min(1)
      .default(["rrf", "weighted", "convex"]),
  })
  .prefault({});

const log = z
  .strictObject({ level: z.enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"]).default("info") })
  .prefault({});

const tenants = z.strictObject({ autoCreate: z.boolean().default(true) }).prefault({});

export const configSchema = z.strictObject({
  server,
  database,
  auth,
  tenants,
  sessions,
  rateLimit,
  filter,
  limits,
  retrieval,
  indexing,
  models,
  capabilities,
  log,
});

export type Config = z.infer<typeof configSchema>;
export type IssuerConfig = Config["auth"]["issuers"][number];
