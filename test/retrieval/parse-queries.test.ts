import { expect, test } from "vitest";
import { parseQueries } from "../../src/retrieval/parse-queries.ts";

const parse = (answer: string, most = 8, original = "the original") => parseQueries(answer, original, most);

test("each line is a query, in order", () => {
  expect(parse("red apples\ngreen apples\n")).toEqual(["red apples", "green apples"]);
});

test("no more than asked for", () => {
  expect(parse("a\nb\nc", 2)).toEqual(["a", "b"]);
});

test("blank lines, fences and announcements are no queries", () => {
  expect(parse("Here are two:\n\n```\nred apples\n   \ngreen apples\n```")).toEqual(["red apples", "green apples"]);
});

test.each([
  ["dots", "1. red\n2. green\n3. blue"],
  ["brackets", "1) red\n2) green\n3) blue"],
  ["both brackets", "(1) red\n(2) green\n(3) blue"],
  ["bullets", "- red\n* green\n• blue"],
  ["double quotes", '"red"\n“green”\n«blue»'],
  ["single quotes and white space", " 'red'\t\n`green`\r\nblue  "],
])("%s around a query are not part of it", (_, answer) => {
  expect(parse(answer)).toEqual(["red", "green", "blue"]);
});

test("a number that counts no lines is the query's own", () => {
  expect(parse("1. Weltkrieg")).toEqual(["1. Weltkrieg"]);
  expect(parse("1. Weltkrieg\nUrsachen")).toEqual(["1. Weltkrieg", "Ursachen"]);
  expect(parse("1. apple\n3. pear")).toEqual(["1. apple", "3. pear"]);
});

test("quotes within a query stay", () => {
  expect(parse('who said "let them eat cake"')).toEqual(['who said "let them eat cake"']);
});

test("repeats are left out, whatever their letter case and however their accents were typed", () => {
  expect(parse("Café open\ncafe\u0301  OPEN\ntea")).toEqual(["Café open", "tea"]);
});

test("the original is left out, unless it is all there is", () => {
  expect(parse("The  Original\nanother")).toEqual(["another"]);
  expect(parse("The Original")).toEqual(["The Original"]);
});

test("a query is cut at 500 UTF-16 units and stays well-formed", () => {
  const [query] = parse(`${"x".repeat(499)}\u{1F600} tail`);
  expect(query).toBe(`${"x".repeat(499)}\uFFFD`);
});

test("an answer without a query gives none", () => {
  expect(parse("Sure:\n```\n```\n\n")).toEqual([]);
});
