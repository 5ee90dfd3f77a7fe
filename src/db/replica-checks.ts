import { flushedPosition, type LogPosition, standbyFacts } from "../sql/replicas.ts";
import type { Statement } from "../sql/sql.ts";
import { loginFacts } from "./catalog-facts.ts";
import { error, type Finding, warning } from "./finding.ts";
import { checkLogin, LOGIN_SETTINGS } from "./login-checks.ts";
import { connectFailure } from "./pg-errors.ts";
import { type Replica, troubleOf } from "./replica.ts";
import { StartupError } from "./startup-error.ts";
import { readInBatch } from "./tenant-transaction.ts";

const UNTIL_THEN = "until then the primary answers";

/**
 * What is wrong with a replica. Only another database's, which can never be right, is an error: one that is away or was promoted is what the
 * primary stands in for.
 *
 * @param ask the primary, as the reader
 */
export async function checkReplica(
  { place, source }: Pick<Replica, "place" | "source">,
  ask: <Row>(statement: Statement<Row>) => Promise<readonly Row[]>,
  timeoutMs: number,
): Promise<readonly Finding[]> {
  const [primary] = await ask(flushedPosition);
  if (primary === undefined) throw new Error("the primary did not say how far it is");
  const limits = { signal: new AbortController().signal, timeoutMs };
  const login = loginFacts("pgrcp_reader", Object.keys(LOGIN_SETTINGS.reader));
  try {
    const statements = [standbyFacts(primary.position), login] as const;
    const [[facts], logins] = await readInBatch(source, undefined, statements, limits, { attempts: 1 });
    if (facts !== undefined && troubleOf(facts, primary) === "other")
      return [notAReplica(place, facts.database, primary)];
    return logins.flatMap((row) => checkLogin("reader", row));
  } catch (failure) {
    const told = connectFailure(failure, {
      url: `postgres://${place}`,
      user: "the reader",
      password: "database.replicas",
    });
    if (!(told instanceof StartupError)) throw failure;
    return [
      warning(
        `the replica at ${place} cannot be read: ${told.line}`,
        `mend it or correct database.replicas; ${UNTIL_THEN}`,
      ),
    ];
  }
}

const notAReplica = (place: string, database: string, primary: LogPosition): Finding =>
  database === primary.database
    ? warning(`${place} is no standby at present`, `name standbys alone in database.replicas; ${UNTIL_THEN}`)
    : error(`${place} is another database than database.url`, "name hot standbys of database.url in database.replicas");
