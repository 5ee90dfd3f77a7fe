import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";
import type { Config } from "../config/config.ts";
import { compile, identifier, literal, noRows, sql } from "../sql/sql.ts";
import type { AdminConnection, AdminTransaction } from "./admin-connection.ts";

/** The login roles on Postgres: `pgrcp migrate` makes those that the configuration names and gives them their passwords. */

const LOGIN_ROLES = ["reader", "adder", "deleter", "state", "operator"] as const;
const ITERATIONS = 4_096;

/**
 * A password as Postgres stores it (SCRAM-SHA-256), so that the password itself reaches neither the server nor its log.
 *
 * @see RFC 5803
 */
export function scramVerifier(password: string, salt: Uint8Array = randomBytes(16)): string {
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, "sha256");
  const keyed = (text: string) => createHmac("sha256", salted).update(text).digest();
  const storedKey = createHash("sha256").update(keyed("Client Key")).digest("base64");
  const serverKey = keyed("Server Key").toString("base64");
  return `SCRAM-SHA-256$${ITERATIONS}:${Buffer.from(salt).toString("base64")}$${storedKey}:${serverKey}`;
}

/** Logins whose password the configuration sets. */
export const loginsWithPassword = ({ database }: Config): readonly string[] =>
  LOGIN_ROLES.filter((role) => database[role].password !== undefined).map((role) => database[role].user);

/** Makes the configured logins where they are not the standard ones, and sets the passwords that the configuration has. */
export async function setLogins(admin: AdminConnection, { database }: Config): Promise<void> {
  for (const role of LOGIN_ROLES) {
    const { user, password } = database[role];
    await admin.transaction(async (transaction) => {
      if (user !== `pgrcp_${role}`) await makeMember(transaction, user, `pgrcp_${role}`);
      if (password !== undefined) {
        const verifier = literal(scramVerifier(password));
        await transaction.query(compile(sql`alter role ${identifier(user)} password ${verifier}`, noRows));
      }
    });
  }
}

/** A login of another name has the role's rights by membership, and its settings of its own: those are not inherited. */
async function makeMember(transaction: AdminTransaction, user: string, role: string): Promise<void> {
  const [exists] = await transaction.query(
    compile(sql`select true as yes from pg_roles where rolname = ${user}`, () => true),
  );
  if (exists === undefined)
    await transaction.query(compile(sql`create role ${identifier(user)} login inherit`, noRows));
  await transaction.query(compile(sql`grant ${identifier(role)} to ${identifier(user)}`, noRows));
  const settings = await transaction.query(
    compile(
      sql`select split_part(setting, '=', 1) as name, substr(setting, strpos(setting, '=') + 1) as value
from pg_db_role_setting s join pg_roles r on r.oid = s.setrole, unnest(s.setconfig) setting
where r.rolname = ${role} and s.setdatabase in (0, (select oid from pg_database where datname = current_database()))`,
      (row) => row as { name: string; value: string },
    ),
  );
  for (const { name, value } of settings) {
    await transaction.query(
      compile(sql`alter role ${identifier(user)} set ${identifier(name)} = ${literal(value)}`, noRows),
    );
  }
}
