import type { ParamForm, RestParam } from "./rest-param.ts";
import type { RestTool } from "./rest-tools.ts";

/** In every tool, so that its client sends it from where it knows it: as text, once, in the body. */
export const TENANT_PARAM = {
  name: "tenantId",
  form: "text",
  required: true,
  description:
    "The tenant whose documents these are. For whoever runs the client: bind a resolver that takes it from verified context. No model " +
    "fills it: the server compares it with the token and refuses any other.",
} as const satisfies RestParam;

/** The protocol has three types, and sends all of them as text. */
const TYPE = {
  text: "string",
  number: "number",
  boolean: "boolean",
  date: "string",
  object: "string",
} as const satisfies Record<ParamForm, string>;

/**
 * A manifest of the REST Connector Protocol, version 0.1.
 *
 * Values stand in the body, where a client cannot be made to break out of their place, and no tool has `auth`, with which a client
 * would refuse it. Errors are mapped, too: a client gives a model what is mapped and nothing else.
 *
 * @param base where the tools are, such as `https://rcp.example.org/v1`
 * @param needsToken false where anybody may call
 */
export const restManifest = (tools: readonly RestTool[], base: string, needsToken: boolean): object => ({
  rcpVersion: "0.1",
  auth: needsToken ? { type: "header", header: "Authorization", scheme: "Bearer" } : { type: "none" },
  tools: tools.map((tool) => {
    const params = [...tool.params, TENANT_PARAM];
    return {
      name: tool.name,
      description: tool.description,
      method: "POST",
      url: `${base}/${tool.name}`,
      params: params.map(({ name, form, description, required }) => ({
        name,
        type: TYPE[form],
        description,
        required,
      })),
      body: Object.fromEntries(params.map(({ name }) => [name, `{{${name}}}`])),
      responseMappings: Object.fromEntries([...tool.answers, "error"].map((member) => [member, `@${member}`])),
    };
  }),
});
