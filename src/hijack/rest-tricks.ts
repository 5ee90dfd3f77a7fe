import { isObject, type Params } from "../protocol/params.ts";
import { type Answer, hitsOf, isAbsent, type Lab, refusal } from "./lab.ts";
import { claimsOf } from "./rcp-tricks.ts";
import { held, hijacked, noAnswer, notApplicable, type Outcome, type Trick } from "./trick.ts";

/** The REST Connector Protocol's door: every tool declares `tenantId`, which a client binds and the server compares with the token. */

const rest = (name: string, sent: string, bodyOf: (own: string, other: string) => Claim): Trick => ({
  door: "rest",
  name,
  sent,
  needs: "other tenant",
  run: (lab) => claimed(lab, bodyOf),
});

/** What is said of the tenant: members of the body as JSON text, and what stands behind the URL. */
interface Claim {
  readonly members: readonly string[];
  readonly query?: string;
}

const member = (value: unknown): string => `"tenantId":${JSON.stringify(value)}`;

export const REST_TRICKS: readonly Trick[] = [
  rest("tenantId of another", "tenantId = the other tenant", (_own, other) => ({ members: [member(other)] })),
  rest("no tenantId", "no tenantId", () => ({ members: [] })),
  rest("blank tenantId", 'tenantId = ""', () => ({ members: [member("")] })),
  rest("tenantId of spaces", 'tenantId = " "', () => ({ members: [member(" ")] })),
  rest("tenantId null", "tenantId = null", () => ({ members: [member(null)] })),
  rest("two tenants", "tenantId = [own, other]", (own, other) => ({ members: [member([own, other])] })),
  rest("tenantId twice", "tenantId twice in the body, the own one last", (own, other) => ({
    members: [member(other), member(own)],
  })),
  rest("tenantId twice, turned", "tenantId twice in the body, the own one first", (own, other) => ({
    members: [member(own), member(other)],
  })),
  rest("tenantId in the query", "the own tenantId in the body, the other behind ? in the URL", (own, other) => ({
    members: [member(own)],
    query: `?tenantId=${encodeURIComponent(other)}`,
  })),
  {
    door: "rest",
    name: "refusals alike",
    sent: "no tenantId, and the other tenant's, one after the other",
    needs: "other tenant",
    run: async (lab) => {
      const ask = await askerOf(lab, "retrieve");
      if (ask === undefined) return notApplicable("the server has no manifest with a retrieve");
      const [none, other] = [await ask({ members: [] }), await ask({ members: [member(lab.options.otherTenant)] })];
      const open = [none, other].map(refusal).find(({ verdict }) => verdict !== "held");
      if (open !== undefined && none.status !== 200 && other.status !== 200) return open;
      return none.status === other.status && none.text === other.text
        ? held("the same bytes")
        : hijacked("the refusals differ, so they tell of a tenant whether there is one");
    },
  },
];

async function claimed(lab: Lab, bodyOf: (own: string, other: string) => Claim): Promise<Outcome> {
  const askers: (readonly [tool: string, ask: (claim: Claim) => Promise<Answer>])[] = [];
  for (const tool of READING) {
    const ask = await askerOf(lab, tool);
    if (ask !== undefined) askers.push([tool, ask]);
  }
  if (askers.length === 0) return notApplicable("the server has no manifest with a tool that reads");
  const { tenant } = claimsOf(lab.options.token.split(".")[1]) ?? {};
  const own = lab.options.tenant ?? (typeof tenant === "string" ? tenant : undefined);
  if (own === undefined)
    return { answer: "the token does not say whose it is: --tenant is not given", verdict: "not tried" };
  const outcomes: Outcome[] = [];
  for (const [tool, ask] of askers) {
    // That the tool answers at all is what makes a refusal worth something.
    const control = await ask({ members: [member(own)] });
    if (control.status !== 200) return noAnswer(`with the own tenantId ${tool} answers HTTP ${control.status}`);
    const answer = await ask(bodyOf(own, lab.options.otherTenant ?? ""));
    outcomes.push(answer.status === 200 ? hijacked(`an answer of ${tool} where a refusal is due`) : refusal(answer));
  }
  return worstOf(outcomes);
}

const worstOf = (outcomes: readonly Outcome[]): Outcome =>
  outcomes.find(({ verdict }) => verdict === "hijacked") ??
  outcomes.find(({ verdict }) => verdict !== "held") ??
  outcomes[0] ??
  noAnswer("nothing was asked");

/** Tools that change nothing. */
const READING = ["retrieve", "retrieve_filtered", "get_document"] as const;

/** What asks a tool of the manifest, its parameters filled as a client fills them. */
async function askerOf(
  lab: Lab,
  name: (typeof READING)[number],
): Promise<((claim: Claim) => Promise<Answer>) | undefined> {
  const manifest = await lab.send("/manifest", { method: "GET" });
  if (isAbsent(manifest)) return undefined;
  const { tools } = manifest.body;
  const tool = Array.isArray(tools) ? tools.filter(isObject).find((one) => one.name === name) : undefined;
  if (tool === undefined || typeof tool.url !== "string" || !isObject(tool.body)) return undefined;
  const path = pathOf(tool.url);
  const [first] = hitsOf((await lab.own()).result);
  if (name === "get_document" && first === undefined) return undefined;
  const values = new Map<string, unknown>([
    ["query", lab.options.query],
    ["id", first?.id],
  ]);
  const filled = Object.entries(tool.body as Params)
    .filter(([param]) => param !== "tenantId")
    .map(([param, template]) => [param, values.get(param) ?? (typeof template === "string" ? "" : template)])
    .map(([param, value]) => `${JSON.stringify(param)}:${JSON.stringify(value)}`);
  return ({ members, query = "" }) => lab.send(`${path}${query}`, { body: `{${[...filled, ...members].join(",")}}` });
}

/** The manifest names the server as it is reached from outside, which need not be from here. */
const pathOf = (url: string): string => (URL.canParse(url) ? new URL(url).pathname.replace(/^.*(?=\/v1\/)/, "") : url);
