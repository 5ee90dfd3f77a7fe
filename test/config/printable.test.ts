import { expect, test } from "vitest";
import { printableConfig } from "../../src/config/printable.ts";
import { loadText } from "./refusals.ts";

test("secrets are set or not, and URLs have no passwords", async () => {
  const config = await loadText(`
database:
  url: postgres://user:hunter2@db:5432/pgrcp?sslmode=require&sslpassword=hunter2
  reader: {password: hunter2}
auth:
  issuers:
    - {issuer: a, secret: hunter2-hunter2-hunter2-hunter2-hunter2, algorithms: [HS256]}
    - {issuer: b, jwksUri: 'https://hunter2@idp.example/keys?api_key=hunter2&v=1'}
models: {embedding: {provider: openai, url: 'http://u:hunter2@h/v1', model: m, dimension: 8, apiKey: hunter2}}
`);
  const printed = printableConfig(config);

  expect(JSON.stringify(printed)).not.toContain("hunter2");
  expect(printed).toMatchObject({
    database: {
      url: "postgres://user:<set>@db:5432/pgrcp?sslmode=require&sslpassword=<set>",
      reader: { user: "pgrcp_reader", password: "<set>" },
      adder: { user: "pgrcp_adder" },
    },
    auth: {
      issuers: [
        { issuer: "a", secret: "<set>", algorithms: ["HS256"] },
        { issuer: "b", jwksUri: "https://<set>@idp.example/keys?api_key=<set>&v=1" },
      ],
    },
    models: { embedding: { apiKey: "<set>", url: "http://u:<set>@h/v1" } },
  });
});

test("what holds no secret is printed as it is", async () => {
  const config = await loadText("auth: {mode: none}\nserver: {publicUrl: 'https://rcp.example.org'}");

  expect(printableConfig(config)).toEqual(config);
});
