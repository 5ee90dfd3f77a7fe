/** A client of the REST Connector Protocol 0.1: what its public description says that a client does, and nothing kinder. */

export type Resolver = (context: unknown) => unknown;

export interface RestConnectorOptions {
  readonly token: string;
  /** By the name of the param that each fills, out of the model's sight. */
  readonly resolvers?: Readonly<Record<string, Resolver>>;
}

export interface ConnectorTool {
  readonly name: string;
  readonly description: string;
  readonly method: string;
  readonly url: string;
  readonly params: readonly ConnectorParam[];
  /** What a model is shown. */
  readonly exposedParams: readonly ConnectorParam[];
  readonly body?: unknown;
  readonly auth?: unknown;
  readonly responseMappings?: Readonly<Record<string, string>>;
}

export interface ConnectorParam {
  readonly name: string;
  readonly type: "string" | "number" | "boolean";
  readonly description?: string;
  readonly required?: boolean;
}

export interface ConnectorAnswer {
  readonly status: number;
  readonly ok: boolean;
  readonly raw: unknown;
  /** What a model is given. */
  readonly mapped: unknown;
}

const TOKEN = /\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/g;

export function restConnectorClient({ token, resolvers = {} }: RestConnectorOptions) {
  const authorization = `Bearer ${token}`;

  async function discover(manifestUrl: string): Promise<ConnectorTool[]> {
    const response = await fetch(manifestUrl, { headers: { Authorization: authorization } });
    if (!response.ok)
      throw new Error(`Manifest fetch failed: ${manifestUrl} responded with status ${response.status}.`);
    const manifest = (await response.json()) as {
      readonly rcpVersion: unknown;
      readonly tools: readonly ConnectorTool[];
    };
    if (manifest.rcpVersion !== "0.1") throw new Error("another version");
    if (manifest.tools.length > 200) throw new Error("more than 200 tools");
    return manifest.tools.map((tool) => ({
      ...tool,
      exposedParams: tool.params.filter((param) => !(param.name in resolvers)),
    }));
  }

  /** Throws before anything is sent when a bound param has no value, or a required one that is not bound. */
  async function call(
    tool: ConnectorTool,
    args: Readonly<Record<string, unknown>>,
    context: unknown,
  ): Promise<ConnectorAnswer> {
    if (tool.auth !== undefined) throw new Error("a tool's own auth is refused");
    const values = new Map<string, string>();
    const template = JSON.stringify([tool.url, tool.body]);
    for (const [, name = ""] of template.matchAll(TOKEN)) {
      const isBound = Object.hasOwn(resolvers, name);
      const value = isBound ? resolvers[name]?.(context) : args[name];
      const isMissing = value === undefined || value === null;
      if (isBound && isMissing) throw new Error(`resolver for "${name}" produced no value`);
      const isRequired = tool.params.find((param) => param.name === name)?.required !== false;
      if (isMissing && isRequired) throw new Error(`missing required value for "${name}"`);
      values.set(name, isMissing ? "" : String(value));
    }
    const response = await fetch(render(tool.url, values), {
      method: tool.method,
      headers: { "Content-Type": "application/json", Authorization: authorization },
      ...(tool.body !== undefined && { body: JSON.stringify(renderAll(tool.body, values)) }),
    });
    const text = await response.text();
    const raw = parsed(text);
    return { status: response.status, ok: response.ok, raw, mapped: mapped(raw, tool.responseMappings) };
  }

  return { discover, call };
}

/** Every token becomes text. */
const render = (text: string, values: ReadonlyMap<string, string>): string =>
  text.replaceAll(TOKEN, (_token, name: string) => values.get(name) ?? "");

function renderAll(node: unknown, values: ReadonlyMap<string, string>): unknown {
  if (typeof node === "string") return render(node, values);
  if (Array.isArray(node)) return node.map((each) => renderAll(each, values));
  if (typeof node !== "object" || node === null) return node;
  return Object.fromEntries(Object.entries(node).map(([name, value]) => [name, renderAll(value, values)]));
}

function parsed(text: string): unknown {
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** `@` is the whole, `@a.b` what is below it, and what is not there is undefined. */
function mapped(raw: unknown, mappings: Readonly<Record<string, string>> = {}): unknown {
  if (Object.keys(mappings).length === 0) return raw;
  const at = (path: string) =>
    path
      .slice(1)
      .split(".")
      .filter((name) => name !== "")
      .reduce<unknown>((value, name) => (isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined), raw);
  return Object.fromEntries(
    Object.entries(mappings).map(([name, path]) => [name, path.startsWith("@") ? at(path) : undefined]),
  );
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;
