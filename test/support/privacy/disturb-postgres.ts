import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

/**
 * What a busy database goes through, caused through the server's own logins: conflicts and violations whose report quotes the row,
 * deadlocks, statements that run out of time, backends that are killed.
 *
 * @param superuserUrl in the server's database
 * @param secret in every row and parameter
 * @returns how often each happened, by SQLSTATE
 */
export async function disturbPostgres(
  superuserUrl: string,
  secret: string,
  until: number,
): Promise<Map<string, number>> {
  const seen = new Map<string, number>();
  const count = (error: unknown) => {
    const code = String((error as { code?: unknown }).code);
    seen.set(code, (seen.get(code) ?? 0) + 1);
  };
  while (Date.now() < until) {
    await withClients(superuserUrl, async (one, other) => {
      for (const work of [conflict, violation, slowStatement])
        await inTransaction(one, (client) => work(client, secret)).catch(count);
      const [first, second] = await Promise.allSettled([
        inTransaction(one, (client) => insertBoth(client, `${secret}-a`, `${secret}-b`)),
        inTransaction(other, (client) => insertBoth(client, `${secret}-b`, `${secret}-a`)),
      ]);
      for (const ended of [first, second]) if (ended.status === "rejected") count(ended.reason);
    });
    await killBackends(superuserUrl);
    await sleep(500);
  }
  return seen;
}

async function withClients(superuserUrl: string, work: (one: pg.Client, other: pg.Client) => Promise<void>) {
  const url = new URL(superuserUrl);
  url.username = "pgrcp_adder";
  const clients = [new pg.Client(url.href), new pg.Client(url.href)] as const;
  for (const client of clients) client.on("error", () => {});
  await Promise.all(clients.map((client) => client.connect()));
  await work(...clients).catch(() => {});
  await Promise.all(clients.map((client) => client.end()));
}

async function inTransaction(client: pg.Client, work: (client: pg.Client) => Promise<void>): Promise<void> {
  await client.query("begin");
  try {
    await client.query("select set_config('pgrcp.credentials', 'add', true)");
    await work(client);
  } finally {
    await client.query("rollback");
  }
}

const actFor = (client: pg.Client, tenant: string) =>
  client.query("select set_config('pgrcp.tenant_id', $1, true)", [tenant]);

async function insertTenant(client: pg.Client, tenant: string): Promise<void> {
  await actFor(client, tenant);
  await client.query("insert into pgrcp.tenants (tenant_id) values ($1)", [tenant]);
}

/** 23505: Key (tenant_id)=(…) already exists. */
async function conflict(client: pg.Client, secret: string): Promise<void> {
  await insertTenant(client, secret);
  await insertTenant(client, secret);
}

/** 23514: Failing row contains (…). */
async function violation(client: pg.Client, secret: string): Promise<void> {
  await insertTenant(client, secret);
  await client.query(
    "insert into pgrcp.corpora (tenant_id, corpus, language, model_identity, dimension, screening) values ($1, $2, $3, $4, 0, 'flag')",
    [secret, secret, secret, secret],
  );
}

/** 57014 */
async function slowStatement(client: pg.Client, secret: string): Promise<void> {
  await client.query("set local statement_timeout = 50");
  await client.query("select $1::text, pg_sleep(5)", [secret]);
}

/** 40P01: two that take the same rows, each in its own order. */
async function insertBoth(client: pg.Client, first: string, second: string): Promise<void> {
  await insertTenant(client, first);
  await sleep(100);
  await insertTenant(client, second);
}

async function killBackends(superuserUrl: string): Promise<void> {
  const client = new pg.Client(superuserUrl);
  await client.connect();
  await client.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where usename like 'pgrcp\\_%' and datname = current_database() and random() < 0.3",
  );
  await client.end();
}
