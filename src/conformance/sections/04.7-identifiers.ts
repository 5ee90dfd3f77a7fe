import { isObject } from "../../protocol/params.ts";
import type { Client } from "../client.ts";
import type { Frame } from "../frame.ts";
import { ensure, need, show } from "../outcome.ts";
import { check, clientRule, rule, section } from "../rule.ts";

const INVALID_REQUEST = -32600;

const IDS: readonly (string | number)[] = [
  0,
  1,
  -1,
  1.5,
  -0.25,
  2 ** 53 - 1,
  -(2 ** 53 - 1),
  "",
  "0",
  "a string",
  "1.5",
  "null",
  'quote " backslash \\ newline \n',
  "идентификатор 识别码 🆔",
  "x".repeat(1_000),
];

/** Ids as they are written, which a double cannot hold exactly. */
const BEYOND_DOUBLE = ["9007199254740993", "12345678901234567891", "1e400"];

const idOf = ({ value }: Frame): unknown => (isObject(value) ? value.id : undefined);

async function echo(client: Client, id: string | number, method: string): Promise<void> {
  const answer = await client.ask(client.request(method, {}, id));
  ensure(idOf(answer) === id, `id ${show(id)} came back as ${show(idOf(answer))} from ${method}`);
}

export const identifiers = section(
  "4.7",
  "Identifiers, concurrency and limits",
  [
    clientRule("id-unique", "MUST", "use no id twice among requests that are in flight"),
    rule("echo-id", "MUST", "echo an id unchanged, with its type and value"),
    rule("null-id", "MUST NOT", "be sent a request with a null id; one is no request"),
    clientRule("correlate", "MUST", "match responses by id, not by order"),
    clientRule("initialize-first", "MUST NOT", "send another request before initialize is answered"),
    rule("concurrent", "MUST", "answer each of several requests in flight under its own id"),
    rule("advertise-limits", "SHOULD", "advertise retrieve.maxK, rerank.maxCandidates and embed.batchLimit"),
    rule("enforce-limits", "SHOULD", "refuse what exceeds an advertised limit, or shed load"),
    clientRule("pre-clamp", "SHOULD", "treat advertised limits as authoritative"),
  ],
  [
    check(
      "echo-id",
      "ids come back with their type and value: 0, the empty string, fractions, Unicode, long strings",
      async (server) => {
        const client = await server.shared();
        for (const id of IDS) await echo(client, id, "ping");
      },
    ),
    check("echo-id", "an error comes under the id of its request", async (server) => {
      const client = await server.shared();
      for (const id of [0, "", 1.5, "ß"]) await echo(client, id, "rcp-conformance-no-such-method");
    }),
    check(
      "echo-id",
      "an id that a double cannot hold is echoed digit for digit or refused, never changed",
      async (server) => {
        const client = await server.shared();
        for (const id of BEYOND_DOUBLE) {
          const { text, value } = await client.ask(`{"jsonrpc":"2.0","id":${id},"method":"ping","params":{}}`, {
            path: "/ping",
          });
          const isExact = new RegExp(`"id"\\s*:\\s*${id.replace("+", "\\+")}\\s*[,}]`).test(text);
          const isRefused = isObject(value) && value.id === null && isObject(value.error);
          ensure(isExact || isRefused, `id ${id} was answered as ${show(text)}`);
        }
      },
    ),
    check("null-id", "a request with a null id is refused with -32600 under id null", async (server) => {
      const client = await server.shared();
      const { value } = await client.ask({ jsonrpc: "2.0", id: null, method: "ping", params: {} });
      const error = isObject(value) ? value.error : undefined;
      ensure(
        isObject(value) && value.id === null && isObject(error) && error.code === INVALID_REQUEST,
        `a null id must be refused with ${INVALID_REQUEST}, not answered with ${show(value)}`,
      );
    }),
    check("concurrent", "many requests at once are answered once each, under their own ids", async (server) => {
      const client = await server.shared();
      const ids = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? index : `${index}`));
      const messages = ids.map((id, index) =>
        client.request(index % 3 === 0 ? "info" : "ping", index % 3 === 0 ? {} : { nonce: index }, id),
      );
      const { frames } = await client.exchange(messages, ids.length);
      for (const [index, id] of ids.entries()) {
        const mine = frames.filter((frame) => idOf(frame) === id);
        ensure(mine.length === 1, `id ${show(id)} was answered ${mine.length} times`);
        const [only] = mine;
        const result = isObject(only?.value) ? only.value.result : undefined;
        const isRight = isObject(result) && (index % 3 === 0 ? isObject(result.capabilities) : result.nonce === index);
        ensure(isRight, `id ${show(id)} has the answer of another request`);
      }
    }),
    check("concurrent", '1 and "1" in flight together are two requests', async (server) => {
      const client = await server.shared();
      const { frames } = await client.exchange(
        [client.request("ping", { nonce: "number" }, 1), client.request("ping", { nonce: "string" }, "1")],
        2,
      );
      for (const id of [1, "1"]) {
        const own = frames.find((frame) => idOf(frame) === id)?.value;
        const nonce = isObject(own) && isObject(own.result) ? own.result.nonce : undefined;
        ensure(nonce === typeof id, `id ${show(id)} was answered with nonce ${show(nonce)}`);
      }
    }),
    check(
      "advertise-limits",
      "maxK, maxCandidates and batchLimit are advertised with what they bound",
      async (server) => {
        const capabilities = await server.capabilities();
        const limits = [
          ["retrieve", "maxK"],
          ["rerank", "maxCandidates"],
          ["embed", "batchLimit"],
        ] as const;
        const missing = limits.filter(
          ([key, limit]) => isObject(capabilities[key]) && !Object.hasOwn(capabilities[key], limit),
        );
        ensure(missing.length === 0, `${missing.map((path) => path.join(".")).join(", ")} should be advertised`);
      },
    ),
    check("enforce-limits 15.5/enforce", "a batch of inputs over embed.batchLimit is refused", async (server) => {
      const { batchLimit } = await server.capability("embed");
      need(typeof batchLimit === "number" && batchLimit <= 5_000, "no batchLimit that can be passed with little");
      const client = await server.shared();
      const inputs = Array.from({ length: batchLimit + 1 }, () => "x");
      await client.refusal("embed", { inputs }, -32602, -32011, -32013);
    }),
    check("enforce-limits 15.5/enforce", "more passages than rerank.maxCandidates are refused", async (server) => {
      const { maxCandidates } = await server.capability("rerank");
      need(
        typeof maxCandidates === "number" && maxCandidates <= 5_000,
        "no maxCandidates that can be passed with little",
      );
      const client = await server.shared();
      const passages = Array.from({ length: maxCandidates + 1 }, () => "x");
      await client.refusal("rerank", { query: "x", passages }, -32602, -32011, -32013);
    }),
  ],
);
