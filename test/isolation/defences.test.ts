import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Credential } from "../../src/auth/principal.ts";
import { CURSOR_TENANT, ONE_LOGIN_PATCHES, SELF_TEST_PATCHES } from "../support/isolation/defence-mutants.ts";
import { httpClient } from "../support/isolation/http-client.ts";
import { mutantPatches, predicateSites } from "../support/isolation/mutants.ts";
import { disablePolicies, tenantTables } from "../support/isolation/policies.ts";
import { leaksOf, runOperations } from "../support/isolation/run-operations.ts";
import { SCOPE_PATCHES } from "../support/isolation/scope-mutants.ts";
import { copySource, type SourceCopy } from "../support/isolation/source-copy.ts";
import { type Subject, startSubject } from "../support/isolation/subject.ts";
import type { Response } from "../support/rcp-server.ts";
import { testSeed } from "../support/seeded-random.ts";
import { type TestIssuer, testIssuer } from "../support/test-issuer.ts";

/**
 * Each of five defences is taken away in turn. What the others would hide is taken away on both sides, so that the one question is
 * whether this defence holds by itself: with it a check finds nothing, without it the same check finds something.
 */

const MINUTES = 60_000;
const seed = testSeed();
const ALL_SITES = predicateSites().map(({ site }) => site);
const sitesOf = (file: string) => predicateSites().flatMap(({ file: at, site }) => (at === file ? [site] : []));

let issuer: TestIssuer;
const copies: SourceCopy[] = [];
const subjects: Subject[] = [];
/** Predicates, the setting and the cursor's tenant can be switched off in it. */
let switches: Subject;
/** Neither asks for a credential; in the second one login does everything besides. */
let unchecked: Subject;
let oneLogin: Subject;
/** Goes on whatever its self-test finds. */
let unexamined: Subject;
beforeAll(async () => {
  issuer = await testIssuer();
  const start = async (patches: Parameters<typeof copySource>[0]) => {
    const copy = await copySource(patches);
    copies.push(copy);
    const subject = await startSubject(issuer, copy.root);
    subjects.push(subject);
    return subject;
  };
  [switches, unchecked, oneLogin, unexamined] = await Promise.all([
    start([...mutantPatches(), CURSOR_TENANT.patch]),
    start(SCOPE_PATCHES),
    start([...SCOPE_PATCHES, ...ONE_LOGIN_PATCHES]),
    start(SELF_TEST_PATCHES),
  ]);
}, 3 * MINUTES);
afterAll(async () => {
  await Promise.all(subjects.map((subject) => subject.call("close")));
  await Promise.all(copies.map((copy) => copy.remove()));
});

/** What random operations of three tenants see of each other. */
async function leaks(operations: number): Promise<readonly unknown[]> {
  const report = await runOperations(switches, { seed, operations, perPhase: 100, untilLeak: true });
  return leaksOf(report);
}

interface Sent {
  readonly credential?: Credential;
  readonly session?: string;
}

/** One call by the same person at one of the tenants. */
async function call(subject: Subject, tenant: string, method: string, params: object, sent: Sent = {}) {
  const client = httpClient(subject.url);
  const token = await issuer.mint({ tenant, credentials: [sent.credential ?? "read"] });
  const headers = {
    authorization: `Bearer ${token}`,
    ...(sent.session !== undefined && { "rcp-session": sent.session }),
  };
  const answer = await client.post(`/rcp/${method}`, JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }), headers)
    .answer;
  client.close();
  return JSON.parse(answer?.text ?? "") as Response;
}

const newTenant = () => `defence-${randomBytes(6).toString("hex")}`;
const add = (subject: Subject, tenant: string, text: string, idempotencyKey?: string) =>
  call(
    subject,
    tenant,
    "index/add",
    {
      documents: [
        { id: "a", text },
        { id: "b", text },
      ],
      ...(idempotencyKey !== undefined && { _meta: { idempotencyKey } }),
    },
    { credential: "add" },
  );

test(
  "policies: they alone keep tenants apart, and without them the operations meet another tenant's rows",
  async () => {
    await switches.call("removePredicates", ALL_SITES);
    expect(await leaks(150)).toEqual([]);

    const enable = await disablePolicies(switches, await tenantTables(switches));
    const without = await leaks(400);
    await enable();

    expect(without).not.toEqual([]);
  },
  3 * MINUTES,
);

test(
  "explicit predicate: it alone keeps tenants apart, and without it the operations meet another tenant's rows",
  async () => {
    await switches.call("removePredicates", []);
    const enable = await disablePolicies(switches, await tenantTables(switches));
    const withPredicates = await leaks(150);
    await switches.call("removePredicates", ALL_SITES);
    const without = await leaks(400);
    await enable();

    expect(withPredicates).toEqual([]);
    expect(without).not.toEqual([]);
  },
  3 * MINUTES,
);

test("role per method: a read token deletes nothing where no code asks for its credential, but where one login does everything", async () => {
  const deleted = async (subject: Subject) => {
    const tenant = newTenant();
    await add(subject, tenant, "amber");
    const { result, error } = await call(subject, tenant, "index/delete", { ids: ["a"] });
    return result?.deleted ?? error?.code;
  };

  expect(await deleted(unchecked)).toBe(-32012);
  expect(await deleted(oneLogin)).toBe(1);
});

describe("tenant in session, cursor and idempotency key", () => {
  /** The last guard is whose row it is: the others are off. */
  const withoutPolicies = async (tables: readonly string[], look: () => Promise<unknown>) => {
    const enable = await disablePolicies(switches, tables);
    const seen = await look();
    await enable();
    return seen;
  };

  test("a session that another tenant opened is none, unless its tenant is forgotten", async () => {
    const stolen = async () => {
      const { result } = await call(switches, newTenant(), "initialize", { protocolVersion: 1 });
      const session = result?._meta?.session as string;
      const { error } = await call(switches, newTenant(), "info", {}, { session });
      const retrieved = await call(switches, newTenant(), "retrieve", { query: "amber" }, { session });
      return error?.code ?? retrieved.error?.code ?? "served";
    };
    const tables = ["pgrcp_state.sessions"];

    await switches.call("removePredicates", []);
    expect(await withoutPolicies(tables, stolen)).toBe(-32001);
    await switches.call("removePredicates", sitesOf("sessions.ts"));
    expect(await withoutPolicies(tables, stolen)).toBe("served");
  });

  test("a cursor that another tenant was given is none, unless its tenant is forgotten", async () => {
    const stolen = async () => {
      const [one, other] = [newTenant(), newTenant()];
      for (const tenant of [one, other]) await add(switches, tenant, "amber");
      const params = { query: "amber", k: 1 };
      const { result } = await call(switches, one, "retrieve", params);
      const { error } = await call(switches, other, "retrieve", { ...params, cursor: result?.nextCursor });
      return error?.code ?? "served";
    };
    const lists = sitesOf("ranked-lists.ts");
    const tables = ["pgrcp_state.cursor_keys", "pgrcp_state.ranked_lists"];
    const forget = () => switches.call("script", "delete from pgrcp_state.cursor_keys");

    await forget();
    await switches.call("removePredicates", lists);
    expect(await withoutPolicies(tables, stolen)).toBe(-32602);
    await forget();
    await switches.call("removePredicates", [...lists, CURSOR_TENANT.site]);
    // Its list was found and taken for the caller's own. Its version is not there for the caller, which is a defence of its own.
    expect(await withoutPolicies(tables, stolen)).toBe(-32015);
  });

  test("an idempotency key that another tenant used is a new one, unless its tenant is forgotten", async () => {
    const applied = async () => {
      const [one, other, key] = [newTenant(), newTenant(), randomBytes(8).toString("hex")];
      await add(switches, one, "amber", key);
      await add(switches, other, "amber", key);
      const { result = {} } = await call(switches, other, "retrieve", { query: "amber" });
      const { hits } = result as { readonly hits: readonly object[] };
      return hits.length;
    };
    const tables = ["pgrcp.idempotency_keys"];

    await switches.call("removePredicates", []);
    expect(await withoutPolicies(tables, applied)).toBe(2);
    await switches.call("removePredicates", sitesOf("idempotency.ts"));
    expect(await withoutPolicies(tables, applied)).toBe(0);
  });
});

test("start-up self-test: a database without policies is refused at the start, unless nothing is looked at", async () => {
  const started = async (subject: Subject) => {
    const enable = await disablePolicies(subject, ["pgrcp.documents"]);
    const refusal = await subject.call("selfTest");
    await enable();
    return refusal;
  };

  expect(await started(unchecked)).toContain("row level security is not enabled and forced on pgrcp.documents");
  expect(await started(unexamined)).toBeUndefined();
});
