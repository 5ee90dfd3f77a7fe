import { open, unlink } from "node:fs/promises";
import { type Command, Option } from "commander";
import type { DocumentDetail, DocumentRow } from "../maintenance/documents.ts";
import { addByIds } from "./change-by-ids.ts";
import { wholeNumber } from "./client-options.ts";
import { addConfigOption, type ConfigOption } from "./config-option.ts";
import { CommandFailure, ExitCode } from "./exit.ts";
import { operate, printJsonLines } from "./operator.ts";
import { table, visible, visibleLine } from "./terminal-text.ts";

/** `pgrcp documents`: a look into a corpus, and the way out of it. */
export function registerDocuments(program: Command): void {
  const documents = program.command("documents").description("list, show, export, quarantine and release documents");
  addConfigOption(documents.command("list"))
    .description("list live documents by id")
    .argument("<tenant>", "the owner")
    .argument("[corpus]", "the corpus", "default")
    .option("--source <name>", "only what this source wrote")
    .option("--quarantined", "only those that screening or a command keeps from retrieval")
    .option("--suspected", "only those whose text looks like instructions to a model")
    .option("--unfit <field>", "only those whose meta value does not fit this filter field's type")
    .addOption(new Option("--limit <n>", "at most so many").default(100).argParser(wholeNumber(1, 1_000_000_000)))
    .option("--json", "one JSON object a line")
    .action(list);
  addConfigOption(documents.command("show"))
    .description("show one document with its text and where it came from")
    .argument("<tenant>", "the owner")
    .argument("<corpus>", "the corpus")
    .argument("<id>", "the document's id, without #n")
    .option("--json", "as one JSON object")
    .action(show);
  addConfigOption(documents.command("export"))
    .description("write every live document as JSONL that import reads")
    .argument("<tenant>", "the owner")
    .argument("[corpus]", "the corpus", "default")
    .option("--output <file>", "where to; must not exist (default: standard output)")
    .action(exportAll);
  addByIds(documents.command("quarantine"), {
    name: "documents.quarantine",
    description: "take documents out of every answer and keep them for release; versions that hold them are withdrawn",
    doing: "quarantining",
    unknown: "nothing that answers has",
    remedy: "pgrcp documents list shows the ids",
  });
  addByIds(documents.command("release"), {
    name: "documents.release",
    description: "put quarantined documents back into answers, whoever quarantined them",
    doing: "releasing",
    unknown: "no quarantined document has",
    remedy: "pgrcp documents list --quarantined shows the ids",
  });
}

interface ListOptions extends ConfigOption {
  readonly source?: string;
  readonly quarantined?: boolean;
  readonly suspected?: boolean;
  readonly unfit?: string;
  readonly limit: number;
  readonly json?: boolean;
}

async function list(tenant: string, corpus: string, options: ListOptions): Promise<void> {
  const { config: _config, json, limit, ...narrow } = options;
  const rows = operate(options, "documents.list", { tenant, corpus, limit, ...narrow });
  const count = json === true ? await printJsonLines(rows) : printTable((await Array.fromAsync(rows)) as DocumentRow[]);
  if (count === limit) process.stderr.write(`the first ${limit}; --limit shows more\n`);
}

function printTable(rows: readonly DocumentRow[]): number {
  process.stdout.write(
    table([
      ["id", "title", "source", "trust", "flags", "chunks", "written"],
      ...rows.map((row) => [
        row.id,
        row.title ?? "",
        row.source,
        row.trust,
        [row.injectionSuspected && "suspected", row.quarantined && "quarantined"].filter(Boolean).join(","),
        row.chunks,
        row.writtenAt,
      ]),
    ]),
  );
  return rows.length;
}

async function show(
  tenant: string,
  corpus: string,
  id: string,
  options: ConfigOption & { readonly json?: boolean },
): Promise<void> {
  for await (const row of operate(options, "documents.show", { tenant, corpus, id })) {
    if (options.json === true) process.stdout.write(`${JSON.stringify(row, undefined, 2)}\n`);
    else process.stdout.write(describe(row as DocumentDetail));
  }
}

function describe({ text, meta, ...facts }: DocumentDetail): string {
  const lines = Object.entries(facts).map(([name, value]) => `${name}: ${visibleLine(String(value ?? "-"))}\n`);
  return `${lines.join("")}meta: ${visibleLine(JSON.stringify(meta))}\n\n${visible(text)}\n`;
}

async function exportAll(
  tenant: string,
  corpus: string,
  options: ConfigOption & { readonly output?: string },
): Promise<void> {
  const rows = operate(options, "documents.export", { tenant, corpus });
  if (options.output === undefined) return void (await printJsonLines(rows));
  const { output } = options;
  const file = await open(output, "wx", 0o600).catch((error: unknown) => {
    const remedy = "name a file that does not exist, in a folder that does";
    throw new CommandFailure(ExitCode.usage, `${output} cannot be made`, remedy, { cause: error });
  });
  try {
    const count = await printJsonLines(rows, file.createWriteStream());
    process.stderr.write(`${count} documents\n`);
  } catch (error) {
    await unlink(output); // half an export could be taken for a whole one
    if (!isFull(error)) throw error;
    throw new CommandFailure(ExitCode.failure, "there is no room for the export", "make room, or name another place");
  }
}

const isFull = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "ENOSPC";
