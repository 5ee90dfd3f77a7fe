import { describe, expect, test } from "vitest";
import { readTarget } from "../../src/http/target.ts";

const rcp = (corpus: string, method?: string) => ({
  kind: "rcp",
  path: { corpus, method },
  base: corpus === "default" ? "/rcp" : `/corpora/${corpus}/rcp`,
});

describe("readTarget", () => {
  test.each([
    ["/rcp", rcp("default")],
    ["/rcp?x=/rcp/ping", rcp("default")],
    ["/rcp/", rcp("default", "")],
    ["/rcp/ping", rcp("default", "ping")],
    ["/rcp/index/add", rcp("default", "index/add")],
    ["/rcp//ping", rcp("default", "/ping")],
    ["/rcp/%70ing", rcp("default", "%70ing")],
    ["/rcp/x/../ping", rcp("default", "x/../ping")],
    ["/rcp/ping;a=b", rcp("default", "ping;a=b")],
    ["/corpora/docs-2/rcp", rcp("docs-2")],
    ["/corpora/docs-2/rcp/retrieve", rcp("docs-2", "retrieve")],
    [`/corpora/${"a".repeat(63)}/rcp`, rcp("a".repeat(63))],
    ["http://elsewhere.test/rcp/ping", rcp("default", "ping")],
    ["HTTPS://elsewhere.test:1/rcp/ping", rcp("default", "ping")],
    ["/healthz", { kind: "healthz" }],
    ["/readyz?now", { kind: "readyz" }],
    ["/.well-known/oauth-protected-resource", { kind: "metadata", suffix: "" }],
    ["/.well-known/oauth-protected-resource/rcp?x", { kind: "metadata", suffix: "/rcp" }],
    ["/.well-known/oauth-protected-resourcerer", { kind: "unknown" }],
    ["/.well-known/openid-configuration", { kind: "unknown" }],
    ["/manifest", { kind: "manifest", corpus: "default", base: "" }],
    ["/corpora/docs/manifest?x", { kind: "manifest", corpus: "docs", base: "/corpora/docs" }],
    ["/v1/retrieve", { kind: "tool", corpus: "default", name: "retrieve", query: "" }],
    ["/corpora/docs/v1/a/b?x=1?y&z", { kind: "tool", corpus: "docs", name: "a/b", query: "x=1?y&z" }],
    ["/rcp/%zz", { kind: "malformed" }],
    ["/%ff", { kind: "malformed" }],
    ["", { kind: "unknown" }],
    ["/", { kind: "unknown" }],
    ["*", { kind: "unknown" }],
    ["//rcp/ping", { kind: "unknown" }],
    ["/rcpping", { kind: "unknown" }],
    ["/RCP/ping", { kind: "unknown" }],
    ["/%72cp/ping", { kind: "unknown" }],
    ["/healthz/", { kind: "unknown" }],
    ["/manifest/", { kind: "unknown" }],
    ["//manifest", { kind: "unknown" }],
    ["/v1", { kind: "unknown" }],
    ["/corpora/v1/retrieve", { kind: "unknown" }],
    ["/corpora/docs/corpora/docs/rcp", { kind: "unknown" }],
    ["/corpora//rcp", { kind: "unknown" }],
    ["/corpora/rcp", { kind: "unknown" }],
    ["/corpora/Docs/rcp", { kind: "unknown" }],
    ["/corpora/-docs/rcp", { kind: "unknown" }],
    ["/corpora/a%2Fb/rcp", { kind: "unknown" }],
    ["/corpora/a/b/rcp", { kind: "unknown" }],
    [`/corpora/${"a".repeat(64)}/rcp`, { kind: "unknown" }],
    ["ftp://elsewhere.test/rcp", { kind: "unknown" }],
  ])("%s", (target, expected) => {
    expect(readTarget(target)).toEqual(expected);
  });
});
