import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CREDENTIALS, type Credential } from "../../src/auth/principal.ts";
import { type RcpServer, startRcpServer } from "../support/rcp-server.ts";
import type { ConnectorTool } from "../support/rest-connector-client.ts";

const PUBLIC = "https://rcp.example.org/search";
const FIELDS = { lang: "keyword", year: "int", tags: "keyword[]", "published-at": "date" };

let server: RcpServer;
beforeAll(async () => {
  server = await startRcpServer({
    config: {
      server: { publicUrl: `${PUBLIC}/` },
      auth: { combinedTokens: true, corporaClaim: "corpora" },
      filter: { fields: FIELDS },
      rateLimit: { enabled: false },
    },
  });
});
afterAll(() => server.close());

interface Manifest {
  readonly rcpVersion: unknown;
  readonly auth: unknown;
  readonly tools: readonly ConnectorTool[];
}

const read = async (credentials: readonly Credential[], { of = server, path = "/manifest", corpora = "*" } = {}) => {
  const token = await of.token({ credentials, corpora });
  return of.send({ method: "GET", path, headers: [["authorization", `Bearer ${token}`]] });
};
const manifestFor = async (...credentials: Credential[]): Promise<Manifest> =>
  JSON.parse((await read(credentials)).text);
const namesIn = (text: string) => (JSON.parse(text) as Manifest).tools.map(({ name }) => name);

describe("GET /manifest", () => {
  test.each<[readonly Credential[], readonly string[]]>([
    [["read"], ["retrieve", "retrieve_filtered", "get_document"]],
    [["add"], ["add_document"]],
    [["delete"], ["delete_document"]],
    [CREDENTIALS, ["retrieve", "retrieve_filtered", "get_document", "add_document", "delete_document"]],
  ])("shows a token of %j the tools that it may use: %j", async (credentials, names) => {
    expect((await manifestFor(...credentials)).tools.map(({ name }) => name)).toEqual(names);
  });

  test("is of version 0.1, with a token in a header, and each tool is whole", async () => {
    const { rcpVersion, auth, tools } = await manifestFor(...CREDENTIALS);

    expect([rcpVersion, auth]).toEqual(["0.1", { type: "header", header: "Authorization", scheme: "Bearer" }]);
    for (const tool of tools) {
      expect(tool).toMatchObject({ method: "POST", url: `${PUBLIC}/v1/${tool.name}`, description: expect.any(String) });
      expect(tool).not.toHaveProperty("auth");
      expect(tool.name).toMatch(/^[A-Za-z0-9_-]{1,40}$/);
      // A token that stands in no template is never sent, and no text of a model's stands in an address.
      expect(tool.body).toEqual(Object.fromEntries(tool.params.map(({ name }) => [name, `{{${name}}}`])));
      expect(tool.params.at(-1)).toMatchObject({ name: "tenantId", type: "string", required: true });
      expect(tool.responseMappings).toHaveProperty("error", "@error");
    }
  });

  test("has a param for each filter field of one value, and all of them optional", async () => {
    const { tools } = await manifestFor("read");
    const paramsOf = (name: string) =>
      tools.find((tool) => tool.name === name)?.params.map((param) => [param.name, param.type, param.required]);
    const search = [
      ["query", "string", true],
      ["k", "number", false],
    ];
    const tenant = ["tenantId", "string", true];

    expect(paramsOf("retrieve")).toEqual([...search, ["filter", "string", false], tenant]);
    expect(paramsOf("retrieve_filtered")).toEqual([
      ...search,
      ["lang", "string", false],
      ["year", "number", false],
      ["published_at", "string", false],
      tenant,
    ]);
  });

  test("names the corpus of its own address in those of its tools", async () => {
    const { text } = await read(["read"], { path: "/corpora/docs/manifest" });

    expect((JSON.parse(text) as Manifest).tools[0]?.url).toBe(`${PUBLIC}/corpora/docs/v1/retrieve`);
    const token = await server.token({ corpora: "*" });
    await server.post("/corpora/docs/v1/retrieve", '{"tenantId":"acme","query":"x"}', { token });
    expect(server.observations.at(-1)).toMatchObject({ kind: "request", corpus: "docs", code: 0 });
  });

  test("is refused for a corpus that the token does not name, and tells of no other whether it is there", async () => {
    const at = (name: string) => read(["read"], { path: `/corpora/${name}/manifest`, corpora: "nowhere" });

    expect(await at("docs")).toMatchObject({
      status: 403,
      body: { error: { code: -32012, message: "Not authorised" } },
    });
    expect((await at("nowhere")).status).toBe(200);
  });

  test("needs a token, and says so as RCP does", async () => {
    for (const headers of [[], [["authorization", "Bearer x"]]] as const) {
      const { status, headers: answered, body } = await server.send({ method: "GET", path: "/manifest", headers });
      expect([status, body?.error?.code]).toEqual([401, -32012]);
      expect(answered["www-authenticate"]).toMatch(/^Bearer realm="pgrcp"/);
    }
  });

  test.each([
    ["POST", "/manifest", 405, "GET, HEAD"],
    ["OPTIONS", "/manifest", 204, "GET, HEAD"],
    ["GET", "/v1/retrieve", 405, "POST, OPTIONS"],
    ["OPTIONS", "/corpora/docs/v1/retrieve", 204, "POST, OPTIONS"],
    ["POST", "/v1/embed", 404, undefined],
    ["POST", "/v1/", 404, undefined],
    ["POST", "/v1", 404, undefined],
    ["GET", "/manifest/", 404, undefined],
    ["GET", "/corpora/Docs/manifest", 404, undefined],
  ])("%s %s is %i", async (method, path, status, allow) => {
    const answer = await server.send({ method, path });
    expect([answer.status, answer.headers.allow, answer.text]).toEqual([status, allow, ""]);
  });
});

describe("the door", () => {
  const started = async (config: Record<string, unknown>) => {
    const of = await startRcpServer({ config });
    const [manifest, tool] = [
      await read(["read"], { of }),
      await of.post("/v1/retrieve", '{"tenantId":"acme","query":"x"}'),
    ];
    await of.close();
    return { of, manifest, tool };
  };

  test("is open unless it is switched off", async () => {
    const open = await started({});
    const shut = await started({ doors: { rest: false } });

    expect([open.manifest.status, open.tool.status]).toEqual([200, 200]);
    expect([shut.manifest, shut.tool]).toMatchObject([
      { status: 404, text: "" },
      { status: 404, text: "" },
    ]);
  });

  test("names the address that it listens on where that is this machine's own, whatever host a request names", async () => {
    const { of, manifest } = await started({});
    expect((JSON.parse(manifest.text) as Manifest).tools[0]?.url).toBe(`${of.url}/v1/retrieve`);
  });

  test("has no manifest where it does not know how clients reach it: a Host header is the caller's word", async () => {
    const { manifest, tool } = await started({ server: { behindTls: true } });
    expect([manifest.status, tool.status]).toEqual([404, 200]);
  });

  test.each([
    [{ retrieve: false }, ["add_document", "delete_document"]],
    [{ index: false }, ["retrieve", "retrieve_filtered", "get_document"]],
    [{ filter: false }, ["retrieve", "get_document", "add_document", "delete_document"]],
  ])("shows nothing that is switched off: %j", async (capabilities, names) => {
    const of = await startRcpServer({
      config: { capabilities, auth: { combinedTokens: true }, filter: { fields: FIELDS } },
    });
    const { text } = await read(CREDENTIALS, { of });
    const hidden = ["retrieve", "retrieve_filtered", "get_document", "add_document", "delete_document"].filter(
      (name) => !names.includes(name),
    );
    const answers = await Promise.all(hidden.map((name) => of.post(`/v1/${name}`, "{}")));
    await of.close();

    expect(namesIn(text)).toEqual(names);
    for (const answer of answers) expect(answer).toMatchObject({ status: 404, text: "" });
  });
});
