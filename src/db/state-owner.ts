import { createHash } from "node:crypto";
import type { SessionOwner } from "../sql/sessions.ts";
import type { StateOwner } from "../sql/trajectories.ts";

/** sha256 of a list of texts; no text can spill into the next. */
export const hashOf = (...texts: readonly string[]): Uint8Array =>
  createHash("sha256").update(JSON.stringify(texts), "utf8").digest();

/** A caller as its rows in `pgrcp_state` name it. Their keys have a length that an index can hold, whatever a token says. */
export const stateOwner = ({ tenantId, issuer, subject, client }: SessionOwner): StateOwner => ({
  tenantId,
  ownerHash: hashOf(issuer, subject, client),
});
