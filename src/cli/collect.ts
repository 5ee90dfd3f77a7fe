import type { Command } from "commander";
import type { Collected } from "../maintenance/collect.ts";
import { addConfigOption, type ConfigOption } from "./config-option.ts";
import { operate, printJsonLines } from "./operator.ts";
import { table } from "./terminal-text.ts";

/** `pgrcp collect`: what `retention` and the lifetimes of state ask for, to be run from time to time beside a server on Postgres. */
export function registerCollect(program: Command): void {
  addConfigOption(program.command("collect"))
    .description("delete for good what is past its time: old versions, expired sessions, keys and feedback")
    .option("--json", "one JSON object a line")
    .action(collect);
}

async function collect(options: ConfigOption & { readonly json?: boolean }): Promise<void> {
  const rows = operate(options, "versions.collect", {});
  if (options.json === true) return void (await printJsonLines(rows));
  const found = (await Array.fromAsync(rows)) as readonly Collected[];
  process.stdout.write(
    table([
      ["tenant", "corpus", "versions", "documents", "chunks"],
      ...found.map((row) => [row.tenant, row.corpus, row.versions, row.documents, row.chunks]),
    ]),
  );
}
