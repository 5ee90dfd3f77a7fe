import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CREDENTIALS } from "../../src/auth/principal.ts";
import { CachedCorpusStore } from "../../src/db/cached-corpus-store.ts";
import { HANDLERS } from "../../src/methods/index.ts";
import { compile, sql } from "../../src/sql/sql.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";

const [A, B] = ["tenant-a", "tenant-b"] as const;

let db: TestDatabase;
let server: RcpServer;
let token: string;
beforeAll(async () => {
  db = await openTestDatabase();
  server = await startRcpServer({
    config: { database: db.config.database, auth: { combinedTokens: true }, rateLimit: { enabled: false } },
    handlers: HANDLERS,
    database: db.database,
    corpora: new CachedCorpusStore(db.database),
  });
  token = await server.token({ tenant: A, credentials: CREDENTIALS });
  for (const tenant of [A, B]) {
    const own = await server.token({ tenant, credentials: ["add"] });
    await server.call("index/add", { documents: [{ id: "plan", text: `amber plan of ${tenant}` }] }, { token: own });
  }
});
afterAll(async () => {
  await server.close();
  await db.close();
});
beforeEach(() => {
  server.observations.length = 0;
});

const post = (path: string, body: string) => server.post(path, body, { token });

/** Members of a body that is right otherwise, and what stands behind the address. */
const FOREIGN: readonly (readonly [string, string, string?])[] = [
  ["missing", '"k":"1"'],
  ["null", '"tenantId":null'],
  ["empty", '"tenantId":""'],
  ["blank", '"tenantId":"  "'],
  ["another", `"tenantId":"${B}"`],
  ["nobody's", '"tenantId":"tenant-z"'],
  ["its own with a space", `"tenantId":"${A} "`],
  ["its own in capitals", `"tenantId":"${A.toUpperCase()}"`],
  ["no text", `"tenantId":["${A}"]`],
  ["its own in an object", `"tenantId":{"$eq":"${A}"}`],
  ["its own twice", `"tenantId":"${A}","tenantId":"${A}"`],
  ["another, then its own", `"tenantId":"${B}","tenantId":"${A}"`],
  ["its own, then another", `"tenantId":"${A}","tenantId":"${B}"`],
  ["its own, then another in escapes", `"tenantId":"${A}","tenant\\u0049d":"${B}"`],
  ["its own, and another by another name", `"tenantId":"${A}","tenant_id":"${B}"`],
  ["its own, and an empty tenant", `"tenantId":"${A}","tenant":""`],
  ["its own by another name", `"TenantID":"${A}"`],
  ["its own, and a token", `"tenantId":"${A}","accessToken":"x"`],
  ["inherited", `"__proto__":{"tenantId":"${A}"}`],
  ["its own behind the address", '"k":"1"', `?tenantId=${A}`],
  ["its own in both places", `"tenantId":"${A}"`, `?tenantId=${A}`],
  ["its own, and another behind the address", `"tenantId":"${A}"`, `?x=1&tenantId=${B}`],
  ["its own, and another behind the address in escapes", `"tenantId":"${A}"`, `?tenant%49d=${B}`],
  ["its own, and another behind the address after a second ?", `"tenantId":"${A}"`, `?&tenantId=${B}?`],
];

describe.each(["retrieve", "get_document", "add_document", "delete_document"])("%s", (tool) => {
  test("is 403 with the same bytes for a tenantId that is missing, blank, repeated or not the token's", async () => {
    const plain = await post(`/v1/${tool}`, "{}");
    expect(plain.text).not.toMatch(/tenant-/);
    expect(plain.body).toMatchObject({
      error: { code: -32012, data: { detail: expect.stringMatching(/^tenantId must be/) } },
    });

    for (const [name, members, query = ""] of FOREIGN) {
      const answer = await post(`/v1/${tool}${query}`, `{"query":"amber","text":"x","id":"plan",${members}}`);
      expect([name, answer.status, answer.text]).toEqual([name, 403, plain.text]);
    }
    for (const body of [`["${A}"]`, `"${A}"`, "null", "1"])
      expect(await post(`/v1/${tool}`, body)).toMatchObject({ status: 403, text: plain.text });
    const other = await server.token({ tenant: B, credentials: CREDENTIALS });
    expect((await server.post(`/v1/${tool}`, `{"tenantId":"${A}"}`, { token: other })).text).toBe(plain.text);
  });
});

test("with its own tenant a call is answered, and a header that names another is not read", async () => {
  const { status, text } = await server.send({
    path: "/v1/retrieve?",
    body: JSON.stringify({ query: "amber plan", tenantId: A }),
    headers: [
      ["authorization", `Bearer ${token}`],
      ["content-type", "application/json"],
      ["x-tenant-id", B],
      ["tenantId", B],
    ],
  });

  expect(status).toBe(200);
  expect(JSON.parse(text)).toMatchObject({ passages: [{ id: "plan", text: `amber plan of ${A}` }] });
  expect(text).not.toContain(B);
});

test("no refused call has changed what either tenant has", async () => {
  const retrieve = async (tenant: string) => {
    const own = await server.token({ tenant });
    return (await server.call("retrieve", { query: "amber x", k: 10 }, { token: own })).body?.result?.hits;
  };
  for (const tenant of [A, B])
    expect(await retrieve(tenant)).toMatchObject([{ id: "plan", text: `amber plan of ${tenant}` }]);
});

test("is logged by the place alone and counted for the audit record, in the token's tenant", async () => {
  await post("/v1/retrieve", JSON.stringify({ query: "amber", tenantId: B }));

  expect(server.observations).toMatchObject([
    { kind: "identity-refused", tenant: A, member: "tenantId" },
    { kind: "request", method: "retrieve", tenant: A, code: -32012 },
  ]);
  expect(JSON.stringify(server.observations)).not.toContain(B);
  const records = () =>
    db.admin.query(
      compile(
        sql`select tenant_id, method, detail from pgrcp_state.audit where tenant_id = ${A} and method = 'retrieve'`,
        (row) => row,
      ),
    );
  await expect.poll(records, { timeout: 20_000 }).toHaveLength(1);
  expect(await records()).toMatchObject([
    { tenant_id: A, detail: expect.stringMatching(/^tenantId must be the token's/) },
  ]);
});
