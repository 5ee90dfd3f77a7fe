import { ErrorCode } from "../../protocol/errors.ts";
import { isObject } from "../../protocol/params.ts";
import { ensure, need, show } from "../outcome.ts";
import { check, clientRule, rule, section, untried } from "../rule.ts";
import { unadvertisedMethods } from "./07-methods.ts";

const PARSE_ERROR = -32700;

const isReserved = (code: number): boolean => code <= -32_000 && code >= -32_099;
const DEFINED: ReadonlySet<number> = new Set(Object.values(ErrorCode));

export const errors = section(
  "12",
  "Errors",
  [
    rule("no-custom", "MUST NOT", "use codes of its own in -32000 to -32099"),
    untried(
      "closest-code",
      "SHOULD",
      "reuse the closest code for its own failures",
      "what a failure is closest to is a judgement",
    ),
    clientRule("unknown-code", "MUST", "take a code that it does not know for a failure"),
    rule("prefer-unknown", "MUST", "prefer -32004 to -32003 for a method that RCP does not define"),
    rule("clamp", "MUST", "clamp what is above a limit; refuse what is malformed"),
    rule("data", "SHOULD", "use the conventional members of error.data (§12.1)"),
    rule("parse-error", "MUST", "answer what is not JSON with -32700 under id null"),
    clientRule("retry", "SHOULD", "retry as the table says (§12.2)"),
    clientRule("backoff", "SHOULD", "back off with jitter (§12.2)"),
  ],
  [
    check(
      "parse-error",
      "what is not JSON is answered with -32700 under id null, and the next request as ever",
      async (server) => {
        const client = await server.shared();
        for (const text of ["{", "nonsense", '{"jsonrpc":"2.0","id":1,"method":"ping"', '{"id":NaN}', "{'id':1}"]) {
          const { frames, http } = await client.exchange([text], 1);
          const value = frames.at(-1)?.value;
          if (value === undefined && http[0]?.status === 400) continue; // §5.2 allows a bare 400
          const error = isObject(value) ? value.error : undefined;
          ensure(
            isObject(value) && value.id === null && isObject(error) && error.code === PARSE_ERROR,
            `${show(text)} was answered with ${show(value)}`,
          );
        }
        await client.result("ping");
      },
    ),
    check(
      "prefer-unknown",
      "-32004 for a method that nobody defined, -32003 for one that is not advertised",
      async (server) => {
        const client = await server.session();
        await client.refusal("rcp-conformance", {}, ErrorCode.UnknownMethod);
        const missing = (await unadvertisedMethods(server)).find((method) => !method.startsWith("index/"));
        need(missing !== undefined, "every method is advertised");
        await client.refusal(missing, {}, ErrorCode.CapabilityMissing);
      },
    ),
    check("data", "-32602 names the field and -32005 the option", async (server) => {
      await server.capability("retrieve");
      const client = await server.shared();
      const malformed = await client.refusal("retrieve", { query: "x", k: -1 }, ErrorCode.InvalidParams);
      ensure(malformed.data.field === "k", `error.data.field should be "k", not ${show(malformed.data.field)}`);
      const unsupported = await client.refusal(
        "retrieve",
        { query: "x", k: 1, mode: "unheard-of" },
        ErrorCode.OptionUnsupported,
      );
      ensure(typeof unsupported.data.option === "string", "error.data.option should name the option");
    }),
    check(
      "no-custom",
      "no code of the whole run was a custom one in the reserved range",
      async (server) => {
        const custom = [...server.seen.errorCodes].filter((code) => isReserved(code) && !DEFINED.has(code));
        ensure(custom.length === 0, `${custom.join(", ")} are not defined by RCP`);
      },
      { last: true },
    ),
    check(
      "no-custom",
      "no request of the whole run failed inside the server",
      async (server) => {
        ensure(
          !server.seen.errorCodes.has(ErrorCode.InternalError),
          "a request was answered with -32603: it should be refused for what is wrong with it",
        );
      },
      { last: true },
    ),
  ],
);
