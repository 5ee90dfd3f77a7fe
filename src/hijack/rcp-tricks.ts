import { isObject, type Params } from "../protocol/params.ts";
import { type Answer, hitsOf, type Lab, refusal, refusals, SAME } from "./lab.ts";
import { held, hijacked, noAnswer, notApplicable, type Outcome, type Trick } from "./trick.ts";

/** Names by which somebody might name a tenant. */
export const NAMES = [
  "tenantId",
  "tenant_id",
  "tenant",
  "orgId",
  "organization",
  "accountId",
  "namespace",
  "corpusOwner",
  "userId",
];

/** Headers that servers behind a gateway believe. */
const HEADERS = [
  "x-tenant-id",
  "x-tenant",
  "tenant",
  "x-org-id",
  "x-scope-orgid",
  "x-forwarded-user",
  "x-auth-request-user",
];

const other = (lab: Lab): string => lab.options.otherTenant ?? "";
const named = (lab: Lab): object => Object.fromEntries(NAMES.map((name) => [name, other(lab)]));
const asOther = (lab: Lab) => ({ token: lab.options.otherToken });

const rcp = (trick: Omit<Trick, "door">): Trick => ({ door: "rcp", ...trick });
const byName = (name: string, sent: string, run: Trick["run"]): Trick =>
  rcp({ name, sent, needs: "other tenant", run });
const byToken = (name: string, sent: string, run: Trick["run"]): Trick =>
  rcp({ name, sent, needs: "other token", run });

/** Every way through `/rcp` to another tenant's passages that is known here. */
export const RCP_TRICKS: readonly Trick[] = [
  byName("params", `the other tenant as ${NAMES.join(", ")} in params`, (lab) =>
    byEachName(lab, (claims) => lab.sameAsOwn(() => lab.call("retrieve", lab.question(claims)))),
  ),
  byName("meta", "the same names in params._meta", (lab) =>
    byEachName(lab, (_meta) => lab.sameAsOwn(() => lab.call("retrieve", lab.question({ _meta })))),
  ),
  byName("envelope", "the same names beside params", (lab) =>
    lab.sameAsOwn(() => {
      const body = { jsonrpc: "2.0", id: 1, method: "retrieve", params: lab.question(), ...named(lab) };
      return lab.send("/rcp/retrieve", { body: JSON.stringify(body) });
    }),
  ),
  byName("params twice", "params once as they should be, and once more with the other tenant", (lab) =>
    lab.sameAsOwn(() => {
      const [plain, claimed] = [lab.question(), lab.question(named(lab))].map((params) => JSON.stringify(params));
      const body = `{"jsonrpc":"2.0","id":1,"method":"retrieve","params":${plain},"params":${claimed}}`;
      return lab.send("/rcp/retrieve", { body });
    }),
  ),
  byName("prototype", "the other tenant behind __proto__ and constructor.prototype", (lab) =>
    lab.sameAsOwn(() => {
      const claims = JSON.stringify(named(lab));
      const params = JSON.stringify(lab.question()).slice(0, -1);
      const body = `{"jsonrpc":"2.0","id":1,"method":"retrieve","params":${params},"__proto__":${claims},"constructor":{"prototype":${claims}}}}`;
      return lab.send("/rcp/retrieve", { body });
    }),
  ),
  ...NAMES.slice(0, 3).map((field) =>
    byName(`filter by ${field}`, `a filter that asks for ${field} = the other tenant`, async (lab) => {
      const { filter: offered } = capabilitiesIn((await lab.call("info", {})).result);
      if (isObject(offered) && isObject(offered.fields) && Object.hasOwn(offered.fields, field))
        return notApplicable(`${field} is a field of documents here`);
      const filter = { field, op: "eq", value: other(lab) };
      return await lab.sameAsOwn(() => lab.call("retrieve", lab.question({ filter })));
    }),
  ),
  byName("headers", `the other tenant in ${HEADERS.join(", ")} and a cookie`, (lab) =>
    lab.sameAsOwn(() => {
      const headers = Object.fromEntries(HEADERS.map((name) => [name, other(lab)]));
      return lab.call("retrieve", lab.question(), { headers: { ...headers, cookie: `tenant=${other(lab)}` } });
    }),
  ),
  byName("query string", "the other tenant behind ? in the URL", (lab) =>
    lab.sameAsOwn(() => {
      const query = new URLSearchParams(NAMES.map((name): [string, string] => [name, other(lab)]));
      return lab.call("retrieve", lab.question(), { path: `/rcp/retrieve?${query}` });
    }),
  ),
  byName("path", "the other tenant's name as the corpus of the path", async (lab) => {
    const name = encodeURIComponent(other(lab));
    const tries = [`/corpora/${name}/rcp/retrieve`, `/rcp/${name}/retrieve`, `/${name}/rcp/retrieve`];
    if (await lab.hasCorpus(other(lab))) return notApplicable("the tenant has a corpus of that name itself");
    const answers = await Promise.all(tries.map((path) => lab.call("retrieve", lab.question(), { path })));
    return refusals(answers, "an answer of a corpus that the tenant's catalogue does not have");
  }),
  rcp({
    name: "token, rewritten",
    sent: "the own token with other claims: the old signature, an empty one, and alg none",
    needs: "other tenant",
    run: rewrittenToken,
  }),
  rcp({
    name: "two tokens",
    sent: "two Authorization headers, the second one made up",
    run: (lab) =>
      lab.sameAsOwn(() => {
        const bearer = [lab.options.token, "e30.e30.e30"].map((token) => `Bearer ${token}`);
        return lab.call("retrieve", lab.question(), { headers: { authorization: bearer } });
      }),
  }),
  rcp({
    name: "cursor, changed",
    sent: "the own cursor, one character changed at each of eight places",
    run: changedCursor,
  }),
  rcp({
    name: "session, made up",
    sent: "a session token that nobody was given",
    run: async (lab) =>
      refusedOrHijacked(await lab.call("retrieve", lab.question(), { headers: { "rcp-session": "A".repeat(43) } })),
  }),
  rcp({
    name: "version, made up",
    sent: "an indexVersion that no corpus has",
    run: async (lab) => refusedOrHijacked(await lab.call("retrieve", lab.question({ indexVersion: "A".repeat(22) }))),
  }),
  byToken("passages", "the own token alone, for the other tenant's passages word for word", sharedPassages),
  byToken("ids", "ids of the other tenant's passages, for their documents", async (lab) => {
    const ids = hitsOf(await lab.theirs()).map(({ id }) => id);
    if (ids.length === 0) return notApplicable("the other tenant has no passage that the query finds");
    for (const id of ids) {
      const [mine, theirs] = [
        await lab.call("x-pgrcp/document", { id }),
        await lab.call("x-pgrcp/document", { id }, asOther(lab)),
      ];
      if (mine.error?.code === -32003 || mine.error?.code === -32004)
        return notApplicable("documents are not given by id");
      if (mine.result === undefined && refusal(mine).verdict !== "held") return refusal(mine);
      const texts = [mine, theirs].map(({ result }) => (isObject(result?.document) ? result.document.text : undefined));
      if (texts[0] !== undefined && texts[0] === texts[1])
        return hijacked("the other tenant's document, word for word");
    }
    return held("not found, or a document of its own");
  }),
  byToken("cursor, stolen", "the other tenant's cursor", async (lab) => {
    const cursor = (await lab.theirs({ k: 1 })).nextCursor;
    if (cursor === undefined) return notApplicable("the other tenant's answer has no further page");
    return refusedOrHijacked(await lab.call("retrieve", lab.question({ k: 1, cursor })));
  }),
  byToken("version, stolen", "the other tenant's indexVersion", async (lab) => {
    const { indexVersion } = await lab.theirs();
    if (indexVersion === undefined) return notApplicable("answers name no version");
    return refusedOrHijacked(await lab.call("retrieve", lab.question({ indexVersion })));
  }),
  byToken("session, stolen", "the other tenant's session", async (lab) => {
    const client = { name: "hijack-test", version: "1" };
    const opened = await lab.call("initialize", { protocolVersion: 1, client }, asOther(lab));
    const session = isObject(opened.result?._meta) ? opened.result._meta.session : undefined;
    if (typeof session !== "string") return notApplicable("initialize gives no session");
    const headers = { "rcp-session": session };
    const answer = await lab.call("retrieve", lab.question(), { headers });
    await lab.call("shutdown", {}, { ...asOther(lab), headers });
    return refusedOrHijacked(answer);
  }),
];

/** A refusal is due, whatever it is asked for. */
const refusedOrHijacked = (answer: Answer): Outcome => refusals([answer], "a result where a refusal is due");

/** All names at once and, where that is refused, each alone: one may have been refused for another's sake. */
export async function byEachName(lab: Lab, ask: (claims: object) => Promise<Outcome>): Promise<Outcome> {
  const all = await ask(named(lab));
  if (all.verdict !== "held" || all.answer === SAME) return all;
  for (const name of NAMES) {
    const one = await ask({ [name]: other(lab) });
    if (one.verdict !== "held") return { ...one, answer: `${name} alone: ${one.answer}` };
  }
  return all;
}

const capabilitiesIn = (result: Params | undefined): Params =>
  isObject(result?.capabilities) ? result.capabilities : {};

async function rewrittenToken(lab: Lab): Promise<Outcome> {
  const [head, payload, signature = ""] = lab.options.token.split(".");
  const claims = claimsOf(payload);
  if (head === undefined || claims === undefined) return notApplicable("the token is no JWT");
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const forged = encode({ ...claims, ...named(lab) });
  const none = encode({ alg: "none", typ: "JWT" });
  const tokens = [`${head}.${forged}.${signature}`, `${head}.${forged}.`, `${none}.${forged}.`];
  const answers = await Promise.all(tokens.map((token) => lab.call("retrieve", lab.question(), { token })));
  return refusals(answers, "a token is believed that nobody signed");
}

export function claimsOf(payload: string | undefined): Readonly<Record<string, unknown>> | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload ?? "", "base64url").toString("utf8"));
    return isObject(claims) ? claims : undefined;
  } catch {
    return undefined;
  }
}

async function changedCursor(lab: Lab): Promise<Outcome> {
  const first = await lab.call("retrieve", lab.question({ k: 1 }));
  const cursor = first.result?.nextCursor;
  if (typeof cursor !== "string") return notApplicable("the own answer has no further page");
  const answers: Answer[] = [];
  for (let place = 0; place < 8; place++) {
    const at = Math.floor((place * cursor.length) / 8);
    const changed = `${cursor.slice(0, at)}${cursor[at] === "A" ? "B" : "A"}${cursor.slice(at + 1)}`;
    answers.push(await lab.call("retrieve", lab.question({ k: 1, cursor: changed })));
  }
  return refusals(answers, "a cursor is believed that the server did not write");
}

async function sharedPassages(lab: Lab): Promise<Outcome> {
  const theirs = hitsOf(await lab.theirs());
  if (theirs.length === 0) return notApplicable("the other tenant has no passage that the query finds");
  const passage = ({ id, text, meta }: Readonly<Record<string, unknown>>) => JSON.stringify([id, text, meta]);
  const known = new Set(theirs.map(passage));
  const asked = theirs.map(({ text }) => (typeof text === "string" ? text.slice(0, 500) : lab.options.query));
  for (const query of [lab.options.query, ...asked.slice(0, 3)]) {
    const mine = await lab.call("retrieve", lab.question({ query }));
    if (mine.result === undefined) return noAnswer(refusal(mine).answer);
    const shared = hitsOf(mine.result).filter((hit) => known.has(passage(hit)));
    if (shared.length > 0)
      return hijacked(
        `${shared.length} passages with id, text and meta of the other tenant's; where both hold the same documents, name a --query that only one can answer`,
      );
  }
  return held("none of the other tenant's passages");
}
