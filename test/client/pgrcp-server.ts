import { type NewDocument, RcpClient } from "../../src/client/index.ts";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import { filterFields } from "../../src/plan/filter-fields.ts";
import { compile, sql } from "../../src/sql/sql.ts";
import { openTestDatabase } from "../support/database.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";
import type { TokenClaims } from "../support/test-issuer.ts";

/** pgrcp itself, with two tenants that have a document of the same id each. */

const FIELDS = { lang: "keyword", team: "keyword", topic: "keyword", year: "int" } as const;

const DOCUMENTS = {
  acme: [
    { id: "refunds", text: "Acme refunds within thirty days.", meta: { title: "Refunds", lang: "en", team: "sales" } },
    { id: "pay", text: "Acme pays its people on refund day.", meta: { lang: "en", team: "finance" } },
  ],
  rival: [{ id: "refunds", text: "Rival never refunds: RIVAL-SECRET.", meta: { lang: "en", team: "sales" } }],
} as const;

export type Tenant = keyof typeof DOCUMENTS;

export interface Pgrcp {
  readonly server: RcpServer;
  readonly url: string;
  client(tenant: Tenant, credentials?: TokenClaims["credentials"]): Promise<RcpClient>;
  /** Makes a corpus like the tenant's first one, and adds documents to it. */
  addCorpus(tenant: Tenant, corpus: string, documents: readonly NewDocument[]): Promise<void>;
  close(): Promise<void>;
}

export async function startPgrcp(): Promise<Pgrcp> {
  const opened = await openTestDatabase({ fields: filterFields(FIELDS) });
  const server = await startRcpServer({
    config: { filter: { fields: FIELDS }, rateLimit: { enabled: false } },
    handlers: HANDLERS,
    database: opened.database,
    corpora: new CachedCorpusStore(opened.database),
  });
  const url = `http://127.0.0.1:${server.port}/rcp`;
  const client: Pgrcp["client"] = async (tenant, credentials = ["read"]) =>
    new RcpClient({ url, token: await server.token({ tenant, credentials }), retry: { retries: 0 } });
  for (const tenant of ["acme", "rival"] as const) await (await client(tenant, ["add"])).indexAdd(DOCUMENTS[tenant]);
  return {
    ...{ server, url, client },
    async addCorpus(tenant, corpus, documents) {
      const text = sql`insert into pgrcp.corpora (tenant_id, corpus, language, model_identity, dimension, screening)
select tenant_id, ${corpus}, language, model_identity, dimension, screening from pgrcp.corpora where tenant_id = ${tenant} and corpus = 'default'`;
      await opened.admin.query(compile(text, (row) => row));
      const token = await server.token({ tenant, credentials: ["add"] });
      await new RcpClient({ url, corpus, token }).indexAdd(documents);
    },
    async close() {
      await server.close();
      await opened.close();
    },
  };
}
