import { type Command, InvalidArgumentError } from "commander";
import type { Explanation } from "../maintenance/explain-retrieve.ts";
import { addConfigOption, type ConfigOption } from "./config-option.ts";
import { operate, printJsonLines } from "./operator.ts";
import { visible } from "./terminal-text.ts";

interface Options extends ConfigOption {
  readonly query: string;
  readonly filter?: unknown;
  readonly json?: boolean;
}

/** `pgrcp explain`: what a retrieve would do, for whoever wonders why one is slow. */
export function registerExplain(program: Command): void {
  addConfigOption(program.command("explain"))
    .description("show how a dense question to a corpus is answered: the path, why, the SQL and its plan")
    .argument("<tenant>", "its owner")
    .argument("<corpus>", "its name")
    .requiredOption("--query <text>", "what is asked")
    .option("--filter <json>", "as a caller sends it", parseJson)
    .option("--json", "one JSON object")
    .addHelpText(
      "after",
      `
The statements run once, with the plans of the reader's login. What they find is not shown.`,
    )
    .action(explain);
}

async function explain(tenant: string, corpus: string, options: Options): Promise<void> {
  const { query, filter, json } = options;
  const rows = operate(options, "explain", { tenant, corpus, query, ...(filter !== undefined && { filter }) });
  if (json === true) return void (await printJsonLines(rows));
  for await (const row of rows) process.stdout.write(textOf(row as Explanation));
}

function textOf({ path, statements }: Explanation): string {
  const how = path.search === "graph" ? `graph, ef_search ${path.efSearch}` : "exact";
  const parts = statements.map(({ sql, plan }) => `\n${sql}\n\n${plan.map((line) => `  ${line}\n`).join("")}`);
  return visible(`${how}: ${path.why}\n${parts.join("")}`);
}

function parseJson(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    throw new InvalidArgumentError('It must be JSON, such as {"field":"year","op":"gte","value":2020}.');
  }
}
