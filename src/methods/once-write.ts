import type { OnceWrite } from "../indexing/first-result.ts";
import { repeatableWrite } from "../plan/idempotency-key.ts";
import type { Call, Services } from "./handler.ts";

/** What a planned write needs to be applied once (RCP §7.10), or undefined when its caller gave no key. */
export function onceWrite(
  plan: { readonly idempotencyKey: string | undefined },
  credential: "add" | "delete",
  { principal, corpus }: Call,
  { config }: Services,
): OnceWrite | undefined {
  const write = repeatableWrite(plan, corpus);
  const { tenantId, issuer, subject, client } = principal;
  return write && { owner: { tenantId, issuer, subject, client, credential }, write, ...config.idempotency };
}
