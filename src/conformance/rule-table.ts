import type { Rule, Section } from "./rule.ts";

const INTRODUCTION = `# The rules of RCP/1 and their checks

\`pgrcp conformance --table\` writes this page; a test holds it to the code. Every MUST, MUST NOT, SHOULD and SHOULD NOT of the
specification is here in short, with the checks that try it or the reason why none does. \`SHOULD\` that is not held is a warning.
`;

/** The table of rules as Markdown: each with its checks, or the reason it has none. */
export function ruleTable(sections: readonly Section[]): string {
  const checks = sections.flatMap((section) => section.checks);
  const row = ({ id, level, side, text, unchecked }: Rule): string => {
    const own = checks.filter(({ rules }) => rules.includes(id)).map(({ name }) => name);
    return `| ${id} | ${level} | ${side} | ${cell(text)} | ${own.length > 0 ? own.map(cell).join("<br>") : `*${cell(unchecked ?? "")}*`} |`;
  };
  const parts = sections.map(({ section, title, rules }) =>
    [
      `## ${section} ${title}\n`,
      "| rule | level | binds | in short | checks |",
      "|---|---|---|---|---|",
      ...rules.map(row),
    ].join("\n"),
  );
  return `${[INTRODUCTION.trimEnd(), ...parts].join("\n\n")}\n`;
}

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("_", "\\_").replaceAll("*", "\\*");
