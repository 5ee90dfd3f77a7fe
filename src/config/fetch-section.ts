import { z } from "zod";
import { milliseconds, path, positive } from "./value-types.ts";

/** A host as `new URL()` writes it: lower case, without a port or a final dot; an IPv6 address in brackets. */
const isHost = (text: string): boolean =>
  !text.endsWith(".") && URL.canParse(`https://${text}`) && new URL(`https://${text}`).href === `https://${text}/`;

const isName = (text: string): boolean => isHost(text) && /[a-z][a-z0-9-]*$/.test(text);

const isHostPattern = (text: string): boolean =>
  text === "*" || (text.startsWith("*.") ? isName(text.slice(2)) : isHost(text));

const hosts = z
  .array(
    z
      .string()
      .refine(isHostPattern, "must be a host such as docs.example.org, *.example.org for all below it, or * for any"),
  )
  .default([]);

const range = z.union([z.cidrv4(), z.cidrv6()], "must be a range of addresses such as 10.1.2.0/24");

/** Bodies by reference (RCP §4.8). */
export const fetch = z
  .strictObject({
    enabled: z.boolean().default(false),
    schemes: z.array(z.enum(["https", "http"])).default(["https"]),
    allowedHosts: hosts,
    ports: z.array(z.int().min(1).max(65_535)).default([443]),
    allowPrivate: z.array(range).default([]),
    trustedHosts: hosts,
    /** Absolute; absent = no `file:` at all. */
    fileRoot: path.optional(),
    maxUris: positive.default(10),
    maxBytes: positive.default(2_000_000),
    maxRedirects: z.int().min(0).max(20).default(3),
    timeoutMs: milliseconds.default(10_000),
    concurrency: positive.default(16),
    concurrencyPerCall: positive.default(4),
  })
  .prefault({});
