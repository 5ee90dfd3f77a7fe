import { randomBytes } from "node:crypto";

/** An opaque `indexVersion` (RCP §7.7.1): unguessable, so that one tenant's tells nothing of another's. */
export const versionToken = (): string => randomBytes(16).toString("base64url");
