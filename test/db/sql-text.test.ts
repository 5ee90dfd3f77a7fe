import { randomBytes } from "node:crypto";
import { afterAll, describe, expect, test } from "vitest";
import { checkLogin } from "../../src/db/login-checks.ts";
import { compile, declareCursor, identifier, integer, literal, sql } from "../../src/sql/sql.ts";
import { openTestDatabase } from "../support/database.ts";
import { rows, run } from "./rows.ts";

const { admin, close } = await openTestDatabase();
afterAll(close);

const ODD = [`it's`, `''`, `\\`, `\\'; drop table x; --`, `a"b`, `$1 $$ \n\t`, "ünï 🙂", ""];

describe("a literal", () => {
  test.each(["on", "off"])("is the text itself with standard_conforming_strings %s", async (setting) => {
    const found = await admin.transaction(async (transaction) => {
      await transaction.script(
        `set local standard_conforming_strings = ${setting}; set local escape_string_warning = off`,
      );
      const texts: unknown[] = [];
      for (const text of ODD) {
        const [row] = await transaction.query(rows<{ text: string }>(sql`select ${literal(text)} as text`));
        texts.push(row?.text);
      }
      return texts;
    });

    expect(found).toEqual(ODD);
  });

  test("holds no U+0000", () => {
    expect(() => literal("a\u0000b")).toThrow("U+0000");
  });
});

test("an integer is whole", () => {
  expect(compile(integer(-12), () => undefined).text).toBe("-12");
  for (const value of [1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) expect(() => integer(value)).toThrow();
});

test("a cursor's statement keeps its parameters, and its name is quoted", () => {
  const statement = compile(sql`select ${"a"}::text, ${2}::int`, () => undefined);

  expect(declareCursor(`c"1`, statement, true)).toMatchObject({
    text: 'declare "c""1" no scroll cursor with hold for select $1::text, $2::int',
    values: ["a", 2],
  });
  expect(declareCursor("c", statement, false).text).toBe('declare "c" no scroll cursor for select $1::text, $2::int');
});

test("the SQL of a remedy can be run, whatever the login is called", async () => {
  const user = `pgrcptest_'"${randomBytes(4).toString("hex")}`;
  const facts = {
    ...{ user, superuser: false, bypassesRls: false, attributes: [], owns: false, powers: [], hasRole: true },
    settings: {},
  };
  await admin.query(run(sql`create role ${identifier(user)}`));

  for (const { remedy } of checkLogin("reader", facts)) {
    await admin.transaction((transaction) => transaction.script(remedy.replace(/^run: /, "")));
  }

  const settings = rows<{ rolconfig: string[] }>(sql`select rolconfig from pg_roles where rolname = ${user}`);
  expect((await admin.query(settings))[0]?.rolconfig.toSorted()).toEqual([
    "default_transaction_isolation=repeatable read",
    "default_transaction_read_only=on",
    "enable_hashjoin=off",
    "enable_mergejoin=off",
    "enable_seqscan=off",
    "plan_cache_mode=force_custom_plan",
  ]);
  await admin.query(run(sql`drop role ${identifier(user)}`));
});
