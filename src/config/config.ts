import { z } from "zod";
import { auth } from "./auth-section.ts";
import { capabilities } from "./capabilities-section.ts";
import { fetch } from "./fetch-section.ts";
import { filter } from "./filter-section.ts";
import { load } from "./load-section.ts";
import { models } from "./models-section.ts";
import {
  days,
  hours,
  milliseconds,
  path,
  positive,
  postgresUrl,
  redisUrl,
  seconds,
  secret,
  url,
} from "./value-types.ts";

/**
 * The configuration's shape, defaults and units: one schema for the YAML file and for `PGRCP_…` variables. Unknown keys are
 * refused. Every key here stands in config.example.yaml with its default, its unit and a line of why.
 */

const login = (user: string) =>
  z.strictObject({ user: z.string().min(1).default(user), password: secret.optional() }).prefault({});

const server = z
  .strictObject({
    host: z.string().min(1).default("127.0.0.1"),
    port: z.int().min(0).max(65535).default(8787),
    publicUrl: url.optional(),
    behindTls: z.boolean().default(false),
    tls: z
      .strictObject({
        certFile: path,
        keyFile: path,
        /** Absent = clients are not asked for a certificate. */
        clientCaFile: path.optional(),
        clientCertificate: z.enum(["required", "optional"]).default("required"),
      })
      .optional(),
    trustedProxies: z
      .array(
        z.union([z.cidrv4(), z.cidrv6(), z.ipv4(), z.ipv6()], "must be an IP address or a range such as 10.0.0.0/8"),
      )
      .default([]),
    maxBodyBytes: positive.default(1_048_576),
    maxAddBodyBytes: positive.default(4_194_304),
    maxHeaderBytes: positive.default(16_384),
    maxConnections: positive.default(4096),
    maxConnectionsPerAddress: positive.default(2048),
    requestTimeoutMs: milliseconds.default(30_000),
    writeTimeoutMs: milliseconds.default(300_000),
    receiveTimeoutMs: milliseconds.default(15_000),
    headersTimeoutMs: milliseconds.default(10_000),
    keepAliveTimeoutMs: milliseconds.default(60_000),
    maxBufferedBytes: positive.default(262_144),
    stallMs: milliseconds.default(10_000),
    drainMs: z.int().min(0).max(600_000).default(5_000),
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
    /** Of poolSize, rounded up. */
    poolTenantShare: z.number().gt(0).max(1).default(0.8),
    poolWaitMs: milliseconds.default(2_000),
    connectTimeoutMs: milliseconds.default(5_000),
    preparedStatements: z.union([z.boolean(), z.literal("auto")]).default("auto"),
    /** Hot standbys of url. */
    replicas: z.array(postgresUrl).max(32).default([]),
    maxReplicaLagMs: milliseconds.max(600_000).default(5_000),
    /** SECURITY DEFINER routines that the operator vouches for, as `pgrcp doctor` names them. */
    trustedRoutines: z.array(z.string().min(1)).default([]),
  })
  .prefault({});

const window = (max: number) =>
  z.strictObject({ max: positive.default(max), windowMs: milliseconds.default(60_000) }).prefault({});

const rateLimit = z
  .strictObject({
    enabled: z.boolean().default(true),
    address: window(6_000),
    principal: window(3_000),
    /** Absent = each process counts alone. */
    redis: z
      .strictObject({
        url: redisUrl,
        timeoutMs: milliseconds.default(250),
        keyPrefix: z.string().min(1).default("pgrcp:rate:"),
      })
      .optional(),
  })
  .prefault({});

const sessions = z
  .strictObject({
    mode: z.enum(["optional", "required"]).default("optional"),
    idleTtlSeconds: seconds.default(3_600),
    maxPerPrincipal: positive.default(100),
  })
  .prefault({});

/** An origin as a browser sends it: scheme, host and port, nothing after. */
const origin = z.string().refine((text) => URL.canParse(text) && new URL(text).origin === text, {
  error:
    "must be an origin such as https://app.example.org, without a path, in lower case, without the scheme's own port",
});

const cors = z
  .strictObject({ origins: z.array(origin).default([]), maxAgeSeconds: z.int().min(0).default(600) })
  .prefault({});

/** Ways in besides RCP itself. */
const doors = z.strictObject({ rest: z.boolean().default(true), mcp: z.boolean().default(true) }).prefault({});

const streaming = z.strictObject({ heartbeatMs: milliseconds.default(15_000) }).prefault({});

const feedback = z
  .strictObject({
    retentionDays: days.default(30),
    maxSignalsPerTenant: positive.default(100_000),
    maxSignalsPerPrincipal: positive.default(10_000),
    quarantineAfter: positive.optional(),
    storeQueries: z.boolean().default(false),
  })
  .prefault({});

const idempotency = z
  .strictObject({
    ttlSeconds: seconds.default(86_400),
    maxResultBytes: positive.default(131_072),
    maxKeysPerPrincipal: positive.default(100_000),
  })
  .prefault({});

const limits = z
  .strictObject({
    maxBatch: positive.default(100),
    maxBatchAnswerBytes: positive.default(33_554_432),
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
    maxInputsPerEmbed: positive.default(100),
    maxTransformQueries: positive.default(8),
    maxContextualChunks: positive.default(200),
    maxSignalsPerFeedback: positive.default(100),
    maxEnginesPerCatalog: positive.default(100),
    maxSessionIdBytes: positive.default(256),
    maxHitCharacters: positive.default(2_000_000),
    maxIdempotencyKeyBytes: positive.default(256),
  })
  .prefault({});

const retrieval = z
  .strictObject({
    defaultMode: z.enum(["dense", "sparse", "hybrid"]).default("hybrid"),
    maxK: positive.default(100),
    defaultCandidateK: positive.default(100),
    maxCandidateK: positive.default(1_000),
    /** 0 = any number. */
    maxNearDuplicates: z.int().min(0).max(65_535).default(2),
    fusion: z
      .strictObject({
        method: z.enum(["rrf", "weighted", "convex"]).default("convex"),
        /** The dense share of convex fusion, 0 to 1; chosen by measurement, see bench/README.md. */
        alpha: z.number().min(0).max(1).default(0.75),
        rrfK: z.number().min(0).default(60),
      })
      .prefault({}),
    /** Live chunks of a corpus. */
    ownPartitionFrom: positive.default(8_000),
    /** Of all tenants together; 0 keeps none. */
    queryCacheBytes: z.int().min(0).default(33_554_432),
    graph: z
      .strictObject({
        /** Chunks that pass a filter. */
        exactUpTo: positive.default(8_000),
        /** The same as a share of the corpus. */
        exactShare: z.number().min(0).max(1).default(0.12),
        efSearch: positive.max(1_000).default(100),
      })
      .prefault({}),
    cursorTtlSeconds: seconds.default(300),
    maxListsPerPrincipal: positive.default(1_000),
    trajectories: z
      .strictObject({ idleTtlSeconds: seconds.default(3_600), maxPerPrincipal: positive.default(1_000) })
      .prefault({}),
  })
  .prefault({});

const retention = z
  .strictObject({
    versionHours: hours.default(24),
    /** The database itself keeps a record for 30 days. */
    auditDays: days.min(30).default(365),
  })
  .prefault({});

const maintenance = z
  .strictObject({
    graph: z
      .strictObject({ m: z.int().min(2).max(100).default(32), efConstruction: z.int().min(4).max(1_000).default(128) })
      .prefault({}),
    buildMemoryMb: positive.max(2_097_151).default(512),
    buildWorkers: z.int().min(0).max(1_024).default(0),
    /** Of a graph's entries. */
    rebuildShare: z.number().gt(0).max(1).default(0.2),
  })
  .prefault({});

const indexing = z
  .strictObject({
    /** Model tokens per chunk; clamped to the model's own limit. */
    chunkTokens: positive.min(16).default(192),
    overlapTokens: z.int().min(0).default(32),
    embedBatch: positive.default(32),
    defaultLanguage: z.string().min(1).default("english"),
    defaultScreening: z.enum(["flag", "quarantine", "refuse"]).default("flag"),
  })
  .prefault({});

const log = z
  .strictObject({ level: z.enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"]).default("info") })
  .prefault({});

const tenants = z.strictObject({ autoCreate: z.boolean().default(true) }).prefault({});

const quotas = z
  .strictObject({
    documents: positive.nullable().default(null),
    textBytes: positive.nullable().default(null),
  })
  .prefault({});

const redaction = z
  .strictObject({
    /** Names of members of meta, or paths of them joined by dots; what is below a member goes with it. */
    metaFields: z.array(z.string().min(1)).max(256).default([]),
  })
  .prefault({});

export const configSchema = z.strictObject({
  server,
  database,
  auth,
  tenants,
  quotas,
  cors,
  doors,
  streaming,
  sessions,
  idempotency,
  feedback,
  rateLimit,
  filter,
  limits,
  load,
  retrieval,
  retention,
  maintenance,
  redaction,
  indexing,
  fetch,
  models,
  capabilities,
  log,
});

export type Config = z.infer<typeof configSchema>;
export type IssuerConfig = Config["auth"]["issuers"][number];
