import { ErrorCode } from "../protocol/errors.ts";
import type { Hit, RetrieveResult } from "../protocol/wire.ts";
import type { CallOptions } from "./caller.ts";
import { RcpCallError } from "./errors.ts";
import type { Filter } from "./filter.ts";
import type { RcpClient } from "./rcp-client.ts";
import type { Citation, RenderableHit } from "./render-hits.ts";
import type { BoundValue } from "./resolvers.ts";
import type { FilterParam, ToolParam } from "./tool-params.ts";
import type { AddResult, DeleteResult, DocumentView, NewDocument } from "./types.ts";

/** What each tool is and does, whoever fills its params. */

/** What a tool gives: `text` is for the model, the rest for the host. */
export interface ToolAnswer {
  readonly text: string;
  readonly citations: readonly Citation[];
  readonly result: RetrieveResult | DocumentView | AddResult | DeleteResult;
}

type Values = ReadonlyMap<string, BoundValue>;
/** Shows hits to a model, and keeps the result for the host. */
export type Render = (hits: readonly RenderableHit[], result: ToolAnswer["result"]) => ToolAnswer;

export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly params: readonly ToolParam[];
  /** Those of the params that are filter fields: a resolver may bind one to a list. */
  readonly filters: readonly FilterParam[];
  /**
   * @param values of the params, the model's and the bound ones alike
   * @param bound everything that was resolved
   */
  run(client: RcpClient, values: Values, options: CallOptions, bound: Values): Promise<ToolAnswer>;
}

const text = (name: string, description: string, required = true): ToolParam => ({
  ...{ name, type: "string", description, required },
});

export function searchTool(filters: readonly FilterParam[], maxK: number, render: Render): ToolDefinition {
  const k: ToolParam = {
    ...{ name: "k", type: "integer", required: false, minimum: 1, maximum: maxK },
    description: "How many passages at most.",
  };
  return {
    name: "search",
    description: "Searches the documents and gives the best passages, numbered, with where each comes from.",
    params: [text("query", "What to look for, in words: a question or its key terms."), k, ...filters],
    filters,
    async run(client, values, options) {
      const filter = conjunction(filters.flatMap(({ name }) => conditionOf(name, values.get(name))));
      const wanted = values.get("k");
      const result = await client.retrieve(
        {
          query: String(values.get("query")),
          ...(typeof wanted === "number" && { k: wanted }),
          ...(filter !== undefined && { filter }),
        },
        options,
      );
      return render(result.hits, result);
    },
  };
}

/** The names that `searchTool` gives its params beside the filter fields. */
export const SEARCH_PARAMS = ["query", "k"] as const;

/** @param within the bound filter fields: a document that they would keep out of a search is not found */
export function fetchTool(within: readonly FilterParam[], render: Render): ToolDefinition {
  return {
    name: "fetch_document",
    description: "Gives the whole document that a passage is of.",
    params: [text("id", "The id of a passage or a document.")],
    filters: [],
    async run(client, values, options, bound) {
      const document = await client.document({ id: String(values.get("id")) }, options);
      if (!within.every((field) => wouldPass(document.meta, field, bound.get(field.name)))) throw notFound();
      return render([document], document);
    },
  };
}

export const addTool: ToolDefinition = {
  name: "add_document",
  description: "Adds a document to those that are searched, or replaces the one with the same id.",
  params: [
    text("text", "The document's text."),
    text("id", "The document's id; a new one is made when absent.", false),
    text("title", "The document's title.", false),
  ],
  filters: [],
  async run(client, values, options) {
    const [id, title] = [values.get("id"), values.get("title")];
    const document: NewDocument = {
      text: String(values.get("text")),
      ...(id !== undefined && { id: String(id) }),
      ...(title !== undefined && { meta: { title } }),
    };
    const result = await client.indexAdd([document], options);
    return { text: `Added as ${JSON.stringify(result.ids[0])}.`, citations: [], result };
  },
};

export const deleteTool: ToolDefinition = {
  name: "delete_document",
  description: "Deletes a document.",
  params: [text("id", "The document's id.")],
  filters: [],
  async run(client, values, options) {
    const result = await client.indexDelete([String(values.get("id"))], options);
    return { text: result.deleted === 0 ? "There was no such document." : "Deleted.", citations: [], result };
  },
};

function conditionOf(field: string, value: BoundValue | undefined): Filter[] {
  if (value === undefined) return [];
  if (typeof value !== "object") return [{ field, op: "eq", value }];
  const [first, ...rest] = value;
  return first === undefined ? [] : [{ field, op: "in", value: [first, ...rest] }];
}

function conjunction([first, ...rest]: readonly Filter[]): Filter | undefined {
  return first === undefined || rest.length === 0 ? first : { and: [first, ...rest] };
}

/** As `eq` and `in` are at the server: of a list one element has to match, and what is not there does not. */
function wouldPass(meta: Hit["meta"], { name, isDate }: FilterParam, bound: BoundValue | undefined): boolean {
  const comparable = (value: unknown) => (isDate && typeof value === "string" ? Date.parse(value) : value);
  const allowed = [bound].flat().map(comparable);
  const own = [Object.hasOwn(meta, name) ? meta[name] : undefined].flat().map(comparable);
  return own.some((value) => value !== undefined && !Number.isNaN(value) && allowed.includes(value));
}

/** What the server says of a document that is not there. */
const notFound = () =>
  new RcpCallError({
    ...{ code: ErrorCode.NotFound, message: "Not found", httpStatus: 200, retryAfterMs: undefined },
    data: { detail: "no document has the id: it must be a passage's or a document's, as it was given" },
  });
