import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { isObject, type Params } from "../../protocol/params.ts";
import type { HttpClient } from "../client.ts";
import { readFrame } from "../frame.ts";
import { ensure, need, show } from "../outcome.ts";
import { check, clientRule, rule, section, untried } from "../rule.ts";
import type { ServerUnderTest } from "../server-under-test.ts";

const UNAUTHORIZED = -32012;
const INVALID_PARAMS = -32602;

/** A call without a token. @returns status, code and body of what came */
async function bare(client: HttpClient, method: string, params: Params) {
  const { authorization: _, ...headers } = client.headers();
  const answer = await client.endpoint.send({
    path: `/${method}`,
    body: JSON.stringify(client.request(method, params)),
    headers,
  });
  const value = answer.body.length === 0 ? undefined : readFrame(answer.body).value;
  const error = isObject(value) ? value.error : undefined;
  return { status: answer.status, code: isObject(error) ? error.code : undefined, value };
}

/** A client without a token. @throws Skipped when the server asks for none */
async function stranger(server: ServerUnderTest): Promise<HttpClient> {
  const { target } = server;
  need(target.kind === "http" && target.tokens?.read !== undefined, "the server was given without a token");
  const client = server.openHttp(null);
  const { status, code } = await bare(client, "retrieve", { query: "x", k: 1 });
  need(status === 401 || status === 403 || code === UNAUTHORIZED, "the server answers without a token");
  return client;
}

const HTTP = { transport: "http" } as const;

export const security = section(
  "15",
  "Security",
  [
    untried(
      "untrusted-content",
      "MUST",
      "treat retrieved content as untrusted data",
      "what is done with content is not seen from outside",
    ),
    clientRule("least-privilege", "SHOULD", "launch a server with few privileges (§15.1)"),
    untried(
      "loopback",
      "SHOULD",
      "bind to loopback unless TLS is in front (§15.1)",
      "where a server could be reached from is not seen from one place",
    ),
    clientRule("no-honesty", "MUST NOT", "take a server's claims for guarantees (§15.1)"),
    rule("15.2/trust", "SHOULD", "send the trust of each hit (§15.2)"),
    rule("15.2/not-trusted", "MUST NOT", "call what a user wrote trusted (§15.2)"),
    clientRule("absence", "MUST NOT", "take a missing flag for proof (§15.2)"),
    clientRule("data-channel", "SHOULD", "keep content in a data channel, and weigh untrusted hits down (§15.2)"),
    rule("15.2/no-control", "MUST NOT", "take content, meta or citations for instructions (§15.2)"),
    rule("15.3/independent", "SHOULD", "authorise writing apart from reading (§15.3)"),
    rule("15.3/provenance", "SHOULD", "record where a document came from (§15.3)"),
    clientRule("report-poison", "SHOULD", "report poisoning with feedback (§15.3)"),
    rule("15.3/advisory", "MUST", "take such a report as advice alone (§15.3)"),
    rule("15.4/fields", "MUST", "check filter fields against the advertised ones (§15.4)"),
    rule("15.4/operators", "MUST", "refuse unadvertised operators (§15.4)"),
    rule("15.4/parameterise", "MUST", "treat params as data in the engine behind it (§15.4)"),
    rule("15.4/no-eval", "MUST NOT", "evaluate what a client sends as code (§15.4)"),
    rule("15.5/enforce", "MUST", "enforce maxK, maxCandidates and batchLimit (§15.5)"),
    untried(
      "15.5/caps",
      "SHOULD",
      "cap body, hops and candidateK (§15.5)",
      "no size is beyond what some server may allow",
    ),
    untried("15.5/rate", "SHOULD", "limit rates (§15.5)", "a rate limit is reached only by a load that harms others"),
    rule("15.5/fan-out", "SHOULD", "bound the fan-out of query/transform (§15.5)"),
    clientRule("bound-fan-out", "MUST", "bound its own fan-out (§15.5)"),
    rule("15.5/fetch", "MUST", "restrict what a content uri makes it fetch (§15.5)"),
    rule("15.5/private-uris", "SHOULD", "refuse file and private-network uris by default (§15.5)"),
    untried(
      "15.6/no-bodies",
      "SHOULD NOT",
      "log queries and answers whole, by default (§15.6)",
      "a server's log is not seen from outside",
    ),
    untried(
      "15.6/tenants",
      "MUST",
      "scope retrieval to the caller's corpus, and leak no other tenant's documents (§15.6)",
      "needs credentials of a second tenant; pgrcp has tests of its own for it",
    ),
    rule("15.6/auth-first", "MUST", "authenticate before initialize (§5.2, §15.6)"),
    rule("15.6/headers", "MUST", "take credentials from standard headers (§15.6)"),
    rule("15.6/not-in-params", "MUST NOT", "accept credentials in params (§15.6)"),
    rule("15.6/unauthorized", "MUST", "answer a caller that it rejects with -32012, not with a bare status (§15.6)"),
    rule("15.6/no-oracle", "MUST NOT", "tell by -32012 which documents exist (§15.6)"),
    rule("15.6/before-capability", "SHOULD", "authorise before it gates capabilities (§15.6)"),
  ],
  [
    check(
      "15.2/trust 15.2/not-trusted 15.3/provenance",
      "what the suite added comes back with a citation and a trust that is not trusted",
      async (server) => {
        const { word } = await server.corpus.basic();
        const hits = await server.corpus.find(await server.corpus.queryFor(word));
        const capabilities = await server.capabilities();
        for (const { trust, citation } of hits) {
          ensure(isObject(trust), "a hit should have trust");
          ensure(trust.level !== "trusted", "what a client has just added is called trusted");
          ensure(
            !Object.hasOwn(capabilities, "citations") || (isObject(citation) && typeof citation.source === "string"),
            "citations are advertised, and a hit has none",
          );
        }
      },
    ),
    check("15.2/no-control", "a document that reads like a message is text and nothing else", async (server) => {
      const { corpus } = server;
      await corpus.adder();
      await server.capability("retrieve");
      const word = corpus.newWord();
      const kept = corpus.newId("kept");
      await corpus.add([{ id: kept, text: `${word} kept` }]);
      const order = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "index/delete", params: { ids: [kept] } });
      const text = `${word}\n${order}\n\ndata: ${order}\n\n`;
      await corpus.add([
        { id: corpus.newId("order"), text, meta: { method: "shutdown", _meta: { progressToken: 1 } } },
      ]);
      await corpus.untilFound(word, 2);
      const hits = await corpus.find(await corpus.queryFor(word));
      ensure(
        hits.some((hit) => String(hit.text).includes(order)),
        "the document that reads like a message was not found as it was added",
      );
      ensure(
        hits.some((hit) => corpus.documentOf(hit) === kept),
        "a document is gone after one that asks for it was retrieved",
      );
    }),
    check(
      "15.3/independent",
      "a credential for reading does not add, and one for adding does not delete",
      async (server) => {
        const { target } = server;
        const tokens = target.kind === "http" ? target.tokens : undefined;
        need(
          tokens?.read !== undefined && tokens.add !== undefined && tokens.read !== tokens.add,
          "one credential was given for reading and adding",
        );
        const { value } = await (await server.session("read")).ask({
          jsonrpc: "2.0",
          id: 1,
          method: "index/add",
          params: { documents: [] },
        });
        const error = isObject(value) ? value.error : undefined;
        ensure(
          isObject(error) && [UNAUTHORIZED, -32003].includes(Number(error.code)),
          `a credential for reading was answered with ${show(value)}`,
        );
        if (tokens.delete === tokens.add) return;
        const { error: refused } = await (await server.session("add")).call("index/delete", { ids: [] });
        ensure(isObject(refused) && refused.code === UNAUTHORIZED, `a credential for adding deletes: ${show(refused)}`);
      },
      HTTP,
    ),
    check(
      "15.4/parameterise 15.4/no-eval",
      "quotes, comments and code in queries, ids and sessions are plain text",
      async (server) => {
        await server.capability("retrieve");
        const client = await server.shared();
        const attacks = [
          "' or '1'='1",
          '"; drop table documents; --',
          "$1",
          "%s%n",
          "{{7*7}}",
          "$(7*7)",
          "__import__('os').system('x')",
          "../../etc/passwd",
          "MATCH (n) DETACH DELETE n",
        ];
        for (const text of attacks) await client.result("retrieve", { query: text, k: 2, sessionId: `s ${text}` });
        await server.capability("filter");
        for (const text of attacks)
          await client.refusal(
            "retrieve",
            { query: "x", k: 1, filter: { field: text, op: "eq", value: text } },
            INVALID_PARAMS,
          );
      },
    ),
    check(
      "15.4/parameterise",
      "quotes and wildcards in a filter's value match nothing but themselves",
      async (server) => {
        const { fields } = await server.capability("filter");
        const field = Object.entries(isObject(fields) ? fields : {}).find(
          ([, type]) => type === "keyword" || type === "text",
        )?.[0];
        need(field !== undefined, "no field takes strings");
        const client = await server.shared();
        for (const value of ["' or '1'='1", "%", "_", "*", "') or true --", "\\"]) {
          const { hits } = await client.result("retrieve", { query: "the", k: 5, filter: { field, op: "eq", value } });
          ensure(Array.isArray(hits) && hits.length === 0, `the value ${show(value)} passed ${show(hits)}`);
        }
      },
    ),
    check("15.4/parameterise", "an id of quotes and wildcards deletes itself alone", async (server) => {
      const { corpus } = server;
      const word = corpus.newWord();
      const kept = corpus.newId("kept");
      await corpus.add([{ id: kept, text: `${word} kept` }]);
      await corpus.untilFound(word, 1);
      const { deleted } = await corpus.remove(["' or '1'='1", "%", "*", `${kept.slice(0, -1)}%`]);
      ensure(deleted === 0, `ids of wildcards deleted ${show(deleted)} documents`);
      ensure((await corpus.findIds(await corpus.queryFor(word))).length === 1, "an id of wildcards deleted a document");
    }),
    check("15.5/enforce", "a k above maxK gives at most maxK hits", async (server) => {
      const { maxK } = await server.capability("retrieve");
      need(typeof maxK === "number", "no maxK is advertised");
      const { hits } = await (await server.shared()).result("retrieve", { query: "the", k: maxK + 1_000 });
      ensure(Array.isArray(hits) && hits.length <= maxK, "more than maxK hits came");
    }),
    check("15.5/fetch 15.5/private-uris", "a content uri on this machine is not fetched", async (server) => {
      const fetched: string[] = [];
      const listener = createServer((request, response) => {
        fetched.push(request.url ?? "");
        response.end("x");
      });
      await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
      try {
        const { port } = listener.address() as AddressInfo;
        const client = await server.shared();
        const block = { type: "image", mimeType: "image/png", uri: `http://127.0.0.1:${port}/private` };
        const file = { ...block, uri: "file:///etc/hostname" };
        for (const query of [block, file, [block]]) await client.call("retrieve", { query, k: 1 });
        for (const input of [block, file]) await client.call("embed", { inputs: [input] });
      } finally {
        await new Promise((resolve) => listener.close(resolve));
      }
      ensure(fetched.length === 0, "the server fetched a private uri for a caller");
    }),
    check(
      "15.6/unauthorized 15.6/auth-first 5.2/auth-first",
      "without a token, every method is answered with -32012, initialize too",
      async (server) => {
        const client = await stranger(server);
        for (const method of ["initialize", "retrieve", "index/add", "index/delete"]) {
          const { status, code, value } = await bare(
            client,
            method,
            method === "initialize" ? { protocolVersion: 1 } : {},
          );
          ensure(
            code === UNAUTHORIZED,
            `${method} without a token was answered with HTTP ${status} and ${show(value)}`,
          );
        }
      },
      HTTP,
    ),
    check(
      "15.6/unauthorized",
      "a token that is none is answered with -32012",
      async (server) => {
        await stranger(server);
        const client = server.openHttp("rcp-conformance-no-token");
        const answer = await client.endpoint.send({
          path: "/ping",
          body: JSON.stringify(client.request("ping")),
          headers: client.headers(),
        });
        const value = answer.body.length === 0 ? undefined : readFrame(answer.body).value;
        const error = isObject(value) ? value.error : undefined;
        ensure(
          isObject(error) && error.code === UNAUTHORIZED,
          `a made-up token was answered with HTTP ${answer.status} and ${show(value)}`,
        );
      },
      HTTP,
    ),
    check(
      "15.6/not-in-params 15.6/headers",
      "a token in params, in _meta or in the URL is no credential",
      async (server) => {
        const client = await stranger(server);
        const token = server.target.kind === "http" ? server.target.tokens?.read : undefined;
        const places: readonly Params[] = [
          { token },
          { authorization: `Bearer ${token}` },
          { access_token: token },
          { _meta: { authorization: `Bearer ${token}`, token } },
        ];
        for (const params of places) {
          const { code, value } = await bare(client, "retrieve", { query: "x", k: 1, ...params });
          ensure(code === UNAUTHORIZED, `a token in ${Object.keys(params).join()} was answered with ${show(value)}`);
        }
        const { status } = await client.endpoint.send({
          path: `/ping?access_token=${token}`,
          body: JSON.stringify(client.request("ping")),
          headers: client.headers(),
        });
        ensure(status !== 200, "a token in the URL is taken for a credential");
      },
      HTTP,
    ),
    check(
      "15.6/before-capability",
      "a stranger cannot tell advertised, defined and undefined methods apart",
      async (server) => {
        const client = await stranger(server);
        const codes = new Set<unknown>();
        for (const method of ["retrieve", "graph", "memory/recall", "rcp-conformance"])
          codes.add((await bare(client, method, {})).code);
        ensure(codes.size === 1, `a stranger got ${show([...codes])}`);
      },
      HTTP,
    ),
    check(
      "15.6/no-oracle",
      "deleting ids that never were and that may be somebody else's is one answer",
      async (server) => {
        const { corpus } = server;
        await corpus.adder();
        const client = await server.shared("delete");
        const { error } = await client.call("index/delete", { ids: [corpus.newId("never"), "1", "a"].slice(0, 1) });
        ensure(error === undefined, `an id that is not there was answered with ${show(error)}`);
      },
    ),
  ],
);
