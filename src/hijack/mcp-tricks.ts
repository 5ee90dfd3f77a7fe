import { ErrorCode } from "../protocol/errors.ts";
import { isObject, type Params } from "../protocol/params.ts";
import { type Answer, hitsOf, isAbsent, type Lab, refusal, type Sending } from "./lab.ts";
import { byEachName, NAMES } from "./rcp-tricks.ts";
import { held, hijacked, notApplicable, type Outcome, type Trick } from "./trick.ts";

/** The MCP door: no tool has a parameter that says whose the documents are, and one that is sent all the same changes nothing. */

const HEADERS = { accept: "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25" };
const SECRETS = ["token", "accessToken", "authorization", "apiKey", "api_key", "password", "credential"];

const mcp = (trick: Omit<Trick, "door" | "run">, run: Trick["run"]): Trick => ({
  door: "mcp",
  ...trick,
  run: async (lab) =>
    (await toolsOf(lab)) === undefined ? notApplicable("the server has no MCP door with a search") : await run(lab),
});
const byName = (name: string, sent: string, run: Trick["run"]): Trick =>
  mcp({ name, sent, needs: "other tenant" }, run);
const byToken = (name: string, sent: string, run: Trick["run"]): Trick =>
  mcp({ name, sent, needs: "other token" }, run);

const other = (lab: Lab): string => lab.options.otherTenant ?? "";

export const MCP_TRICKS: readonly Trick[] = [
  mcp({ name: "parameters", sent: "tools/list, for a parameter that names a tenant or a credential" }, async (lab) => {
    const wanted = new Set([...NAMES, ...SECRETS].map((name) => name.toLowerCase()));
    const found = (await toolsOf(lab))?.flatMap(({ inputSchema }) => parametersOf(inputSchema)) ?? [];
    const fillable = found.find((name) => wanted.has(name.toLowerCase()));
    return fillable === undefined ? held("there is none") : hijacked(`a model may fill ${fillable}`);
  }),
  byName("arguments", `the other tenant as ${NAMES.join(", ")} in arguments`, (lab) =>
    byEachName(lab, (claims) => sameAsOwn(lab, { arguments: { query: lab.options.query, ...claims } })),
  ),
  byName("meta", "the same names in params._meta", (lab) => byEachName(lab, (_meta) => sameAsOwn(lab, { _meta }))),
  byName("filters", "the same names as filters", (lab) =>
    byEachName(lab, (filters) => sameAsOwn(lab, { arguments: { query: lab.options.query, filters } })),
  ),
  byName("headers", "the other tenant in x-tenant-id and x-org-id", (lab) =>
    sameAsOwn(lab, {}, { headers: { "x-tenant-id": other(lab), "x-org-id": other(lab) } }),
  ),
  byName("corpus", "the other tenant's name as the corpus", async (lab) => {
    const answer = await search(lab, { arguments: { query: lab.options.query, corpus: other(lab) } });
    if (answer.result === undefined) return refusal(answer);
    return (await lab.hasCorpus(other(lab)))
      ? notApplicable("the tenant has a corpus of that name itself")
      : hijacked("an answer of a corpus that the tenant's catalogue does not have");
  }),
  byToken("ids", "ids of the other tenant's passages, to fetch and as resources", stolenIds),
];

async function stolenIds(lab: Lab): Promise<Outcome> {
  const asOther = { token: lab.options.otherToken };
  const ids = hitsOf(await lab.theirs()).map(({ id }) => String(id));
  if (ids.length === 0) return notApplicable("the other tenant has no passage that the query finds");
  for (const id of ids) {
    const uri = `pgrcp://default/documents/${encodeURIComponent(id)}`;
    for (const [method, params] of [
      ["tools/call", { name: "fetch", arguments: { id } }],
      ["resources/read", { uri }],
    ] as const) {
      const [mine, theirs] = [await ask(lab, method, params), await ask(lab, method, params, asOther)];
      if (mine.result === undefined && refusal(mine).verdict !== "held") return refusal(mine);
      const [own, foreign] = [mine, theirs].map(({ result }) => contentOf(result));
      if (own !== undefined && own === foreign) return hijacked("the other tenant's document, word for word");
    }
  }
  return held("not found, or a document of its own");
}

/** Texts of what was fetched, without the mark that is drawn for each answer. */
function contentOf(result: Params | undefined): string | undefined {
  if (result === undefined) return undefined;
  if (isObject(result.structuredContent)) return JSON.stringify(result.structuredContent);
  return JSON.stringify(result.contents ?? result.content)?.replaceAll(/[0-9a-f]{32}/g, "");
}

const sameAsOwn = (lab: Lab, params: object, sending: Sending = {}): Promise<Outcome> =>
  lab.sameAsOwn(
    () => search(lab, params, sending),
    () => search(lab, {}),
    ({ result }) => contentOf(result) ?? "",
  );

const search = (lab: Lab, params: object, sending: Sending = {}): Promise<Answer> =>
  ask(lab, "tools/call", { name: "search", arguments: { query: lab.options.query }, ...params }, sending);

/** A tool's error has RCP's code where the server says it; otherwise it is the arguments' (MCP, tools: errors of execution). */
async function ask(lab: Lab, method: string, params: object, sending: Sending = {}): Promise<Answer> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const answer = await lab.send("/mcp", { body, ...sending, headers: { ...HEADERS, ...sending.headers } });
  if (answer.result?.isError !== true) return answer;
  const { _meta } = answer.result;
  const code = isObject(_meta) ? _meta["pgrcp/code"] : undefined;
  return { ...answer, result: undefined, error: { code: code ?? ErrorCode.InvalidParams } };
}

async function toolsOf(lab: Lab): Promise<readonly Params[] | undefined> {
  const answer = await ask(lab, "tools/list", {});
  if (isAbsent(answer)) return undefined;
  const { tools } = answer.result ?? {};
  const found = Array.isArray(tools) ? tools.filter(isObject) : [];
  return found.some(({ name }) => name === "search") ? found : undefined;
}

/** Names at any depth of a schema. */
function parametersOf(schema: unknown): string[] {
  if (Array.isArray(schema)) return schema.flatMap(parametersOf);
  if (!isObject(schema)) return [];
  const own = isObject(schema.properties) ? Object.keys(schema.properties) : [];
  return [...own, ...Object.values(schema).flatMap(parametersOf)];
}
