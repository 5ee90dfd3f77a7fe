import { isObject } from "../../protocol/params.ts";
import { type Client, INITIALIZE, readRefusal } from "../client.ts";
import { ensure, need, show } from "../outcome.ts";
import { check, clientRule, rule, section } from "../rule.ts";
import type { ServerUnderTest } from "../server-under-test.ts";

const VERSION_MISMATCH = -32002;
const INVALID_PARAMS = -32602;

/** A client whose initialize is its own. @throws Skipped when the server has one lifecycle for all, which §13 reports */
async function tryInitialize(server: ServerUnderTest, params: object): Promise<Client & { readonly error: unknown }> {
  const client = server.open();
  const { error } = await client.initialize({ ...INITIALIZE, ...params });
  need(!(isObject(error) && error.code === -32600), "this server has initialized already, for all its callers");
  return Object.assign(client, { error });
}

export const initialize = section(
  "7.1",
  "initialize",
  [
    rule("negotiate", "MUST", "return the smaller of both highest versions"),
    rule("mismatch", "MUST", "refuse with -32002 only when there is no common version"),
    clientRule("abort", "MUST", "leave when the negotiated version is too low"),
    rule("hints", "MUST", "treat the client's capabilities as hints"),
    rule("require-none", "MUST NOT", "require a capability of the client"),
    rule("no-unasked", "MUST NOT", "send a notification that the client did not opt into"),
    rule("malformed", "MUST", "refuse malformed params of initialize with -32602 (§14.1)"),
  ],
  [
    check(
      "negotiate mismatch",
      "a client of version 1 and one of version 999 get a version that both speak",
      async (server) => {
        for (const version of [1, 999]) {
          const client = await tryInitialize(server, { protocolVersion: version });
          const negotiated = client.initialized?.protocolVersion;
          ensure(client.initialized !== undefined, `a client of version ${version} was refused: ${show(client.error)}`);
          ensure(
            Number(negotiated) >= 1 && Number(negotiated) <= version,
            `version ${version} was negotiated to ${show(negotiated)}`,
          );
        }
      },
    ),
    check("mismatch", "versions 0 and -1 are refused with -32002", async (server) => {
      for (const version of [0, -1]) {
        const client = await tryInitialize(server, { protocolVersion: version });
        readRefusal(
          { error: client.error },
          [VERSION_MISMATCH, ...(version < 0 ? [INVALID_PARAMS] : [])],
          `version ${version}`,
        );
      }
    }),
    check("malformed", "a protocolVersion that is missing or no integer is refused with -32602", async (server) => {
      for (const protocolVersion of [undefined, "1", 1.5, true, [1], {}]) {
        const client = await tryInitialize(server, { protocolVersion });
        readRefusal({ error: client.error }, [INVALID_PARAMS], `protocolVersion ${show(protocolVersion)}`);
      }
    }),
    check(
      "hints require-none",
      "a client without capabilities, with none in it, or with null is welcome",
      async (server) => {
        for (const capabilities of [undefined, {}, null]) {
          const client = await tryInitialize(server, { capabilities });
          ensure(
            client.initialized !== undefined,
            `capabilities ${show(capabilities)} were refused: ${show(client.error)}`,
          );
        }
      },
    ),
    check("hints", "what the client can consume does not change what the server offers", async (server) => {
      const plain = await tryInitialize(server, {});
      const rich = await tryInitialize(server, { capabilities: { streaming: {}, log: {} } });
      const keys = (client: Client) =>
        show(Object.keys(isObject(client.initialized?.capabilities) ? client.initialized.capabilities : {}).sort());
      ensure(keys(plain) === keys(rich), `${keys(plain)} is offered to one client, ${keys(rich)} to another`);
    }),
    check(
      "no-unasked",
      "no notification of the whole run was sent to a client that had not asked for it",
      async (server) => {
        const unasked = server.seen.notifications.filter(({ optedIn }) => !optedIn).map(({ method }) => method);
        ensure(unasked.length === 0, `${unasked.length} came unasked, such as ${unasked[0]}`);
      },
      { last: true },
    ),
  ],
);
