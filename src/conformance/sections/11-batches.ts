import { isObject, type Params } from "../../protocol/params.ts";
import type { Client } from "../client.ts";
import { ensure, show } from "../outcome.ts";
import { check, clientRule, rule, section } from "../rule.ts";

const INVALID_REQUEST = -32600;
const OVERSIZED = [-32602, -32013];

/** Sends a batch that has at least one request. @returns its entries */
async function batch(client: Client, members: readonly unknown[]): Promise<readonly Params[]> {
  const { value } = await client.ask(members);
  ensure(Array.isArray(value), `a batch must be answered with an array, not with ${show(value)}`);
  return value.filter(isObject);
}

const codeOf = ({ error }: Params): unknown => (isObject(error) ? error.code : undefined);

export const batches = section(
  "11",
  "Batching",
  [
    rule("array", "MUST", "answer a batch with an array of one response for each request"),
    rule("empty", "MUST", "answer an empty batch with one -32600 under id null, in no array"),
    rule("notifications", "MUST", "leave notifications out, and answer a batch of nothing else with nothing"),
    rule(
      "malformed-member",
      "MUST",
      "answer a member that is no request with -32600 under id null, and the others as ever",
    ),
    rule("gating", "MUST", "gate members as single requests are gated"),
    clientRule("own-arrays", "SHOULD", "prefer the array params of embed and rerank to a batch"),
  ],
  [
    check("array", "each request of a batch has one response, under its own id", async (server) => {
      const client = await server.shared();
      const ids = [1, "two", 0, ""];
      const entries = await batch(
        client,
        ids.map((id) => client.request("ping", { nonce: id }, id)),
      );
      ensure(entries.length === ids.length, `${ids.length} requests have ${entries.length} responses`);
      for (const id of ids) {
        const own = entries.filter((entry) => entry.id === id);
        const [only] = own;
        ensure(
          own.length === 1 && isObject(only?.result) && only.result.nonce === id,
          `id ${show(id)} has ${show(own)}`,
        );
      }
    }),
    check("array", "a batch of one request is answered with an array of one", async (server) => {
      const client = await server.shared();
      const entries = await batch(client, [client.request("ping", {}, "only")]);
      ensure(entries.length === 1 && entries[0]?.id === "only", `a batch of one was answered with ${show(entries)}`);
    }),
    check("empty", "an empty batch is one -32600 under id null", async (server) => {
      const { value } = await (await server.shared()).ask([]);
      ensure(
        isObject(value) && value.id === null && codeOf(value) === INVALID_REQUEST,
        `an empty batch was answered with ${show(value)}`,
      );
    }),
    check("notifications", "a batch of notifications is not answered", async (server) => {
      const client = await server.shared();
      await client.tell([{ jsonrpc: "2.0", method: "ping" }]);
      await client.tell([
        { jsonrpc: "2.0", method: "notifications/cancel", params: { id: "never" } },
        { jsonrpc: "2.0", method: "notifications/rcp-conformance" },
      ]);
    }),
    check("notifications", "notifications among requests have no entry", async (server) => {
      const client = await server.shared();
      const entries = await batch(client, [
        { jsonrpc: "2.0", method: "ping" },
        client.request("ping", {}, "asked"),
        { jsonrpc: "2.0", method: "notifications/rcp-conformance" },
      ]);
      ensure(
        entries.length === 1 && entries[0]?.id === "asked",
        `one request and two notifications were answered with ${show(entries)}`,
      );
    }),
    check(
      "malformed-member",
      "members that are no requests each have a -32600 under id null; the others are answered",
      async (server) => {
        const client = await server.shared();
        const entries = await batch(client, [
          1,
          client.request("ping", {}, "first"),
          "text",
          null,
          [],
          {},
          client.request("ping", {}, "last"),
        ]);
        const malformed = entries.filter(({ id }) => id === null);
        ensure(
          malformed.length === 5 && malformed.every((entry) => codeOf(entry) === INVALID_REQUEST),
          `5 members are no requests; under id null came ${show(malformed)}`,
        );
        for (const id of ["first", "last"])
          ensure(
            entries.filter((entry) => entry.id === id && isObject(entry.result)).length === 1,
            `${id} was not answered beside what is no request`,
          );
      },
    ),
    check("malformed-member", "one member's error does not fail the others", async (server) => {
      const client = await server.shared();
      const entries = await batch(client, [
        client.request("rcp-conformance-no-such-method", {}, "bad"),
        client.request("ping", {}, "good"),
      ]);
      const of = (id: string) => entries.find((entry) => entry.id === id) ?? {};
      ensure(
        codeOf(of("bad")) === -32004 && isObject(of("good").result),
        `a bad and a good request were answered with ${show(entries)}`,
      );
    }),
    check("gating", "a batch before initialize is gated member by member", async (server) => {
      const client = server.open();
      const entries = await batch(client, [
        client.request("retrieve", { query: "x", k: 1 }, "gated"),
        client.request("ping", {}, "free"),
      ]);
      const of = (id: string) => entries.find((entry) => entry.id === id) ?? {};
      ensure(isObject(of("free").result), "ping in a batch before initialize was refused");
      ensure(
        codeOf(of("gated")) === -32001 || client.kind === "http",
        `retrieve before initialize was answered with ${show(of("gated"))}`,
      );
    }),
    check("array", "a batch of a hundred is answered whole, or refused as too large", async (server) => {
      const client = await server.shared();
      const ids = Array.from({ length: 100 }, (_, index) => `b${index}`);
      const { value } = await client.ask(ids.map((id) => client.request("ping", {}, id)));
      if (isObject(value))
        return ensure(OVERSIZED.includes(Number(codeOf(value))), `a batch of 100 was answered with ${show(value)}`);
      const entries = Array.isArray(value) ? value.filter(isObject) : [];
      ensure(
        new Set(entries.map(({ id }) => id)).size === ids.length && entries.length === ids.length,
        `100 requests have ${entries.length} responses`,
      );
    }),
  ],
);
