import type { Command } from "commander";
import type { SourceChange, SourceRow } from "../maintenance/sources.ts";
import { addConfigOption, type ConfigOption } from "./config-option.ts";
import { operate, printJsonLines } from "./operator.ts";
import { stillAtWork } from "./still-at-work.ts";
import { table } from "./terminal-text.ts";

/** `pgrcp sources`: who wrote a tenant's documents, and the way to take one out. */
export function registerSources(program: Command): void {
  const sources = program.command("sources").description("list, revoke and restore what documents come from");
  addConfigOption(sources.command("list"))
    .description("list sources with what they wrote")
    .argument("<tenant>", "the owner")
    .option("--corpus <name>", "only what is in this corpus")
    .option("--json", "one JSON object a line")
    .action(list);
  addConfigOption(sources.command("revoke"))
    .description("take everything that a source wrote out of every answer, until it is restored")
    .argument("<tenant>", "the owner")
    .argument("<source>", "as sources list shows it")
    .option("--json", "one JSON object a line")
    .action(change("sources.revoke", "revoking"));
  addConfigOption(sources.command("restore"))
    .description("bring back what revoking a source took out")
    .argument("<tenant>", "the owner")
    .argument("<source>", "as sources list shows it")
    .option("--json", "one JSON object a line")
    .action(change("sources.restore", "restoring"));
}

interface JsonOption extends ConfigOption {
  readonly json?: boolean;
}

async function list(tenant: string, options: JsonOption & { readonly corpus?: string }): Promise<void> {
  const { json, corpus } = options;
  const rows = operate(options, "sources.list", { tenant, ...(corpus !== undefined && { corpus }) });
  if (json === true) return void (await printJsonLines(rows));
  const found = (await Array.fromAsync(rows)) as readonly SourceRow[];
  process.stdout.write(
    table([
      ["source", "issuers", "subjects", "documents", "chunks", "first written", "last written", "revoked"],
      ...found.map((row) => [
        row.source,
        row.issuers,
        row.subjects,
        row.documents,
        row.chunks,
        row.firstWrittenAt ?? "",
        row.lastWrittenAt ?? "",
        row.revokedAt ?? "",
      ]),
    ]),
  );
}

function change(command: string, label: string) {
  return async (tenant: string, source: string, options: JsonOption): Promise<void> => {
    const rows = operate(options, command, { tenant, source });
    if (options.json === true) return void (await stillAtWork(label, printJsonLines(rows)));
    const changes = (await stillAtWork(label, Array.fromAsync(rows))) as readonly SourceChange[];
    if (changes.length === 0) process.stderr.write("there was nothing left to do\n");
    process.stdout.write(
      table([
        ["corpus", "documents", "chunks", "versions withdrawn"],
        ...changes.map((row) => [row.corpus, row.documents, row.chunks, row.versions]),
      ]),
    );
  };
}
