import type { ServerUnderTest } from "./server-under-test.ts";

/** RFC 2119's words, as far as RCP/1 uses them. */
export type Level = "MUST" | "MUST NOT" | "SHOULD" | "SHOULD NOT";

/** One normative sentence of RCP/1, in short. */
export interface Rule {
  /** Section and slug, such as `4.7/echo-id`. */
  readonly id: string;
  readonly level: Level;
  /** Whom it binds; a rule for both is listed as the server's. */
  readonly side: "server" | "client";
  readonly text: string;
  /** Why no check tries it. A server's rule has either this or a check. */
  readonly unchecked?: string;
}

export interface Check {
  readonly section: string;
  /** The claim: what holds when the check passes. */
  readonly name: string;
  /** Ids of the rules that it tries. */
  readonly rules: readonly string[];
  /** Undefined: both. */
  readonly transport?: "stdio" | "http";
  /** Runs after all others, because it looks at what the whole run has seen. */
  readonly last?: boolean;
  /** @throws Violation or Skipped; anything else is a fault of the suite and ends the run */
  run(server: ServerUnderTest): Promise<void>;
}

export interface Section {
  readonly section: string;
  readonly title: string;
  readonly rules: readonly Rule[];
  readonly checks: readonly Check[];
}

type SluggedRule = Omit<Rule, "id"> & { readonly slug: string };
type SluggedCheck = Omit<Check, "section">;

/** A rule that binds a server and that a check tries. */
export const rule = (slug: string, level: Level, text: string): SluggedRule => ({ slug, level, side: "server", text });

/** A rule that binds a server and that nothing outside can try. */
export const untried = (slug: string, level: Level, text: string, unchecked: string): SluggedRule => ({
  slug,
  level,
  side: "server",
  text,
  unchecked,
});

/** A rule that binds a client alone. */
export const clientRule = (slug: string, level: Level, text: string): SluggedRule => ({
  slug,
  level,
  side: "client",
  text,
  unchecked: "client-side rule",
});

type Run = Check["run"];

/** @param rules slugs of the same section, or ids of another's (`14/level`), blank between them */
export const check = (
  rules: string,
  name: string,
  run: Run,
  more: Pick<Check, "transport" | "last"> = {},
): SluggedCheck => ({ name, rules: rules.split(" "), run, ...more });

/** Puts section numbers before slugs. */
export function section(
  number: string,
  title: string,
  rules: readonly SluggedRule[],
  checks: readonly SluggedCheck[],
): Section {
  const idOf = (slug: string) => (slug.includes("/") ? slug : `${number}/${slug}`);
  return {
    section: number,
    title,
    rules: rules.map(({ slug, ...rest }) => ({ id: idOf(slug), ...rest })),
    checks: checks.map((one) => ({ ...one, section: number, rules: one.rules.map(idOf) })),
  };
}
