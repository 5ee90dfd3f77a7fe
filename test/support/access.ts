import { CREDENTIALS } from "../../src/auth/principal.ts";
import type { TenantId } from "../../src/catalog/corpus.ts";
import type { Access } from "../../src/db/database.ts";

/** A tenant's caller with every credential, for tests of something else. */
export const accessTo = (tenantId: string): Access => ({
  tenantId: tenantId as TenantId,
  credentials: new Set(CREDENTIALS),
});
