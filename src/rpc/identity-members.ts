import { isObject, member, type Params } from "../protocol/params.ts";

/** Names that try to say who calls: as compared, and as reported. */
const IDENTITY = new Map([
  ["tenant", "tenant"],
  ["tenantid", "tenantId"],
  ["authorization", "authorization"],
  ["accesstoken", "accessToken"],
]);

/** Spellings that differ in case, in `-` and `_`, or in a leading `x-` are one name. */
const bareName = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[-_]/g, "")
    .replace(/^x(?=tenant)/, "");

/** How an identity that a member's name claims is reported; undefined for a name that claims none. */
export const identityOf = (name: string): string | undefined => IDENTITY.get(bareName(name));

/**
 * Paths of members that look like an identity, in params and in `_meta`. They are ignored: who calls is known from the token
 * alone (RCP §15.6, DESIGN ruling 9). Each name is listed once a place, however many spellings were sent.
 */
export function identityMembers(params: Params): string[] {
  const within = (object: Params, prefix: string): string[] => {
    const sent = new Set(Object.keys(object).map(bareName));
    return [...IDENTITY].filter(([bare]) => sent.has(bare)).map(([, name]) => `${prefix}${name}`);
  };
  const meta = member(params, "_meta");
  return [...within(params, ""), ...(isObject(meta) ? within(meta, "_meta.") : [])];
}
