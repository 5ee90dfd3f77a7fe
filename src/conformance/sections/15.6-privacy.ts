import { isObject, type Params } from "../../protocol/params.ts";
import { readFrame } from "../frame.ts";
import type { HttpClient } from "../http-client.ts";
import { ensure, need, show } from "../outcome.ts";
import { check, rule, section, untried } from "../rule.ts";
import type { ServerUnderTest } from "../server-under-test.ts";

const UNAUTHORIZED = -32012;

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

export const privacy = section(
  "15.6",
  "Data protection and privacy",
  [
    untried(
      "no-bodies",
      "SHOULD NOT",
      "log queries and answers whole, by default",
      "a server's log is not seen from outside",
    ),
    untried(
      "tenants",
      "MUST",
      "scope retrieval to the caller's corpus, and leak no other tenant's documents",
      "needs credentials of a second tenant; pgrcp has tests of its own for it",
    ),
    rule("auth-first", "MUST", "authenticate before initialize (§5.2)"),
    rule("headers", "MUST", "take credentials from standard headers"),
    rule("not-in-params", "MUST NOT", "accept credentials in params"),
    rule("unauthorized", "MUST", "answer a caller that it rejects with -32012, not with a bare status"),
    rule("no-oracle", "MUST NOT", "tell by -32012 which documents exist"),
    rule("before-capability", "SHOULD", "authorise before it gates capabilities"),
  ],
  [
    check(
      "unauthorized auth-first 5.2/auth-first",
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
      "unauthorized",
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
      "not-in-params headers",
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
      "before-capability",
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
    check("no-oracle", "deleting an id that never was is no -32012, which would tell what is there", async (server) => {
      const { corpus } = server;
      await corpus.adder();
      const { deleted } = await corpus.remove([corpus.newId("never")]);
      ensure(deleted === 0, `an id that never was counts ${show(deleted)}`);
    }),
  ],
);
