import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { isObject } from "../../protocol/params.ts";
import { ensure, need, show } from "../outcome.ts";
import { check, clientRule, rule, section, untried } from "../rule.ts";

const UNAUTHORIZED = -32012;
const INVALID_PARAMS = -32602;

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
  ],
);
