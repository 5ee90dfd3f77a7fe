import { expect, test } from "vitest";
import { fieldParams } from "../../src/adapters/rest-fields.ts";

test("each field of one value has a param with a name that a template can hold and that means nothing else", () => {
  const params = fieldParams(
    {
      lang: "keyword",
      "published-at": "date",
      "author.name": "text",
      author_name: "keyword",
      tags: "keyword[]",
      k: "int",
      query: "text",
      tenant: "keyword",
      "x-tenant-id": "keyword",
      access_token: "keyword",
      toJSON: "bool",
      score: "float",
    },
    new Set(["query", "k"]),
  );

  expect(params.map(({ name, field, form }) => [name, field, form])).toEqual([
    ["lang", "lang", "text"],
    ["published_at", "published-at", "date"],
    ["author_name", "author.name", "text"],
    ["filter_author_name", "author_name", "text"],
    ["filter_k", "k", "number"],
    ["filter_query", "query", "text"],
    ["filter_tenant", "tenant", "text"],
    ["filter_x_tenant_id", "x-tenant-id", "text"],
    ["filter_access_token", "access_token", "text"],
    ["toJSON", "toJSON", "boolean"],
    ["score", "score", "number"],
  ]);
  for (const { required, description } of params)
    expect([required, description]).toEqual([false, expect.stringMatching(/^Only documents/)]);
});
