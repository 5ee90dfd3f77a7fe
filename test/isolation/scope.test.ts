import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Credential } from "../../src/auth/principal.ts";
import type { DatabaseRole } from "../../src/db/database.ts";
import { httpClient } from "../support/isolation/http-client.ts";
import { disablePolicies, tenantTables } from "../support/isolation/policies.ts";
import { SCOPE_PATCHES } from "../support/isolation/scope-mutants.ts";
import { copySource, type SourceCopy } from "../support/isolation/source-copy.ts";
import { type Subject, startSubject } from "../support/isolation/subject.ts";
import type { Response } from "../support/rcp-server.ts";
import { type TestIssuer, testIssuer } from "../support/test-issuer.ts";

const PARAMS = {
  retrieve: { query: "amber", mode: "hybrid" },
  "index/add": { documents: [{ id: "one", text: "replaced" }] },
  "index/delete": { ids: ["one"] },
} as const;
type Method = keyof typeof PARAMS;

/** A token, what it tries, and the login that the method works as. */
const CASES: readonly (readonly [Credential, Method, DatabaseRole])[] = [
  ["read", "index/add", "adder"],
  ["read", "index/delete", "deleter"],
  ["add", "index/delete", "deleter"],
  ["add", "retrieve", "reader"],
  ["delete", "index/add", "adder"],
  ["delete", "retrieve", "reader"],
];

let issuer: TestIssuer;
let plain: Subject;
let copy: SourceCopy;
/** Asks for no credential. */
let unchecked: Subject;
beforeAll(async () => {
  issuer = await testIssuer();
  copy = await copySource(SCOPE_PATCHES);
  [plain, unchecked] = await Promise.all([startSubject(issuer), startSubject(issuer, copy.root)]);
}, 120_000);
afterAll(async () => {
  await Promise.all([plain?.call("close"), unchecked?.call("close")]);
  await copy?.remove();
});

async function call(subject: Subject, credential: Credential, method: Method, params: object, tenant: string) {
  const client = httpClient(subject.url);
  const token = await issuer.mint({ tenant, credentials: [credential] });
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const answer = await client.post(`/rcp/${method}`, body, { authorization: `Bearer ${token}` }).answer;
  client.close();
  expect(answer?.status).toBe(200);
  return JSON.parse(answer?.text ?? "") as Response;
}

let tenants = 0;
/** A tenant of its own, and what its reader sees of it. */
async function tenantOf(subject: Subject, documents: readonly object[]) {
  tenants += 1;
  const tenant = `scope-${tenants}`;
  if (documents.length > 0) await call(subject, "add", "index/add", { documents }, tenant);
  const seen = async () => {
    const { result } = await call(subject, "read", "retrieve", PARAMS.retrieve, tenant);
    const hits = result?.hits as readonly { readonly id: string; readonly text: string }[];
    return { texts: hits.map(({ text }) => text), version: result?.indexVersion };
  };
  return { tenant, seen };
}

const AMBER = [{ id: "one", text: "amber basalt" }];
const STATES = [
  { state: "with a corpus that the server knows", documents: AMBER, texts: ["amber basalt"] },
  { state: "before its first write", documents: [], texts: [] },
];

describe.each(CASES)("a token for %s that calls %s", (credential, method, role) => {
  test.each(STATES)("for a tenant $state is answered -32012 and the database is not asked", async ({ documents }) => {
    const { tenant, seen } = await tenantOf(plain, documents);
    const before = await seen();
    await plain.call("forgetRefusals");

    const { error, result } = await call(plain, credential, method, PARAMS[method], tenant);

    expect(result).toBeUndefined();
    expect(error).toMatchObject({ code: -32012, message: "Not authorised" });
    expect((await plain.call("report")).refusals).toEqual([]);
    expect(await seen()).toEqual(before);
  });

  test.each(STATES)(
    "for a tenant $state is refused by the database with 42501 where the code does not check",
    async ({ documents, texts }) => {
      const { tenant, seen } = await tenantOf(unchecked, documents);
      const before = await seen();
      await unchecked.call("forgetRefusals");

      const { error, result } = await call(unchecked, credential, method, PARAMS[method], tenant);

      expect(result).toBeUndefined();
      expect(error).toEqual({ code: -32012, message: "Not authorised" });
      expect((await unchecked.call("report")).refusals).toEqual([{ role, sqlstate: "42501" }]);
      expect(before).toMatchObject({ texts });
      expect(await seen()).toEqual(before);
    },
  );
});

test("it is the policies that refuse: without them a read token deletes where the code does not check", async () => {
  const { tenant, seen } = await tenantOf(unchecked, AMBER);
  const enable = await disablePolicies(unchecked, await tenantTables(unchecked));

  const { result } = await call(unchecked, "read", "index/delete", PARAMS["index/delete"], tenant);

  await enable();
  expect(result).toEqual({ deleted: 1 });
  expect((await seen()).texts).toEqual([]);
});
