import fc from "fast-check";
import { oddName, oddText, oddValue } from "./odd-values.ts";
import { type Names, validCall } from "./valid-calls.ts";
import { Members, type Place, placesIn, RawText, treeOf, writeTree } from "./wire-text.ts";

/** Requests of which something is wrong, from the message in the body to the bytes of the head. */

export interface FuzzRequest {
  readonly verb: string;
  readonly path: string;
  readonly headers: readonly (readonly [string, string])[];
  /** A byte a character, so that a failure can be read. */
  readonly body: string;
}

interface Mutation {
  readonly kind: "replace" | "remove" | "twice" | "rename" | "add" | "wrap" | "swap";
  readonly at: number;
  readonly value: unknown;
  readonly name: string;
}

const mutation: fc.Arbitrary<Mutation> = fc.record({
  kind: fc.constantFrom("replace", "replace", "replace", "remove", "twice", "rename", "add", "wrap", "swap"),
  at: fc.nat(),
  value: oddValue,
  name: oddName,
});

function mutate(tree: unknown, mutations: readonly Mutation[]): unknown {
  for (const one of mutations) {
    const places = placesIn(tree);
    const place = places[one.at % Math.max(places.length, 1)];
    if (place !== undefined) apply(place, one, places[(one.at * 7) % places.length]);
  }
  return tree;
}

function apply({ parent, index }: Place, { kind, value, name }: Mutation, other: Place | undefined): void {
  const list: unknown[] = parent instanceof Members ? parent.list : parent;
  const inside = parent instanceof Members ? parent.list[index]?.[1] : parent[index];
  const own = parent instanceof Members ? (parent.list[index]?.[0] ?? "") : "";
  const put = (value: unknown, as = own) => (parent instanceof Members ? ([as, value] as const) : value);
  if (kind === "replace") list[index] = put(treeOf(value));
  if (kind === "remove") list.splice(index, 1);
  if (kind === "twice") list.splice(index, 0, put(treeOf(value)));
  if (kind === "rename") list[index] = put(inside, name);
  if (kind === "add") list.push(put(treeOf(value), name));
  if (kind === "wrap") list[index] = put([inside]);
  // As text, for a tree that is put into itself has no end.
  if (kind === "swap" && other?.parent instanceof Members)
    list[index] = put(new RawText(writeTree(other.parent.list[other.index]?.[1])));
}

/** Bytes that are changed, lost, doubled or foreign to UTF-8. */
const garbled = fc.array(fc.record({ at: fc.nat(), cut: fc.boolean(), bytes: fc.uint8Array({ maxLength: 4 }) }), {
  minLength: 1,
  maxLength: 3,
});

function garble(text: string, changes: readonly { at: number; cut: boolean; bytes: Uint8Array }[]): string {
  let bytes = Buffer.from(text);
  for (const { at, cut, bytes: put } of changes) {
    const where = at % (bytes.length + 1);
    bytes = Buffer.concat([bytes.subarray(0, where), put, cut ? Buffer.of() : bytes.subarray(where)]);
  }
  return bytes.toString("latin1");
}

const HEADERS: readonly (readonly [string, string])[] = [
  ["content-type", "text/plain"],
  ["content-type", "application/json; charset=utf-16"],
  ["content-type", "multipart/form-data"],
  ["content-encoding", "gzip"],
  ["content-encoding", "identity"],
  ["accept", "text/event-stream"],
  ["accept", "*/*, text/event-stream;q=0"],
  ["accept", ",,;q="],
  ["transfer-encoding", "chunked"],
  ["content-length", "-1"],
  ["expect", "100-continue"],
  ["upgrade", "websocket"],
  ["connection", "upgrade"],
  ["x-forwarded-for", "10.0.0.1"],
  ["x-tenant-id", "globex"],
  ["origin", "https://evil.example"],
  ["authorization", "Bearer x"],
  ["authorization", "Basic eDp5"],
  ["rcp-session", "A".repeat(43)],
  ["rcp-session", "\u00ff\u0001"],
  ["bad header", "x"],
  ["x", "a\r\n b"],
  ["x".repeat(9_000), "x"],
];

const PATHS = [
  ..."/rcp/../rcp/ping /rcp//ping /RCP/ping /rcp/ping/ /rcp/retrieve%00 /rcp/%72etrieve /rcp/index%2Fadd /corpora/nope/rcp/retrieve".split(
    " ",
  ),
  ..."/corpora/__proto__/rcp/retrieve /corpora//rcp /corpora/a/b/rcp/ping /healthz /readyz /metrics /.well-known/oauth-protected-resource".split(
    " ",
  ),
  ..."/ * /%ff /rcp?tenant=globex /rcp/retrieve#x http://evil.example/rcp/ping //evil/rcp /etc/passwd /rcp/constructor".split(
    " ",
  ),
];

/** What callers hold that is not in the body. */
export interface Held {
  readonly tokens: readonly string[];
  readonly sessions: readonly string[];
}

/** Requests of which most are wrong somewhere, and some are as a client sends them. */
export function fuzzRequest(names: Names, { tokens, sessions }: Held): fc.Arbitrary<FuzzRequest> {
  const one = fc
    .tuple(validCall(names), fc.array(mutation, { minLength: 1, maxLength: 4 }))
    .map(([{ method, message }, mutations]) => ({ method, text: writeTree(mutate(treeOf(message), mutations)) }));
  const intact = validCall(names).map(({ method, message }) => ({ method, text: writeTree(treeOf(message)) }));
  const batch = fc
    .array(fc.oneof({ weight: 3, arbitrary: one }, { weight: 1, arbitrary: intact }), { maxLength: 6 })
    .map((list) => ({ method: undefined, text: `[${list.map(({ text }) => text).join(",")}]` }));
  const message = fc.oneof(
    { weight: 7, arbitrary: one },
    { weight: 1, arbitrary: batch },
    { weight: 1, arbitrary: intact },
  );
  const body = fc.oneof(
    { weight: 9, arbitrary: message.map((of) => ({ ...of, bytes: Buffer.from(of.text).toString("latin1") })) },
    {
      weight: 1,
      arbitrary: fc.tuple(message, garbled).map(([of, changes]) => ({ ...of, bytes: garble(of.text, changes) })),
    },
  );
  const path = fc.oneof(
    { weight: 14, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom(...PATHS) },
    { weight: 1, arbitrary: oddText.map((text) => `/rcp/${encodeURI(text.toWellFormed())}`) },
  );
  const extra = fc.oneof(
    { weight: 12, arbitrary: fc.constant([]) },
    { weight: 3, arbitrary: fc.constant([["accept", "text/event-stream"]] as const) },
    { weight: 2, arbitrary: fc.array(fc.constantFrom(...HEADERS), { minLength: 1, maxLength: 3 }) },
  );
  const session = fc.oneof(
    { weight: 4, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.constantFrom(...sessions).map((one) => [["rcp-session", one]] as const) },
  );
  const verb = fc.oneof(
    { weight: 30, arbitrary: fc.constant("POST") },
    {
      weight: 1,
      arbitrary: fc.constantFrom("GET", "PUT", "DELETE", "OPTIONS", "HEAD", "TRACE", "CONNECT", "PRI", "post"),
    },
  );
  return fc.record({ body, path, extra, session, verb, token: fc.constantFrom(...tokens) }).map((of) => ({
    verb: of.verb,
    path: of.path ?? (of.body.method === undefined ? "/rcp" : `/rcp/${of.body.method}`),
    headers: [
      ["authorization", `Bearer ${of.token}`],
      ["content-type", "application/json"],
      ...of.session,
      ...of.extra,
    ],
    body: of.body.bytes,
  }));
}

/** A retrieve whose filter is valid, or nearly. */
export function fuzzFilter(filter: fc.Arbitrary<unknown>, token: string): fc.Arbitrary<FuzzRequest> {
  return fc
    .tuple(filter, fc.array(mutation, { maxLength: 2 }), fc.constantFrom("dense", "sparse", "hybrid"))
    .map(([value, mutations, mode]) => {
      const tree = mutate([treeOf(value)], mutations);
      const text = writeTree(Array.isArray(tree) && tree.length > 0 ? tree[0] : null);
      return {
        verb: "POST",
        path: "/rcp/retrieve",
        headers: [
          ["authorization", `Bearer ${token}`],
          ["content-type", "application/json"],
        ],
        body: Buffer.from(
          `{"jsonrpc":"2.0","id":1,"method":"retrieve","params":{"query":"amber","k":5,"mode":"${mode}","filter":${text}}}`,
        ).toString("latin1"),
      };
    });
}
