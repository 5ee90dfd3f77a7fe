import { isObject, type Params } from "../protocol/params.ts";

/** Names that try to say who calls, as spelled after case, `-`, `_` and a leading `x` are taken off. */
const IDENTITY = new Set(["tenant", "tenantid", "authorization", "accesstoken"]);

const bareName = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[-_]/g, "")
    .replace(/^x(?=tenant)/, "");

/**
 * Paths of members that look like an identity, in params and in `_meta`. They are ignored: who calls is known from the token
 * alone (RCP §15.6, DESIGN ruling 9). Each name is listed once a place, in a constant spelling, whatever variants were sent.
 */
export function identityMembers(params: Params): string[] {
  const within = (object: Params, prefix: string) => {
    const names = new Set(Object.keys(object).map(bareName));
    return [...IDENTITY].filter((name) => names.has(name)).map((name) => `${prefix}${name}`);
  };
  const meta = Object.hasOwn(params, "_meta") ? params._meta : undefined;
  return [...within(params, ""), ...(isObject(meta) ? within(meta, "_meta.") : [])];
}
