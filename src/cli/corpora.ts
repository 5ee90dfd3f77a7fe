import { type Command, Option } from "commander";
import type { CorpusRow } from "../maintenance/corpora.ts";
import { addConfigOption, type ConfigOption } from "./config-option.ts";
import { operate, printJsonLines } from "./operator.ts";
import { table } from "./terminal-text.ts";

/** `pgrcp corpora`: what a tenant's documents are kept in. */
export function registerCorpora(program: Command): void {
  const corpora = program.command("corpora").description("create and list corpora, and set their language");
  addConfigOption(corpora.command("create"))
    .description("create a corpus for the configured embedding model")
    .argument("<tenant>", "its owner")
    .argument("<name>", "as it stands in the path /corpora/<name>/rcp")
    .option("--language <language>", "how words are stemmed (default: indexing.defaultLanguage)")
    .addOption(
      new Option(
        "--screening <policy>",
        "what happens to suspicious text (default: indexing.defaultScreening)",
      ).choices(["flag", "quarantine", "refuse"]),
    )
    .action(create);
  addConfigOption(corpora.command("language"))
    .description("give a corpus that was never written to another language")
    .argument("<tenant>", "its owner")
    .argument("<name>", "of the corpus")
    .argument("<language>", "how words are stemmed, such as german, or none")
    .action(setLanguage);
  addConfigOption(corpora.command("list"))
    .description("list corpora with their settings and counts")
    .argument("[tenant]", "whose; all when absent")
    .option("--json", "one JSON object a line")
    .action(list);
}

interface CreateOptions extends ConfigOption {
  readonly language?: string;
  readonly screening?: string;
}

async function create(tenant: string, corpus: string, options: CreateOptions): Promise<void> {
  const { language, screening } = options;
  const settings = { tenant, corpus, ...(language && { language }), ...(screening && { screening }) };
  const rows = (await Array.fromAsync(operate(options, "corpora.create", settings))) as readonly CorpusRow[];
  process.stdout.write(tableOf(rows));
}

async function setLanguage(tenant: string, corpus: string, language: string, options: ConfigOption): Promise<void> {
  const rows = await Array.fromAsync(operate(options, "corpora.language", { tenant, corpus, language }));
  process.stdout.write(tableOf(rows as readonly CorpusRow[]));
}

async function list(tenant: string | undefined, options: ConfigOption & { readonly json?: boolean }): Promise<void> {
  const rows = operate(options, "corpora.list", tenant === undefined ? {} : { tenant });
  if (options.json === true) return void (await printJsonLines(rows));
  process.stdout.write(tableOf((await Array.fromAsync(rows)) as readonly CorpusRow[]));
}

const tableOf = (rows: readonly CorpusRow[]): string =>
  table([
    ["tenant", "corpus", "language", "model", "screening", "placement", "version", "documents", "chunks"],
    ...rows.map((row) => [
      row.tenant,
      row.corpus,
      row.language,
      row.model,
      row.screening,
      row.placement,
      row.version,
      row.documents,
      row.chunks,
    ]),
  ]);
