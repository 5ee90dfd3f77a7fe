import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { answerOf, Lab, refusal } from "../../src/hijack/lab.ts";
import { type Finding, runTricks } from "../../src/hijack/run-tricks.ts";
import { TRICKS } from "../../src/hijack/tricks.ts";
import { runCli } from "../cli/run-cli.ts";
import { mutantPatches, predicateSites } from "../support/isolation/mutants.ts";
import { copySource, type Patch } from "../support/isolation/source-copy.ts";
import { type Subject, startSubject } from "../support/isolation/subject.ts";
import { testIssuer } from "../support/test-issuer.ts";

/** `pgrcp hijack-test`, on the server as it is and on servers that lack one defence each. */

const [A, B] = ["ours", "theirs"] as const;
const QUERY = "ledger of amber";
const issuer = await testIssuer();
const tokenOf = (tenant: string) => issuer.mint({ tenant, credentials: ["read"], expiresIn: 3_600 });

/** Gives both tenants documents of the same ids and other texts. */
async function fill({ url }: Subject): Promise<void> {
  for (const tenant of [A, B]) {
    const token = await issuer.mint({ tenant, credentials: ["add"], expiresIn: 3_600 });
    const documents = [1, 2, 3].map((n) => ({ id: `d${n}`, text: `ledger of amber, page ${n} of ${tenant}` }));
    const answer = await fetch(`${url}/index/add`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "index/add", params: { documents } }),
    });
    expect(await answer.json()).toHaveProperty("result.ids");
  }
}

async function findingsOn({ url }: Subject): Promise<readonly Finding[]> {
  const [token, otherToken] = await Promise.all([A, B].map(tokenOf));
  const lab = new Lab({ url, token: token ?? "", otherTenant: B, otherToken, query: QUERY, timeoutMs: 30_000 });
  try {
    return await runTricks(TRICKS, lab);
  } finally {
    lab.close();
  }
}

const hijackedBy = (findings: readonly Finding[]) =>
  findings.filter(({ verdict }) => verdict === "hijacked").map(({ trick }) => trick);

describe("the server as it is", () => {
  let subject: Subject;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "pgrcp-hijack-"));
    subject = await startSubject(issuer);
    await fill(subject);
    for (const tenant of [A, B]) await writeFile(join(folder, tenant), await tokenOf(tenant));
  });
  afterAll(async () => {
    await subject.call("close");
    await rm(folder, { recursive: true });
  });
  const run = (...more: readonly string[]) =>
    runCli(["hijack-test", "--url", subject.url, "--read-token-file", A, "--query", QUERY, ...more], folder);

  test("holds against every trick, each of which was tried", async () => {
    const findings = await findingsOn(subject);
    expect(findings.filter(({ verdict }) => verdict !== "held")).toEqual([]);
  });

  test("is found to hold from the command line, trick by trick, and no token is printed", async () => {
    const { code, stdout } = await run("--other-tenant", B, "--other-token-file", B);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^HELD +rcp +params\n +sent: +the other tenant as tenantId/m);
    expect(stdout).toMatch(/\d\d held, 0 hijacked, 0 no answer, 0 not tried, 0 not applicable\n$/);
    expect(stdout).not.toContain(await tokenOf(A).then((token) => token.slice(0, 20)));
  });

  test("without another tenant the code is 3, and what was not tried is said", async () => {
    const { code, stdout } = await run();
    expect(code).toBe(3);
    expect(stdout).toContain("not tried, because --other-tenant is not given");
    const { code: withName, stdout: named } = await run("--other-tenant", B);
    expect([withName, /not tried, because (.*)/.exec(named)?.[1]]).toEqual([0, "--other-token-file is not given"]);
  });

  test("a tenant is not tried against itself, nor with another's token that is dead or of a third", async () => {
    const codes = [];
    await writeFile(join(folder, "dead"), "e30.e30.e30");
    await writeFile(join(folder, "third"), await tokenOf("third"));
    for (const more of [
      ["--other-tenant", A],
      ["--other-tenant", B, "--other-token-file", A],
      ["--other-tenant", B, "--other-token-file", "third"],
      ["--other-tenant", B, "--other-token-file", "dead"],
    ])
      codes.push((await run(...more)).code);
    expect(codes).toEqual([2, 2, 2, 3]);
  });

  test("a server that is not there, and a token that is none, are told from one that holds", async () => {
    await writeFile(join(folder, "none"), "e30.e30.e30");
    const refused = await runCli(["hijack-test", "--url", subject.url, "--read-token-file", "none"], folder);
    expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining("HTTP 401")]);
    const away = await runCli(
      ["hijack-test", "--url", "http://127.0.0.1:9/rcp", "--read-token-file", A, "--other-tenant", B],
      folder,
    );
    expect([away.code, away.stderr]).toEqual([3, expect.stringContaining("no answer from")]);
  });
});

const patch = (file: string, find: string, replace: string): Patch => ({ file, find, replace, times: 1 });

describe("a server is found out", () => {
  const on = async (patches: readonly Patch[], prepare: (subject: Subject) => Promise<void> = async () => {}) => {
    const copy = await copySource(patches);
    const subject = await startSubject(issuer, copy.root);
    try {
      await fill(subject);
      await prepare(subject);
      return hijackedBy(await findingsOn(subject));
    } finally {
      await subject.call("close");
      await copy.remove();
    }
  };

  test("whose policies and predicates are gone together", async () => {
    const found = await on(mutantPatches(), async (subject) => {
      await subject.call(
        "removePredicates",
        predicateSites().map(({ site }) => site),
      );
      for (const table of ["chunks", "chunks_shared", "documents", "document_texts"])
        await subject.call("script", `alter table pgrcp.${table} disable row level security`);
    });
    expect(found).toContain("passages");
  });

  test("that takes the tenant from params", async () => {
    const claimed = "{ ...request.principal, tenantId: (call.params as any)?.tenantId ?? request.principal.tenantId }";
    expect(
      await on([
        patch(
          "src/rpc/ladder.ts",
          "const { principal } = request;\n  const session =",
          `const principal = ${claimed};\n  const session =`,
        ),
      ]),
    ).toContain("params");
  });

  test("whose sessions are anybody's who knows them", async () => {
    const found = await on(mutantPatches(), async (subject) => {
      const sites = predicateSites().filter(({ file }) => file === "sessions.ts");
      await subject.call(
        "removePredicates",
        sites.map(({ site }) => site),
      );
      await subject.call("script", "alter table pgrcp_state.sessions disable row level security");
    });
    expect(found).toEqual(["session, stolen"]);
  });

  test("that takes a session which it does not know", async () => {
    expect(
      await on([
        patch("src/rpc/ladder.ts", "if (isGated && isNeeded && session === undefined) throw notInitialized();", ""),
      ]),
    ).toEqual(expect.arrayContaining(["session, made up", "session, stolen"]));
  });

  test("that believes unsigned cursors", async () => {
    expect(
      await on([
        patch(
          "src/retrieval/pages.ts",
          "key === undefined || !isSigned(signed, { owner, corpus: corpus.name, plan }, key)",
          "key === undefined",
        ),
      ]),
    ).toEqual(expect.arrayContaining(["cursor, changed"]));
  });

  test("whose REST door does not compare tenantId", async () => {
    const compared = "whose.length === 1 && member(value, TENANT_PARAM.name) === tenantId";
    const found = await on([patch("src/adapters/rest-call.ts", compared, "true")]);
    expect(found).toEqual(expect.arrayContaining(["tenantId of another", "no tenantId", "two tenants"]));
  });

  test("of whose REST door one tool alone does not compare it", async () => {
    const compared = "whose.length === 1 && member(value, TENANT_PARAM.name) === tenantId";
    const found = await on([
      patch("src/adapters/rest-call.ts", compared, `tool.name === "get_document" || (${compared})`),
    ]);
    expect(found).toContain("tenantId of another");
  });

  test("whose MCP door gives a model a tenant to fill, and takes it", async () => {
    const query = 'query: { type: "string", description: "the question, in words" },';
    const found = await on([
      patch("src/adapters/mcp/search.ts", query, `${query} tenantId: { type: "string" },`),
      patch(
        "src/adapters/mcp/search.ts",
        'refuseOtherArguments(given, ["query",',
        'refuseOtherArguments(given, ["tenantId", "query",',
      ),
      patch(
        "src/adapters/mcp/search.ts",
        'const params = { query: member(given, "query"),',
        'const params = { tenantId: member(given, "tenantId"), query: member(given, "query"),',
      ),
      patch(
        "src/adapters/door-call.ts",
        "    principal,\n    sessionTokens",
        "    principal: { ...principal, tenantId: ((params as any).tenantId ?? principal.tenantId) },\n    sessionTokens",
      ),
    ]);
    expect(found).toEqual(expect.arrayContaining(["parameters", "arguments"]));
  });

  test("no server that fails, is busy or refuses to be asked has held against anything", async () => {
    for (const [status, body, verdict] of [
      [503, '{"jsonrpc":"2.0","id":1,"error":{"code":-32010,"message":"away","data":{"retryable":true}}}', "no answer"],
      [500, '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"failed"}}', "no answer"],
      [429, "", "no answer"],
      [502, "<html>", "no answer"],
      [401, "", "held"],
      [200, '{"jsonrpc":"2.0","id":1,"error":{"code":-32012,"message":"no"}}', "held"],
    ] as const)
      expect([status, refusal(answerOf(status, body)).verdict]).toEqual([status, verdict]);
  });
});
