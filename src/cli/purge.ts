import type { Command } from "commander";
import type { Purged } from "../maintenance/purge.ts";
import { addConfigOption, type ConfigOption } from "./config-option.ts";
import { CommandFailure, ExitCode } from "./exit.ts";
import { operate } from "./operator.ts";
import { stillAtWork } from "./still-at-work.ts";
import { table, visibleLine } from "./terminal-text.ts";

/** `pgrcp purge`: erases documents at once and for good. */
export function registerPurge(program: Command): void {
  addConfigOption(program.command("purge"))
    .description("erase documents at once and for good, with every version of them")
    .argument("<tenant>", "the owner")
    .argument("<corpus>", "the corpus")
    .argument("<id...>", "the documents' ids, without #n")
    .option("--json", "as one JSON object")
    .action(purge);
}

async function purge(
  tenant: string,
  corpus: string,
  ids: readonly string[],
  options: ConfigOption & { readonly json?: boolean },
): Promise<void> {
  const rows = operate(options, "purge", { tenant, corpus, ids });
  const [purged] = (await stillAtWork("purging", Array.fromAsync(rows))) as readonly Purged[];
  if (purged === undefined) throw new Error("a purge gives one row");
  const { documents, chunks, versions, unknown } = purged;
  if (options.json === true) process.stdout.write(`${JSON.stringify(purged)}\n`);
  else
    process.stdout.write(
      table([
        ["documents", "chunks", "versions withdrawn"],
        [documents, chunks, versions],
      ]),
    );
  if (unknown.length === 0) return;
  for (const id of unknown) process.stderr.write(`not there: ${visibleLine(id)}\n`);
  const message = `the corpus has nothing of ${unknown.length} of the ids`;
  throw new CommandFailure(ExitCode.partial, message, "pgrcp documents list shows the ids of live documents");
}
