import type { Command } from "commander";
import type { ChangedByName } from "../maintenance/quarantine.ts";
import { addConfigOption, type ConfigOption } from "./config-option.ts";
import { CommandFailure, ExitCode } from "./exit.ts";
import { operate } from "./operator.ts";
import { stillAtWork } from "./still-at-work.ts";
import { table, visibleLine } from "./terminal-text.ts";

/** Commands that do something to documents that are named. */

interface ByIds {
  /** As `operate` knows it. */
  readonly name: string;
  readonly description: string;
  /** What it is doing while it takes long. */
  readonly doing: string;
  /** What is wrong with ids of which there was nothing to change. */
  readonly unknown: string;
  readonly remedy: string;
}

export function addByIds(command: Command, { name, description, doing, unknown, remedy }: ByIds): void {
  addConfigOption(command)
    .description(description)
    .argument("<tenant>", "the owner")
    .argument("<corpus>", "the corpus")
    .argument("<id...>", "the documents' ids, without #n")
    .option("--json", "as one JSON object")
    .action(async (tenant, corpus, ids, options: ConfigOption & { readonly json?: boolean }) => {
      const rows = operate(options, name, { tenant, corpus, ids });
      const [changed] = (await stillAtWork(doing, Array.fromAsync(rows))) as readonly ChangedByName[];
      if (changed === undefined) throw new Error("the command gives one row");
      process.stdout.write(options.json === true ? `${JSON.stringify(changed)}\n` : shown(changed));
      if (changed.unknown.length === 0) return;
      for (const id of changed.unknown) process.stderr.write(`not there: ${visibleLine(id)}\n`);
      throw new CommandFailure(ExitCode.partial, `${unknown} ${changed.unknown.length} of the ids`, remedy);
    });
}

const shown = ({ documents, chunks, versions }: ChangedByName): string =>
  table([
    ["documents", "chunks", "versions withdrawn"],
    [documents, chunks, versions],
  ]);
