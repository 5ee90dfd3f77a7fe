import { isDeepStrictEqual } from "node:util";
import { isObject, type Params } from "../../protocol/params.ts";
import { type FilterCorpus, filterCorpora } from "../filter-corpus.ts";
import { ensure, need, show } from "../outcome.ts";
import { check, rule, section, untried } from "../rule.ts";
import type { ServerUnderTest } from "../server-under-test.ts";

const INVALID_PARAMS = -32602;
const OPTION_UNSUPPORTED = -32005;
const ORDERED = ["gt", "gte", "lt", "lte"];

interface Case {
  readonly op: string;
  readonly value: unknown;
  /** Positions of the documents that pass. */
  readonly passes: readonly number[];
}

/** What each operator finds. The last document has no value: it passes ne, nin and exists false alone. */
function casesOf({ type, values }: FilterCorpus): readonly Case[] {
  const last = values.length;
  const all = values.map((_, index) => index);
  const [first, second] = values;
  const equality: Case[] = [
    { op: "eq", value: second, passes: [1] },
    { op: "ne", value: second, passes: [...all.filter((index) => index !== 1), last] },
    { op: "in", value: [first, second], passes: [0, 1] },
    { op: "nin", value: [first, second], passes: [...all.slice(2), last] },
    { op: "exists", value: true, passes: all },
    { op: "exists", value: false, passes: [last] },
  ];
  const order: Case[] = [
    { op: "gt", value: second, passes: all.slice(2) },
    { op: "gte", value: second, passes: all.slice(1) },
    { op: "lt", value: second, passes: [0] },
    { op: "lte", value: second, passes: [0, 1] },
  ];
  switch (type) {
    case "int":
    case "float":
    case "date":
      return [...equality, ...order];
    case "text":
      return [
        ...equality,
        { op: "contains", value: "lighthouse", passes: [1] },
        { op: "contains", value: "zq", passes: all },
      ];
    case "keyword":
    case "bool":
      return equality;
  }
}

async function operators(server: ServerUnderTest): Promise<readonly unknown[] | undefined> {
  const { operators: advertised } = await server.capability("filter");
  return Array.isArray(advertised) ? advertised : undefined;
}

async function passing(server: ServerUnderTest, { word }: FilterCorpus, filter: Params): Promise<readonly string[]> {
  return server.corpus.findIds(await server.corpus.queryFor(word, { filter }));
}

async function expectPassing(
  server: ServerUnderTest,
  corpus: FilterCorpus,
  filter: Params,
  passes: readonly number[],
): Promise<void> {
  const found = await passing(server, corpus, filter);
  const expected = passes.map((index) => corpus.ids[index] ?? "").sort();
  const values = (ids: readonly string[]) => show(ids.map((id) => corpus.values[corpus.ids.indexOf(id)] ?? "no value"));
  ensure(
    isDeepStrictEqual(found, expected),
    `${show(filter)} must pass ${values(expected)}, and passed ${values(found)}`,
  );
}

/** A filter that must be refused. @param withField whether `error.data.field` must say where */
async function refuse(
  server: ServerUnderTest,
  filter: unknown,
  codes: readonly number[] = [INVALID_PARAMS],
  withField = false,
): Promise<void> {
  const client = await server.shared();
  const { data } = await client.refusal("retrieve", { query: "x", k: 1, filter }, ...codes);
  ensure(!withField || typeof data.field === "string", `error.data.field must say where ${show(filter)} is wrong`);
}

/** Some advertised field and a clause on it that is right. */
async function rightClause(server: ServerUnderTest): Promise<Params> {
  const { fields } = await server.capability("filter");
  const [field] = Array.isArray(fields) ? fields : Object.keys(isObject(fields) ? fields : {});
  need(typeof field === "string", "no filter field is advertised");
  return { field, op: "exists", value: true };
}

export const filter = section(
  "8",
  "Metadata filtering",
  [
    rule("unadvertised-field", "MUST", "refuse a field that is not advertised with -32602"),
    rule("field-types", "SHOULD", "advertise the type of each field, of the seven that there are"),
    rule("semantics", "MUST", "mean what the table of operators says"),
    rule(
      "value-type",
      "MUST",
      "refuse a value or an operator that the field's type does not allow with -32602 and error.data.field",
    ),
    rule("operator", "MUST", "refuse an operator that is not advertised with -32005, or -32602 as §15.4 has it"),
    rule("combinators", "MUST", "nest and, or and not; refuse an empty and or or with -32602"),
    rule("case-sensitive", "MUST", "compare strings with their case, in byte order, unless it documents otherwise"),
    untried("validator", "SHOULD", "use the validator of its SDK", "a rule of how a server is made"),
  ],
  [
    check(
      "unadvertised-field 15.4/fields",
      "a field that is not advertised is refused with -32602 and error.data.field",
      async (server) => {
        await server.capability("filter");
        await refuse(server, { field: "rcp_conformance_no_such_field", op: "eq", value: 1 }, [INVALID_PARAMS], true);
      },
    ),
    check(
      "unadvertised-field 15.4/fields",
      "a field is found by its own name alone: constructor, __proto__ and the like are no fields",
      async (server) => {
        const advertised = await rightClause(server);
        for (const field of [
          "constructor",
          "__proto__",
          "toString",
          "hasOwnProperty",
          "prototype",
          "length",
          "0",
          ` ${advertised.field}`,
        ])
          await refuse(server, { field, op: "eq", value: "x" });
      },
    ),
    check(
      "unadvertised-field",
      "a field that is not advertised is refused inside and, or and not too",
      async (server) => {
        const right = await rightClause(server);
        const wrong = { field: "rcp_conformance_no_such_field", op: "exists", value: true };
        for (const tree of [
          { and: [right, wrong] },
          { or: [right, wrong] },
          { not: wrong },
          { and: [{ or: [{ not: wrong }] }] },
        ])
          await refuse(server, tree);
      },
    ),
    check("field-types", "fields are advertised with one of the seven types", async (server) => {
      const { fields } = await server.capability("filter");
      ensure(isObject(fields), "filter.fields should be an object of field to type");
      const known = ["keyword", "text", "int", "float", "bool", "date", "geo"];
      const others = Object.entries(fields).filter(([, type]) => !known.includes(String(type)));
      ensure(others.length === 0, `${show(Object.fromEntries(others))} are no types of RCP`);
    }),
    check(
      "semantics 4.6/date-compare",
      "each operator passes the documents that the table says, for every advertised type",
      async (server) => {
        const advertised = await operators(server);
        for (const corpus of await filterCorpora(server))
          for (const { op, value, passes } of casesOf(corpus))
            if (advertised === undefined || advertised.includes(op))
              await expectPassing(server, corpus, { field: corpus.field, op, value }, passes);
      },
    ),
    check(
      "combinators semantics",
      "and, or and not mean what they say, nested too, and a missing value passes not",
      async (server) => {
        const [corpus] = await filterCorpora(server);
        need(corpus !== undefined, "no field can be tried");
        const { field, values } = corpus;
        const [first, second] = values.map((value) => ({ field, op: "eq", value }));
        const last = values.length;
        const rest = values.map((_, index) => index).slice(2);
        await expectPassing(server, corpus, { and: [first, second] }, []);
        await expectPassing(server, corpus, { or: [first, second] }, [0, 1]);
        await expectPassing(server, corpus, { not: first }, [1, ...rest, last]);
        await expectPassing(server, corpus, { not: { or: [first, second] } }, [...rest, last]);
        await expectPassing(server, corpus, { and: [{ or: [first, second] }, { not: first }] }, [1]);
        await expectPassing(server, corpus, { not: { not: first } }, [0]);
      },
    ),
    check("case-sensitive", "keywords are compared with their case and whole", async (server) => {
      const corpus = (await filterCorpora(server)).find(({ type }) => type === "keyword");
      need(corpus !== undefined, "no keyword field can be tried");
      const { field } = corpus;
      await expectPassing(server, corpus, { field, op: "eq", value: "zq" }, [1]);
      await expectPassing(server, corpus, { field, op: "eq", value: "Zq" }, [0]);
      for (const value of ["zq ", "z", "%", "zq%", "z_", ""])
        await expectPassing(server, corpus, { field, op: "eq", value }, []);
    }),
    check("4.6/date-compare", "the same instant with another offset is the same date", async (server) => {
      const corpus = (await filterCorpora(server)).find(({ type }) => type === "date");
      need(corpus !== undefined, "no date field can be tried");
      await expectPassing(server, corpus, { field: corpus.field, op: "eq", value: "2023-05-01T02:00:00+02:00" }, [1]);
      const client = await server.shared();
      const epoch = { field: corpus.field, op: "gte", value: Date.UTC(2023, 4, 1) };
      const { error } = await client.call("retrieve", { query: "x", k: 1, filter: epoch });
      need(error === undefined, "dates in milliseconds are not taken, which a server may decide");
      await expectPassing(server, corpus, epoch, [1, 2]);
    }),
    check("value-type", "a value of another type is refused with -32602 and error.data.field", async (server) => {
      const { fields } = await server.capability("filter");
      const wrong: Readonly<Record<string, readonly unknown[]>> = {
        keyword: [5, true, {}, null],
        text: [5, {}],
        int: ["5", 1.5, true],
        float: ["1.5", true, [1]],
        bool: ["true", 1, 0],
        date: ["yesterday", "2023-13-01T00:00:00Z", true],
      };
      for (const [field, type] of Object.entries(isObject(fields) ? fields : {}))
        for (const value of wrong[String(type)] ?? [])
          await refuse(server, { field, op: "eq", value }, [INVALID_PARAMS], true);
    }),
    check(
      "value-type",
      "in without a list, exists without a boolean, and no value at all are refused with -32602",
      async (server) => {
        const { field } = await rightClause(server);
        for (const clause of [
          { op: "in", value: "x" },
          { op: "in", value: {} },
          { op: "nin", value: 5 },
          { op: "exists", value: 1 },
          { op: "exists", value: "true" },
          { op: "eq" },
        ])
          await refuse(server, { field, ...clause }, [INVALID_PARAMS]);
      },
    ),
    check(
      "value-type",
      "an ordered operator on a keyword, text or bool field is refused with -32602 and error.data.field",
      async (server) => {
        const { fields } = await server.capability("filter");
        const unordered = Object.entries(isObject(fields) ? fields : {}).filter(([, type]) =>
          ["keyword", "text", "bool"].includes(String(type)),
        );
        need(unordered.length > 0, "every field is ordered");
        for (const [field, type] of unordered)
          for (const op of ORDERED)
            await refuse(server, { field, op, value: type === "bool" ? true : "x" }, [INVALID_PARAMS], true);
      },
    ),
    check("operator 15.4/operators", "an operator that is not advertised is refused", async (server) => {
      const { field } = await rightClause(server);
      for (const op of ["unheard-of", "EQ", "$eq", "=", "constructor", "", 5])
        await refuse(server, { field, op, value: "x" }, [INVALID_PARAMS, OPTION_UNSUPPORTED]);
    }),
    check(
      "combinators",
      "an empty and, or, node or list of members, and a node that is two things, are refused with -32602",
      async (server) => {
        const right = await rightClause(server);
        for (const tree of [
          { and: [] },
          { or: [] },
          {},
          { and: right },
          { not: [] },
          { not: [right] },
          { and: [{ or: [] }] },
          { and: [5] },
        ])
          await refuse(server, tree);
        for (const whole of ["lang", 5, [right], true]) await refuse(server, whole);
      },
    ),
    check("4.6/unknown-fields", "unknown members of a clause are ignored", async (server) => {
      const right = await rightClause(server);
      await (await server.shared()).result("retrieve", {
        query: "x",
        k: 1,
        filter: { ...right, unheardOf: 1, "x-conformance": {} },
      });
    }),
  ],
);
