import type { TrustLevel } from "../protocol/wire.ts";

const ORDER = { untrusted: 0, community: 1, trusted: 2 } as const satisfies Record<TrustLevel, number>;

/** The credential's ceiling, or less when the document itself asks for less (DESIGN section 6). */
export const effectiveTrust = (ceiling: TrustLevel, claimed: TrustLevel | undefined): TrustLevel =>
  claimed !== undefined && ORDER[claimed] < ORDER[ceiling] ? claimed : ceiling;
