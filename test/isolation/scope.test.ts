import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Credential } from "../../src/auth/principal.ts";
import type { DatabaseRole } from "../../src/db/database.ts";
import { httpClient } from "../support/isolation/http-client.ts";
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

/** A token, what it tries, and the login that its credential would have. */
const CASES: readonly (readonly [Credential, Method, DatabaseRole])[] = [
  ["read", "index/add", "reader"],
  ["read", "index/delete", "reader"],
  ["add", "index/delete", "adder"],
  ["add", "retrieve", "adder"],
  ["delete", "index/add", "deleter"],
  ["delete", "retrieve", "deleter"],
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
/** A tenant with one document, and what its reader sees of it. */
async function tenantOf(subject: Subject) {
  tenants += 1;
  const tenant = `scope-${tenants}`;
  await call(subject, "add", "index/add", { documents: [{ id: "one", text: "amber basalt" }] }, tenant);
  const seen = async () => {
    const { result } = await call(subject, "read", "retrieve", PARAMS.retrieve, tenant);
    const hits = result?.hits as readonly { readonly id: string; readonly text: string }[];
    return { texts: hits.map(({ text }) => text), version: result?.indexVersion };
  };
  return { tenant, seen };
}

describe.each(CASES)("a token for %s that calls %s", (credential, method, role) => {
  test("is answered -32012 and the database is not asked", async () => {
    const { tenant, seen } = await tenantOf(plain);
    const before = await seen();
    await plain.call("runAs", undefined);

    const { error, result } = await call(plain, credential, method, PARAMS[method], tenant);

    expect(result).toBeUndefined();
    expect(error).toMatchObject({ code: -32012, message: "Not authorised" });
    expect((await plain.call("report")).refusals).toEqual([]);
    expect(await seen()).toEqual(before);
  });

  test("is refused by the database with 42501 where the code does not check", async () => {
    const { tenant, seen } = await tenantOf(unchecked);
    const before = await seen();
    await unchecked.call("runAs", role);

    const { error, result } = await call(unchecked, credential, method, PARAMS[method], tenant);

    const { refusals } = await unchecked.call("report");
    await unchecked.call("runAs", undefined);
    expect(result).toBeUndefined();
    expect(error).toEqual({ code: -32012, message: "Not authorised" });
    expect(refusals).toEqual([{ role, sqlstate: "42501" }]);
    expect(before).toMatchObject({ texts: ["amber basalt"] });
    expect(await seen()).toEqual(before);
  });
});

test("the copy that does not check is one: a read token deletes there, as the method's own role", async () => {
  const { tenant, seen } = await tenantOf(unchecked);

  const { result } = await call(unchecked, "read", "index/delete", PARAMS["index/delete"], tenant);

  expect(result).toEqual({ deleted: 1 });
  expect((await seen()).texts).toEqual([]);
});
