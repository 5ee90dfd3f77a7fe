import { expect, test } from "vitest";
import { federate } from "../../../src/client/federation/federation.ts";
import { nextHops } from "../../../src/client/federation/hops.ts";

const ENGINE = { id: "docs", transport: "http", url: "https://h.example/rcp", priority: 3, weight: 2, required: true };
const made =
  (engine: object, tokens = {}) =>
  () =>
    federate({ engines: [{ ...ENGINE, ...engine }] }, { tokens });

test("a registry of the protocol's shape makes a client for each engine", () => {
  const federation = federate(
    { $schema: "x", engines: [ENGINE, { id: "web", url: "http://127.0.0.1:1/rcp", token: "read", deadlineMs: 500 }] },
    { tokens: { read: "t" } },
  );
  expect([...federation.clients.keys()]).toEqual(["docs", "web"]);
});

test.each([
  ["engines", {}],
  ["engines", { engines: [] }],
  ["engines", undefined],
  ["engines[0]", { engines: ["docs"] }],
  ["engines[1].id", { engines: [ENGINE, ENGINE] }],
])("a registry without usable %s is refused by that name", (place, registry) => {
  expect(() => federate(registry)).toThrow(new RegExp(`^${place.replace(/[[\].]/g, "\\$&")} must be`));
});

test.each([
  ["id", { id: "with space" }],
  ["id", { id: undefined }],
  ["id", { id: "__proto__" }],
  ["url", { url: undefined }],
  ["url", { url: "https://h.example/api?key=SECRET" }],
  ["url", { url: "http://h.example/rcp", token: "read" }],
  ["transport", { transport: "stdio" }],
  ["corpus", { corpus: 7 }],
  ["token", { token: "SECRET" }],
  ["token", { token: "toString" }],
  ["token", { token: "empty" }],
  ["weight", { weight: 0 }],
  ["weight", { weight: Infinity }],
  ["required", { required: "yes" }],
  ["deadlineMs", { deadlineMs: 0.5 }],
])("a wrong %s is refused with its place and without its value", (name, engine) => {
  const make = made(engine, { read: "t", empty: "" });
  expect(make).toThrow(TypeError);
  expect(make).toThrow(`engines[0].${name}`);
  expect(make).not.toThrow(/SECRET|stdio|yes/);
});

test("a member that means nothing is refused, because it is a misspelt one", () => {
  expect(made({ requird: true })).toThrow(/^member 7 of engines\[0\] is none of id, url,/);
});

test.each([{ identity: "a b" }, { hopBudget: 0 }, { concurrency: 1.5 }, { rrfK: -1 }, { fusion: "best" as "rrf" }])(
  "options that make no sense are refused: %j",
  (options) => {
    expect(() => federate({ engines: [ENGINE] }, options)).toThrow(`${Object.keys(options)[0]} must be`);
  },
);

test("§16.2 a request that begins at a client has the whole budget and no path; an aggregator names itself", () => {
  expect(nextHops(undefined, undefined, 3)).toEqual({ depth: 3, path: [] });
  expect(nextHops(null, "gate", 3)).toEqual({ depth: 3, path: ["gate"] });
});

test("§16.2 one that is passed on has a hop less, never more than the own budget, and this aggregator in its path", () => {
  expect(nextHops({ depth: 3, path: ["a"] }, "gate", 3)).toEqual({ depth: 2, path: ["a", "gate"] });
  expect(nextHops({ depth: 1e9, path: [] }, "gate", 3)).toEqual({ depth: 3, path: ["gate"] });
});

test.each([
  ["came through here", { depth: 3, path: ["gate"] }, -32010],
  ["has one hop left, which brought it here", { depth: 1, path: ["a"] }, -32010],
  ["has less than no hop left", { depth: -1, path: ["x"] }, -32010],
  ["has no depth", { path: [] }, -32602],
  ["has no path", { depth: 2 }, -32602],
  ["has a path of other things", { depth: 2, path: [{}] }, -32602],
  ["has a path without end", { depth: 2, path: Array(33).fill("a") }, -32602],
  ["is no object", 5, -32602],
])("§16.2 a request that %s goes no further", (_, received, code) => {
  expect(() => nextHops(received, "gate", 3)).toThrow(expect.objectContaining({ name: "FederationError", code }));
});
