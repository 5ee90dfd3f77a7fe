import { compile, identifier, literal, noRows, sql } from "../sql/sql.ts";
import type { LoginFacts } from "./catalog-facts.ts";
import type { DatabaseRole } from "./database.ts";
import { error, type Finding } from "./finding.ts";

/** What each login must be, and must not be able to do: the database repeats what the server checks (DESIGN section 3). */

const CUSTOM_PLANS = { plan_cache_mode: "force_custom_plan" };

/** What the migrations give each role's own login, and any other login for it must have as well. */
export const LOGIN_SETTINGS: Readonly<Record<DatabaseRole, Readonly<Record<string, string>>>> = {
  reader: {
    ...CUSTOM_PLANS,
    default_transaction_isolation: "repeatable read",
    default_transaction_read_only: "on",
    // Else a plan, and with it a latency, follows from what other tenants store.
    ...{ enable_seqscan: "off", enable_hashjoin: "off", enable_mergejoin: "off" },
  },
  adder: CUSTOM_PLANS,
  deleter: CUSTOM_PLANS,
  state: {},
};

/** @param role the role as which the server uses this login */
export function checkLogin(role: DatabaseRole, facts: LoginFacts): readonly Finding[] {
  const { user } = facts;
  const setting = `database.${role}.user`;
  const use = `set ${setting} to pgrcp_${role}, or to a login whose only role is pgrcp_${role}`;
  if (facts.superuser) return [error(`${setting} is ${user}, a superuser: row level security would not hold`, use)];
  if (facts.bypassesRls) return [error(`${setting} is ${user}, which has BYPASSRLS`, use)];
  if (facts.attributes.length > 0) {
    const revoke = facts.attributes.map((attribute) => `no${attribute.toLowerCase()}`).join(" ");
    const { text } = compile(sql`alter role ${identifier(user)}`, noRows);
    return [error(`${setting} is ${user}, which has ${facts.attributes.join(", ")}`, `run: ${text} ${revoke}`)];
  }
  if (facts.owns) return [error(`${setting} is ${user}, which is the owner of pgrcp's tables or a member of it`, use)];
  if (facts.powers.length > 0) {
    return [error(`${setting} is ${user}, a member of ${facts.powers.join(", ")}`, use)];
  }
  if (!facts.hasRole) return [error(`${setting} is ${user}, which does not have the rights of pgrcp_${role}`, use)];
  return checkSettings(role, facts);
}

function checkSettings(role: DatabaseRole, { user, settings }: LoginFacts): readonly Finding[] {
  return Object.entries(LOGIN_SETTINGS[role])
    .filter(([name, value]) => settings[name] !== value)
    .map(([name, value]) =>
      error(
        `${user} connects without ${name} = ${value}`,
        `run: ${compile(sql`alter role ${identifier(user)} set ${identifier(name)} = ${literal(value)}`, noRows).text}`,
      ),
    );
}
