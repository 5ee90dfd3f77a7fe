import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectIsolation, printRun } from "../support/isolation/expect-run.ts";
import { mutantPatches, predicateSites } from "../support/isolation/mutants.ts";
import { disablePolicies, tenantTables } from "../support/isolation/policies.ts";
import { leaksOf, type RunReport, runOperations } from "../support/isolation/run-operations.ts";
import { copySource, type SourceCopy } from "../support/isolation/source-copy.ts";
import { type Subject, startSubject } from "../support/isolation/subject.ts";
import { testSeed } from "../support/seeded-random.ts";
import { type TestIssuer, testIssuer } from "../support/test-issuer.ts";

/** Every predicate of the SQL that names a tenant, and, where its loss changes no answer, why. */
const PREDICATES: Readonly<Record<string, string | undefined>> = {
  "corpora.ts findCorpus: tenant_id = $": undefined,
  "corpora.ts among: tenant_id = $": undefined,
  "corpora.ts createCorpus: tenant_id = $":
    "it makes the caller's own corpus, for a tenant that the foreign key asks for too",
  "documents.ts of: tenant_id = $": undefined,
  "expired.ts deleteExpired: tenant_id = $": "an expired row and none have one answer",
  "feedback.ts insertFeedback: tenant_id = $": "how much room is left is seen only when it is full",
  "idempotency.ts of: tenant_id = $": undefined,
  "postings.ts appendPostings: kept.tenant_id = $":
    "the row in conflict has the same key, which begins with the tenant",
  "quotas.ts selectOwnQuotas: tenant_id = $": "nobody has a quota here",
  "quotas.ts lockQuotas: tenant_id = $": "nobody has a quota here",
  "quotas.ts selectKept: tenant_id = $": "nobody has a quota here",
  "ranked-chunks.ts rowOf: tenant_id = $": undefined,
  "ranked-chunks.ts byNumber: c.tenant_id = $": undefined,
  "ranked-chunks.ts chunkOfDocument: c.tenant_id = $": undefined,
  "ranked-lists.ts findRankedList: tenant_id = $":
    "found by an id that no other row has, once the tenant's signature is good",
  "ranked-lists.ts dropRankedLists: tenant_id = $": "nobody has so many lists here that one would be dropped",
  "ranked-lists.ts findCursorKey: tenant_id = $":
    "another's key signs a cursor just as well: the tenant is in what it signs",
  "recall-sparse.ts postingsOfTerms: tenant_id = $": undefined,
  "recall.ts versionsOf: v.tenant_id = $": undefined,
  "recall.ts ofCorpus: tenant_id = $": undefined,
  "recall.ts corpusState: c.tenant_id = $": "the embedded database has every corpus in the shared partition",
  "replicas.ts versionOnStandby: v.tenant_id = $": "asked of replicas, which there are none of here",
  "replicas.ts versionOnStandby: c.tenant_id = $": "asked of replicas, which there are none of here",
  "replicas.ts newestVersion: c.tenant_id = $": "asked where there are replicas",
  "revocations.ts selectRevocation: tenant_id = $": "nobody revokes a source here",
  "revocations.ts forgetRevoked: tenant_id = $": "nobody revokes a source here",
  "sessions.ts of: tenant_id = $": undefined,
  "sessions.ts touchSession: s.tenant_id = $": "joined to the owner's own row by a hash that no other row has",
  "trajectories.ts ofOwner: tenant_id = $": undefined,
  "trajectories.ts extendTrajectory: kept.tenant_id = $":
    "the row in conflict has the same key, which begins with the tenant",
};

/** Every table of tenants, and, where the loss of its policies changes no answer, why. */
const TABLES: Readonly<Record<string, string | undefined>> = {
  "pgrcp.chunks": undefined,
  "pgrcp.chunks_shared": "reached through its parent alone, whose policies hold; nobody is granted anything on it",
  "pgrcp.corpora": undefined,
  "pgrcp.corpus_versions": undefined,
  "pgrcp.document_texts": undefined,
  "pgrcp.documents": undefined,
  "pgrcp.idempotency_keys": undefined,
  "pgrcp.postings": undefined,
  "pgrcp.revoked_documents": "nobody revokes a source here",
  "pgrcp.revoked_sources": "nobody revokes a source here",
  "pgrcp.tenants": "the server inserts its caller's own tenant there and reads quotas, which nobody has here",
  "pgrcp_state.audit": "the server adds to it and reads nothing",
  "pgrcp_state.cursor_keys": "another's key signs a cursor just as well: the tenant is in what it signs",
  "pgrcp_state.feedback": "the server adds to it, and reads only how much there is",
  "pgrcp_state.ranked_lists": "found by an id that no other row has, once the tenant's signature is good",
  "pgrcp_state.sessions": undefined,
  "pgrcp_state.trajectories": undefined,
};

const noticed = (all: Readonly<Record<string, string | undefined>>): string[] =>
  Object.keys(all).filter((name) => all[name] === undefined);

const MINUTES = 60_000;
const seed = testSeed();
const sites = predicateSites();
const ALL_SITES = sites.map(({ site }) => site);
const TABLE_NAMES = Object.keys(TABLES);
/** What each mutant did first. */
const seen: string[] = [];

let issuer: TestIssuer;
/** The source as it is. */
let plain: Subject;
/** A copy in which each mutant can be switched on. */
let copy: SourceCopy;
let mutants: Subject;
beforeAll(async () => {
  issuer = await testIssuer();
  copy = await copySource(mutantPatches());
  [plain, mutants] = await Promise.all([startSubject(issuer), startSubject(issuer, copy.root)]);
}, 2 * MINUTES);
afterAll(async () => {
  console.log(`mutants, and what was first seen of them\n${seen.join("\n")}`);
  await Promise.all([plain?.call("close"), mutants?.call("close")]);
  await copy?.remove();
});

describe("three tenants with the same ids and texts meet nothing of each other", () => {
  test(
    "under policies and predicates",
    async () => {
      expect(await plain.call("selfTest")).toBeUndefined();

      const report = await runOperations(plain, { seed, operations: 2_000, perPhase: 400 });

      printRun("policies and predicates", seed, report);
      expectIsolation(report, 2_000);
      const { internalErrors, identityIgnored } = await plain.call("report");
      expect(internalErrors).toEqual([]);
      expect(identityIgnored).toBeGreaterThan(0);
    },
    5 * MINUTES,
  );

  test("and every statement that ran names its tenant once for each table it names", async () => {
    const { statements } = await plain.call("report");

    const count = (text: string, pattern: RegExp) => text.match(pattern)?.length ?? 0;
    const unnamed = statements.filter((text) => {
      const tables = count(text, /\b(?:from|join|update|into) pgrcp(?:_state)?\.\w+/g);
      const named = count(text, /\btenant_id = (?:\$\d+|\w+\.tenant_id)|into pgrcp\S+ (?:as \w+ )?\(tenant_id\b/g);
      return named < tables;
    });
    expect(unnamed).toEqual([]);
    expect(statements.length).toBeGreaterThan(20);
  });

  test(
    "by predicates alone, with every policy dropped",
    async () => {
      expect(await tenantTables(plain)).toEqual(TABLE_NAMES);
      const enable = await disablePolicies(plain, TABLE_NAMES);
      expect(await plain.call("selfTest")).toContain("row level security");

      const report = await runOperations(plain, { seed: seed + 1, operations: 600, perPhase: 300 });

      await enable();
      printRun("predicates alone", seed + 1, report);
      expect(report.problems).toEqual([]);
      expect((await plain.call("report")).internalErrors).toEqual([]);
    },
    5 * MINUTES,
  );

  test(
    "by policies alone, with every predicate removed",
    async () => {
      await mutants.call("removePredicates", ALL_SITES);

      const report = await runOperations(mutants, { seed: seed + 2, operations: 600, perPhase: 300 });

      printRun("policies alone", seed + 2, report);
      expect(report.problems).toEqual([]);
      const { statements, internalErrors } = await mutants.call("report");
      expect(internalErrors).toEqual([]);
      expect(statements.filter((text) => /tenant_id = /.test(text))).toEqual([]);
      expect(statements.length).toBeGreaterThan(20);
    },
    5 * MINUTES,
  );
});

/** Runs until something of another tenant is seen, at most so many operations. */
async function untilLeak(name: string, index: number): Promise<RunReport> {
  const report = await runOperations(mutants, {
    seed: seed + 100 + index,
    operations: 1_600, // the rarest leak shows after some 80 of them
    perPhase: 100,
    untilLeak: true,
  });
  const [first] = leaksOf(report);
  seen.push(`${name.padEnd(50)} after ${String(report.operations).padStart(3)}: ${first?.kind}, ${first?.problem}`);
  return report;
}

describe("what the test notices", () => {
  test("the predicates are those that are listed here", () => {
    expect(sites.map(({ name }) => name)).toEqual(Object.keys(PREDICATES));
  });

  test(
    "neither policies nor predicates",
    async () => {
      await mutants.call("removePredicates", ALL_SITES);
      const enable = await disablePolicies(mutants, TABLE_NAMES);
      const report = await untilLeak("neither", 0);
      await enable();
      expect(leaksOf(report)).not.toEqual([]);
    },
    MINUTES,
  );

  test.each(noticed(PREDICATES))(
    "no policies, and no predicate in %s",
    async (name) => {
      const index = sites.findIndex((site) => site.name === name);
      await mutants.call("removePredicates", [index]);
      const enable = await disablePolicies(mutants, TABLE_NAMES);
      const report = await untilLeak(name, index);
      await enable();
      expect(leaksOf(report)).not.toEqual([]);
    },
    MINUTES,
  );

  test.each(noticed(TABLES))(
    "no predicates, and no policies on %s",
    async (table) => {
      await mutants.call("removePredicates", ALL_SITES);
      const enable = await disablePolicies(mutants, [table]);
      const report = await untilLeak(table, TABLE_NAMES.indexOf(table));
      await enable();
      expect(leaksOf(report)).not.toEqual([]);
    },
    MINUTES,
  );

  test.each(["kept by the connection", "the first caller's for all"] as const)(
    "no predicates, and a tenant setting that is %s",
    async (setting) => {
      await mutants.call("removePredicates", ALL_SITES);
      await mutants.call("mutateSetting", setting);
      const report = await untilLeak(`setting ${setting}`, 50);
      await mutants.call("mutateSetting", undefined);
      expect(leaksOf(report)).not.toEqual([]);
    },
    MINUTES,
  );

  test(
    "no policies, and a cache of corpora that tenants share",
    async () => {
      await mutants.call("removePredicates", []);
      await mutants.call("shareCache", true);
      const enable = await disablePolicies(mutants, TABLE_NAMES);
      const report = await untilLeak("shared cache", 60);
      await enable();
      await mutants.call("shareCache", false);
      expect(leaksOf(report)).not.toEqual([]);
    },
    MINUTES,
  );
});
