import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { configSchema } from "../../src/config/config.ts";
import { resourceMetadata } from "../../src/http/resource-metadata.ts";
import type { RawRequest } from "../support/raw-http.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";

const WELL_KNOWN = "/.well-known/oauth-protected-resource";
const PUBLIC = "https://rcp.example.org";
const ORIGIN = "https://app.example.org";
const FOUND = {
  resource: `${PUBLIC}/rcp`,
  authorization_servers: ["https://issuer.test"],
  scopes_supported: ["rcp:read", "rcp:index.add", "rcp:index.delete"],
  bearer_methods_supported: ["header"],
  resource_name: "pgrcp",
};

let server: RcpServer;
let unnamed: RcpServer;
let open: RcpServer;
beforeAll(async () => {
  server = await startRcpServer({ config: { server: { publicUrl: `${PUBLIC}/` } } });
  open = await startRcpServer({ config: { server: { publicUrl: PUBLIC }, cors: { origins: [ORIGIN] } } });
  unnamed = await startRcpServer();
});
afterAll(() => Promise.all([server.close(), unnamed.close(), open.close()]));

const get = (path: string, request: Partial<RawRequest> = {}) => server.send({ method: "GET", path, ...request });

describe("RFC 9728 §3, protected resource metadata", () => {
  test("is read without a token, and is of the default corpus where only the host is known", async () => {
    const { status, headers, body } = await get(WELL_KNOWN);

    expect(status).toBe(200);
    expect(headers).toMatchObject({ "content-type": "application/json", "cache-control": "no-store" });
    expect(body).toEqual(FOUND);
  });

  test.each(["/rcp", "/corpora/docs/rcp", "/corpora/default/rcp"])(
    "§3.3: names as the resource %s the address that its own was made from",
    async (base) => {
      expect((await get(`${WELL_KNOWN}${base}`)).body).toEqual({ ...FOUND, resource: `${PUBLIC}${base}` });
    },
  );

  test.each(["/mcp", "/corpora/docs/mcp"])("names of the MCP door %s the scope for reading alone", async (base) => {
    const resource = `${PUBLIC}${base}`;
    expect((await get(`${WELL_KNOWN}${base}`)).body).toEqual({ ...FOUND, resource, scopes_supported: ["rcp:read"] });
  });

  test.each([
    "/",
    "/rcp/",
    "/rcp/retrieve",
    "/corpora/Docs/rcp",
    "/corpora/rcp",
    "//rcp",
    "/mcp/",
    "/corpora/Docs/mcp",
  ])("is not at %s, where no resource is", async (suffix) => {
    for (const method of ["GET", "POST", "OPTIONS"]) {
      expect(await get(`${WELL_KNOWN}${suffix}`, { method })).toMatchObject({ status: 404, text: "" });
    }
  });

  test.each([
    ["HEAD", 200, undefined],
    ["OPTIONS", 204, "GET, HEAD"],
    ["POST", 405, "GET, HEAD"],
    ["PUT", 405, "GET, HEAD"],
    ["DELETE", 405, "GET, HEAD"],
  ])("answers %s with %i and no body", async (method, status, allow) => {
    const answer = await get(WELL_KNOWN, { method });

    expect([answer.status, answer.headers.allow, answer.text]).toEqual([status, allow, ""]);
  });

  test("can be read by the page of a listed origin alone", async () => {
    const from = async (origin: string) => {
      const request = { method: "GET", path: WELL_KNOWN, headers: [["origin", origin]] } as const;
      const { body, headers } = await open.send(request);
      return [body, headers["access-control-allow-origin"]];
    };

    expect(await from(ORIGIN)).toEqual([FOUND, ORIGIN]);
    expect(await from("https://elsewhere.example")).toEqual([FOUND, undefined]);
  });

  test("is the same whatever host, scheme or prefix the request names", async () => {
    const headers = [
      ["x-forwarded-host", "evil.example"],
      ["x-forwarded-proto", "http"],
      ["x-forwarded-prefix", "/evil"],
      ["forwarded", "host=evil.example"],
    ] as const;
    expect((await get(`http://evil.example${WELL_KNOWN}`, { headers })).body).toEqual(FOUND);
  });

  test("is not there where the server does not know its address", async () => {
    for (const path of [WELL_KNOWN, `${WELL_KNOWN}/rcp`]) {
      for (const method of ["GET", "POST", "OPTIONS"]) {
        expect(await unnamed.send({ method, path })).toMatchObject({ status: 404, text: "" });
      }
    }
    expect((await unnamed.send({ path: "/rcp/ping" })).headers["www-authenticate"]).toBe('Bearer realm="pgrcp"');
  });
});

describe("RFC 9728 §5.1, a refused token", () => {
  test.each([
    ["/rcp/ping", "/rcp"],
    ["/rcp", "/rcp"],
    ["/corpora/docs/rcp/index/add", "/corpora/docs/rcp"],
  ])("at %s is told where the metadata is, in the same bytes for every cause but error=", async (path, base) => {
    const expired = await server.token({ expiresIn: -400 });
    const send = (authorization?: string) =>
      server.send({ path, body: "{}", headers: authorization ? [["authorization", authorization]] : [] });
    const where = `resource_metadata="${PUBLIC}${WELL_KNOWN}${base}"`;

    const none = await send();
    expect(none).toMatchObject({ status: 401, headers: { "www-authenticate": `Bearer realm="pgrcp", ${where}` } });
    for (const bad of ["Bearer x", "Basic dTpw", `Bearer ${expired}`]) {
      expect(await send(bad)).toMatchObject({
        status: 401,
        text: none.text,
        headers: { "www-authenticate": `Bearer realm="pgrcp", error="invalid_token", ${where}` },
      });
    }
  });

  test("is not one without the scope: that is HTTP 200 with -32012 and no challenge", async () => {
    const answer = await server.call("index/add", { documents: [] });

    expect(answer).toMatchObject({ status: 200, body: { id: 1, error: { code: -32012 } } });
    expect(answer.headers).not.toHaveProperty("www-authenticate");
  });
});

describe("the rate of an address", () => {
  let limited: RcpServer;
  afterEach(() => limited.close());

  test("counts who reads the metadata", async () => {
    limited = await startRcpServer({
      config: { server: { publicUrl: PUBLIC }, rateLimit: { address: { max: 1, windowMs: 60_000 } } },
    });
    const read = () => limited.send({ method: "GET", path: WELL_KNOWN });

    expect([(await read()).status, (await read()).status]).toEqual([200, 429]);
  });
});

describe("resourceMetadata", () => {
  const of = (settings: Record<string, unknown>) => resourceMetadata(configSchema.parse(settings));
  const issuers = [{ issuer: "https://idp.test/realms/one" }, { issuer: "our own" }];

  test("puts the well-known path before that of a public address", () => {
    const metadata = of({ server: { publicUrl: "https://example.org/search/" }, auth: { issuers } });

    expect(metadata?.urlOf("/corpora/docs/rcp")).toBe(
      "https://example.org/.well-known/oauth-protected-resource/search/corpora/docs/rcp",
    );
    const resourceAt = (suffix: string) => JSON.parse(metadata?.documentAt(suffix) ?? "{}").resource;
    expect(resourceAt("/search/corpora/docs/rcp")).toBe("https://example.org/search/corpora/docs/rcp");
    expect(resourceAt("")).toBe("https://example.org/search/rcp");
    expect(resourceAt("/rcp")).toBeUndefined();
  });

  test("names issuers that are addresses, and a scope that two credentials share once", () => {
    const scopes = { read: { scope: "docs" }, add: { scope: "docs" }, delete: { scope: "docs.delete" } };
    const metadata = of({ server: { publicUrl: PUBLIC }, auth: { issuers, ...scopes } });

    expect(JSON.parse(metadata?.documentAt("") ?? "")).toMatchObject({
      authorization_servers: ["https://idp.test/realms/one"],
      scopes_supported: ["docs", "docs.delete"],
    });
  });

  test("§3.2: leaves out a list of issuers that is empty", () => {
    expect(JSON.parse(of({ server: { publicUrl: PUBLIC } })?.documentAt("") ?? "")).not.toHaveProperty(
      "authorization_servers",
    );
  });

  test("is none where nobody needs a token", () => {
    expect(of({ server: { publicUrl: PUBLIC }, auth: { mode: "none" } })).toBeUndefined();
  });
});
